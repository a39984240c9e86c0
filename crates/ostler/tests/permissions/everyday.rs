//! What agents write all day, and how much of it needs a question.

use crate::{cases_of, named};
use ostler::Verdict;
use std::collections::HashSet;
use std::fmt::Write;

#[test]
fn everyday_lines() {
    let cases = cases_of("everyday.jsonl");
    let (mut unasked, mut misses) = (0, String::new());
    let mut ids = HashSet::new();
    for published in &cases {
        assert!(ids.insert(published.id()), "{} stands twice", published.id());
        let decision = ostler::check(&published.case);
        unasked += usize::from(decision.verdict == Verdict::Allow);
        if !published.accepts(decision.verdict) {
            let found = named(decision.verdict);
            let input = &published.case.input;
            let _ = writeln!(misses, "{} {found} for {input}: {}", published.id(), decision.why());
        }
    }
    println!("everyday lines: {}, {unasked} without a question", cases.len());
    assert!(cases.len() >= 300, "{} lines", cases.len());
    assert!(misses.is_empty(), "{misses}");
}
