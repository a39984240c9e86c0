//! Verdicts made by hand, as they are told.

use super::*;
use ostler::{Commands, Reason};
use std::sync::Arc;

fn reason(by: By, why: &str, rule: Option<&str>) -> Reason {
    Reason { by, why: why.into(), part: None, rule: rule.map(str::to_owned) }
}

fn judged(verdict: Verdict, reasons: Vec<Reason>, offer: &[&str]) -> Judged {
    let offer = offer.iter().map(|rule| (*rule).to_owned()).collect();
    let commands = Commands { text: "x".into(), ..Commands::default() };
    let access = Access { runs: Some(Arc::new(commands)), ..Access::unknown() };
    Judged {
        tool: "Bash".into(),
        access: Some(access),
        decision: Decision { verdict, reasons, offer },
    }
}

fn told(judged: &Judged, call: &str) -> String {
    text(judged, call, Mode::Default, Paint::none())
}

#[test]
fn a_question_names_its_rule_its_place_and_a_way() {
    let why = reason(By::Rule, "the ask rule ^rm covers it: Deletes", Some("^rm (/u/p.yaml:12)"));
    assert_eq!(
        told(&judged(Verdict::Ask, vec![why], &[]), "rm a\nrm b"),
        "asks  Bash \n  │ rm a\n  │ rm b  (mode default)\nwhy\n  the ask rule ^rm covers it: Deletes \
         (/u/p.yaml:12)\nto allow it\n  change the rule that asks; as long as it stands, it asks each time\n"
    );
    let why = reason(By::Default, "no rule allows it", None);
    let shown = told(&judged(Verdict::Ask, vec![why], &["Bash(cargo test:*)"]), "cargo test");
    assert!(shown.contains("to allow it\n  Bash(cargo test:*)\n  as --allowedTools"), "{shown}");
}

#[test]
fn every_verdict_without_an_offer_says_why() {
    let way = |verdict, by| way(&judged(verdict, vec![reason(by, "w", None)], &[])).join(" ");
    for (verdict, by, expected) in [
        (Verdict::Deny, By::Rule, "the rule that denies"),
        (Verdict::Deny, By::Mode, "another mode"),
        (Verdict::Deny, By::BuiltIn, "no rule can allow it"),
        (Verdict::Ask, By::Rule, "the rule that asks"),
        (Verdict::Ask, By::BuiltIn, "always asked about"),
        (Verdict::Ask, By::Default, "an exact rule yourself"),
    ] {
        let said = way(verdict, by);
        assert!(said.contains(expected), "{verdict:?} {by:?}: {said}");
    }
    let mut doubtful = judged(Verdict::Ask, vec![reason(By::BuiltIn, "w", None)], &[]);
    let commands = Commands::opaque("x", "it nests too deep".into(), Vec::new());
    doubtful.access = Some(Access { runs: Some(Arc::new(commands)), ..Access::unknown() });
    let shown = told(&doubtful, "x");
    assert!(shown.contains("not understood\n  it nests too deep\n"), "{shown}");
    assert!(shown.contains("more plainly"), "{shown}");
    doubtful.access = None;
    assert!(told(&doubtful, "x").contains("correct the call"));
    let allowed = told(&judged(Verdict::Allow, vec![reason(By::Default, "w", None)], &[]), "x");
    assert!(!allowed.contains("to allow it"), "{allowed}");
}

#[test]
fn a_call_is_what_its_tool_takes() {
    for (tool, call, expected) in [
        ("Bash", "{ ls; }", json!({"command": "{ ls; }"})),
        ("read", "a", json!({"file_path": "a"})),
        ("Edit", "{\"file_path\": \"a\"}", json!({"file_path": "a"})),
        ("WebFetch", "https://docs.rs", json!({"url": "https://docs.rs"})),
        ("mcp__a__b", "{\"x\": 1}", json!({"x": 1})),
    ] {
        assert_eq!(input(tool, call).unwrap(), expected, "{tool} {call}");
    }
    assert!(matches!(input("Read", "{a"), Err(Wrong::Usage(_))));
}
