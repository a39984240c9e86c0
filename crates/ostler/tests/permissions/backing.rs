//! The corpora once more, with the sandbox and undo behind every rule. What a corpus does not accept and is allowed then
//! has been looked at, one by one: `fixtures/corpus/backed.jsonl`.

use crate::{Published, backed, cases, named, workspace};
use ostler::{Mode, Verdict};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A case that another corpus does not accept, and why it may run.
#[derive(Deserialize)]
struct Reviewed {
    id: String,
    why: String,
}

fn reviewed() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus/backed.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let one = |line: &str| {
        let Reviewed { id, why } = serde_json::from_str(line).unwrap();
        assert!(!why.is_empty(), "{id}");
        (id, why)
    };
    text.lines().map(one).collect()
}

#[test]
fn the_sandbox_and_undo_allow_what_was_looked_at_and_no_more() {
    let mut reviewed = reviewed();
    let (mut all, mut misses) = (0, String::new());
    for file in ["permissions", "redteam-2", "more-permissions", "everyday"] {
        for published in cases(&format!("{file}.jsonl")) {
            let Published { case, .. } = &published;
            let Ok(policy) = ostler::rule_set(&case.rules, &workspace()) else { continue };
            all += 1;
            let decision = backed(&case.tool, &case.input, &policy, Mode::Default);
            let wrong = decision.verdict == Verdict::Allow && !published.accepts(Verdict::Allow);
            let known = reviewed.remove(&published.id()).is_some();
            if wrong != known {
                let (id, found, rules) = (published.id(), named(decision.verdict), &case.rules);
                let rules: String = rules.to_string().chars().take(120).collect();
                let _ = writeln!(misses, "{id}\t{found}\t{rules}\t{}", case.input);
            }
        }
    }
    assert!(misses.is_empty(), "{misses}");
    assert!(reviewed.is_empty(), "no such cases: {:?}", reviewed.keys());
    println!("with the sandbox and undo: {all} cases");
}
