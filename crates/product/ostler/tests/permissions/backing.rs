//! The corpora once more, with the sandbox and undo behind every rule. What a corpus does not accept and is allowed then
//! has been looked at, one by one: `fixtures/corpus/backed-reviewed.jsonl`. `backed-cases.jsonl` holds cases of its own.

use crate::{Published, backed, cases, named, workspace};
use ostler::{Mode, Policy, Verdict};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;

/// A case that another corpus does not accept, and why it may run.
#[derive(Deserialize)]
struct Reviewed {
    id: String,
    command: String,
    why: String,
}

fn reviewed() -> BTreeSet<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../fixtures/corpus/backed-reviewed.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let one = |line: &str| {
        let Reviewed { id, command, why } = serde_json::from_str(line).unwrap();
        assert!(!why.is_empty(), "{id}");
        (id, command)
    };
    text.lines().map(one).collect()
}

#[test]
fn the_sandbox_and_undo_allow_what_was_looked_at_and_no_more() {
    let mut reviewed = reviewed();
    let (mut all, mut misses) = (0, String::new());
    let mut sets: HashMap<String, Option<Policy>> = HashMap::new();
    for file in ["permissions", "redteam-2", "more-permissions", "everyday"] {
        for published in cases(&format!("{file}.jsonl")) {
            let Published { case, .. } = &published;
            let policy = sets
                .entry(case.rules.to_string())
                .or_insert_with(|| ostler::rule_set(&case.rules, &workspace()).ok());
            let Some(policy) = policy else { continue };
            all += 1;
            let decision = backed(&case.tool, &case.input, policy, Mode::Default);
            let wrong = decision.verdict == Verdict::Allow && !published.accepts(Verdict::Allow);
            let command = case.input.get("command").and_then(Value::as_str);
            let known = reviewed.remove(&(published.id(), command.unwrap_or_default().to_owned()));
            if wrong != known {
                let (id, found, rules) = (published.id(), named(decision.verdict), &case.rules);
                let rules: String = rules.to_string().chars().take(120).collect();
                let _ = writeln!(misses, "{id}\t{found}\t{rules}\t{}", case.input);
            }
        }
    }
    assert!(misses.is_empty(), "{misses}");
    assert!(reviewed.is_empty(), "no such cases: {reviewed:?}");
    println!("with the sandbox and undo: {all} cases");
}

#[test]
fn what_rules_cover_with_the_sandbox_and_undo() {
    let (mut allowed, mut misses) = (0, String::new());
    let cases = cases("backed-cases.jsonl");
    for published in &cases {
        let case = &published.case;
        let policy = ostler::rule_set(&case.rules, &workspace()).unwrap();
        let decision = backed(&case.tool, &case.input, &policy, Mode::Default);
        allowed += usize::from(decision.verdict == Verdict::Allow);
        if !published.accepts(decision.verdict) {
            let (found, why) = (named(decision.verdict), decision.why());
            let _ = writeln!(misses, "{} {found} for {}: {why}", published.id(), case.input);
        }
    }
    let asks = cases.len() - allowed;
    println!("with the sandbox and undo: {allowed} allowed, {asks} not");
    assert!(misses.is_empty(), "{misses}");
}
