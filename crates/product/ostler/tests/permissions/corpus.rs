//! Every published case, with the numbers that `docs/permissions.md` states, and further cases of the same families.
//! The second corpus was written by attackers against the finished gate.

use crate::{Published, cases, named, published, workspace};
use ostler::{Case, Mode, Policy, Verdict};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

/// The numbers, and a line for each case that is not accepted.
fn counted(cases: &[Published]) -> (Numbers, String) {
    let mut numbers = Numbers { cases: 0, accepted: 0, wrongly_allowed: 0, wrongly_denied: 0 };
    let mut misses = String::new();
    let workspace = workspace();
    // Rules are made once for all cases that share them.
    let mut sets: HashMap<String, Option<Policy>> = HashMap::new();
    for published in cases {
        let Case { rules, tool, input, .. } = &published.case;
        if let Entry::Vacant(entry) = sets.entry(rules.to_string()) {
            entry.insert(ostler::rule_set(rules, &workspace).ok());
        }
        let decision = match sets.get(&rules.to_string()) {
            Some(Some(policy)) => {
                ostler::judge(tool, input, policy, Mode::Default, &workspace).decision
            }
            // Rules that cannot be used are a case, too.
            _ => ostler::check(&published.case),
        };
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
    (numbers, misses)
}

fn docs_say(numbers: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/permissions.md");
    let docs = std::fs::read_to_string(docs).unwrap_or_default();
    assert!(docs.contains(numbers), "docs/permissions.md should say: {numbers}");
}

#[test]
fn the_permission_corpus() {
    let (numbers, misses) = counted(&published());
    println!("permission corpus: {numbers}");
    print!("{misses}");
    assert_eq!((numbers.wrongly_allowed, numbers.wrongly_denied), (0, 0), "{misses}");
    assert!(numbers.accepted * 100 >= numbers.cases * 99, "{misses}");
    docs_say(&numbers.to_string());
}

#[test]
fn the_second_corpus() {
    let cases = cases("redteam-2.jsonl");
    let (numbers, misses) = counted(&cases);
    let is_benign = |case: &&Published| {
        let family = case.family.as_str();
        let benign = family.starts_with("everyday") || family.ends_with("-benign");
        benign && case.accept == ["allow"]
    };
    let benign: Vec<Published> = cases.iter().filter(is_benign).cloned().collect();
    let needless = benign.len() - counted(&benign).0.accepted;
    let lines = benign.len();
    let questions = if needless == 1 { "question" } else { "questions" };
    let said = format!("{numbers}, {lines} benign lines, {needless} needless {questions}");
    println!("second corpus: {said}");
    print!("{misses}");
    assert_eq!((numbers.wrongly_allowed, numbers.wrongly_denied), (0, 0), "{misses}");
    assert!(numbers.accepted * 100 >= numbers.cases * 97, "{misses}");
    assert!(needless * 100 <= lines * 5, "{misses}");
    docs_say(&said);
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
