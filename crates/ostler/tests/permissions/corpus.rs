//! Every published case, with the numbers that `docs/permissions.md` states, and further cases of the same families.

use crate::{cases, named, published};
use ostler::Verdict;
use std::fmt::Write;
use std::path::Path;

struct Numbers {
    cases: usize,
    accepted: usize,
    wrongly_allowed: usize,
    wrongly_denied: usize,
}

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Numbers { cases, accepted, wrongly_allowed, wrongly_denied } = self;
        #[allow(clippy::cast_precision_loss, reason = "a few hundred")]
        let share = *accepted as f64 * 100.0 / *cases as f64;
        write!(
            f,
            "{cases} cases, {accepted} accepted ({share:.1} %), {wrongly_allowed} wrongly allowed, {wrongly_denied} \
             wrongly denied"
        )
    }
}

#[test]
fn the_permission_corpus() {
    let mut numbers = Numbers { cases: 0, accepted: 0, wrongly_allowed: 0, wrongly_denied: 0 };
    let mut misses = String::new();
    for published in published() {
        let decision = ostler::check(&published.case);
        numbers.cases += 1;
        if published.accepts(decision.verdict) {
            numbers.accepted += 1;
            continue;
        }
        numbers.wrongly_allowed += usize::from(decision.verdict == Verdict::Allow);
        numbers.wrongly_denied += usize::from(decision.verdict == Verdict::Deny);
        let input: String = published.case.input.to_string().chars().take(200).collect();
        let found = named(decision.verdict);
        let _ = writeln!(misses, "{} {found} for {input}: {}", published.id(), decision.why());
    }
    println!("permission corpus: {numbers}");
    print!("{misses}");
    assert_eq!((numbers.wrongly_allowed, numbers.wrongly_denied), (0, 0), "{misses}");
    assert!(numbers.accepted * 100 >= numbers.cases * 99, "{misses}");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/permissions.md");
    let docs = std::fs::read_to_string(docs).unwrap_or_default();
    assert!(docs.contains(&numbers.to_string()), "docs/permissions.md should say: {numbers}");
}

#[test]
fn further_cases() {
    let mut misses = String::new();
    let cases = cases("more-permissions.jsonl");
    for case in &cases {
        let decision = ostler::check(&case.case);
        if !case.accepts(decision.verdict) {
            let input: String = case.case.input.to_string().chars().take(200).collect();
            let found = named(decision.verdict);
            let _ = writeln!(misses, "{} {found} for {input}: {}", case.id(), decision.why());
        }
    }
    assert!(misses.is_empty() && cases.len() >= 400, "{misses}");
    println!("further cases: {}, all accepted", cases.len());
}
