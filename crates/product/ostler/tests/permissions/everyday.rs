//! What agents write all day, and how much of it needs a question.

use crate::{cases, named, workspace};
use ostler::{Mode, Policy, Verdict};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

#[test]
fn everyday_lines() {
    let workspace = workspace();
    let cases = cases("everyday.jsonl");
    let mut sets: HashMap<String, Policy> = HashMap::new();
    let (mut unasked, mut misses) = (0, String::new());
    let (mut ids, mut seen) = (HashSet::new(), HashSet::new());
    for published in &cases {
        let (rules, input) = (&published.case.rules, &published.case.input);
        assert!(ids.insert(published.id()), "{} stands twice", published.id());
        assert!(seen.insert((rules.to_string(), input.to_string())), "{input} stands twice");
        let policy = sets
            .entry(rules.to_string())
            .or_insert_with(|| ostler::rule_set(rules, &workspace).unwrap());
        let tool = &published.case.tool;
        let decision = ostler::judge(tool, input, policy, Mode::Default, &workspace).decision;
        unasked += usize::from(decision.verdict == Verdict::Allow);
        if !published.accepts(decision.verdict) {
            let found = named(decision.verdict);
            let _ = writeln!(misses, "{} {found} for {input}: {}", published.id(), decision.why());
        }
    }
    let numbers = format!("{} lines, {unasked} without a question", cases.len());
    println!("everyday lines: {}, {unasked} without a question", cases.len());
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/permissions.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    assert!(docs.contains(&numbers), "docs/permissions.md should say: {numbers}");
    assert!(cases.len() >= 300, "{} lines", cases.len());
    assert!(misses.is_empty(), "{misses}");
}
