//! Verdicts made by hand, as they are told.

use super::*;
use ostler::{CitedRule, Commands, Source};
use std::sync::Arc;

fn reason(by: By, why: &str, rule: Option<Box<CitedRule>>) -> Reason {
    Reason { rule, ..Reason::new(by, why) }
}

fn cited(effect: Verdict, tier: Tier) -> Option<Box<CitedRule>> {
    let place = (tier == Tier::User).then_some(("/u/p.yaml", 12));
    let (file, line) = (place.map(|(file, _)| file.into()), place.map(|(_, line)| line));
    let source = Source { tier, file, line };
    Some(Box::new(CitedRule { effect, text: "^rm".into(), source }))
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
    text(judged, call, Mode::Default, Paint::none(), &[])
}

#[test]
fn a_question_names_its_rule_its_place_and_a_way() {
    let why =
        reason(By::Rule, "the ask rule ^rm covers it: Deletes", cited(Verdict::Ask, Tier::User));
    assert_eq!(
        told(&judged(Verdict::Ask, vec![why], &[]), "rm a\nrm b"),
        "asks  Bash \n  │ rm a\n  │ rm b  (mode default)\nwhy\n  the ask rule ^rm covers it: Deletes \
         (/u/p.yaml:12)\nto allow it\n  change the rule that asks; it asks every time\n"
    );
    let why = reason(By::Default, "no rule allows it", None);
    let shown = told(&judged(Verdict::Ask, vec![why], &["Bash(cargo test:*)"]), "cargo test");
    assert!(shown.contains("to allow it\n  Bash(cargo test:*)\n  as --allowedTools"), "{shown}");
}

#[test]
fn every_verdict_without_an_offer_says_why() {
    let way = |verdict, by| {
        way(&judged(verdict, vec![reason(by, "w", None)], &[]), Mode::Default).join(" ")
    };
    for (verdict, by, expected) in [
        (Verdict::Deny, By::Default, "write a rule that allows it; the default denies only"),
        (Verdict::Deny, By::Mode, "another mode"),
        (Verdict::Deny, By::BuiltIn, "no rule can allow it"),
        (Verdict::Ask, By::Rule, "the rule that asks"),
        (Verdict::Ask, By::BuiltIn, "this always asks"),
        (Verdict::Ask, By::Default, "an exact rule"),
    ] {
        let said = way(verdict, by);
        assert!(said.contains(expected), "{verdict:?} {by:?}: {said}");
    }
    let mut doubtful = judged(Verdict::Ask, vec![reason(By::BuiltIn, "w", None)], &[]);
    let commands = Commands::opaque("x", "it is nested too deep".into(), Vec::new());
    doubtful.access = Some(Access { runs: Some(Arc::new(commands)), ..Access::unknown() });
    let shown = told(&doubtful, "x");
    assert!(shown.contains("not understood\n  it is nested too deep\n"), "{shown}");
    assert!(shown.contains("more simply"), "{shown}");
    doubtful.access = None;
    assert!(told(&doubtful, "x").contains("fix the call"));
    let allowed = told(&judged(Verdict::Allow, vec![reason(By::Default, "w", None)], &[]), "x");
    assert!(!allowed.contains("to allow it"), "{allowed}");
}

#[test]
fn a_denial_names_what_to_change() {
    let rule = |effect: Verdict| reason(By::Rule, "w", cited(effect, Tier::User));
    let open = || reason(By::Default, "no rule allows it, and so on", None);
    let change = "change ^rm (/u/p.yaml:12), which denies it; no other rule can allow it";
    for (reasons, mode, expected) in [
        (vec![rule(Verdict::Deny)], Mode::Default, change),
        (vec![open(), rule(Verdict::Deny), rule(Verdict::Deny)], Mode::DontAsk, change),
        (vec![open()], Mode::DontAsk, "write a rule that allows it, or choose a mode that asks"),
        // An ask rule that nobody can be asked about.
        (vec![open(), rule(Verdict::Ask)], Mode::DontAsk, "choose a mode that asks"),
        (
            vec![reason(By::BuiltIn, "w", None)],
            Mode::DontAsk,
            "choose a mode that asks; no rule can allow it",
        ),
    ] {
        assert_eq!(way(&judged(Verdict::Deny, reasons, &[]), mode), [expected]);
    }
    // Beside what no rule can allow, the default is not the one to change.
    let both = vec![open(), reason(By::BuiltIn, "w", None)];
    assert_eq!(way(&judged(Verdict::Deny, both, &[]), Mode::Default), ["no rule can allow it"]);
    let shipped =
        reason(By::Rule, "the ask rule ^rm covers it", cited(Verdict::Ask, Tier::BuiltIn));
    let said = way(&judged(Verdict::Ask, vec![shipped], &[]), Mode::Default);
    assert!(said[0].starts_with("write an allow rule"), "{said:?}");
}

#[test]
fn every_rule_that_is_needed_is_named() {
    let offer = ["Bash(cargo test:*)", "Edit(./log.txt)"];
    let open = judged(Verdict::Ask, vec![reason(By::Default, "w", None)], &offer);
    let shown = told(&open, "cargo test > log.txt");
    let wanted =
        "to allow it\n  Bash(cargo test:*)\n  Edit(./log.txt)\n  all of them, as --allowedTools";
    assert!(shown.contains(wanted), "{shown}");
}

#[test]
fn a_call_is_what_its_tool_takes() {
    for (tool, call, expected) in [
        ("", "{ ls; }", json!({"command": "{ ls; }"})),
        ("", "{\"command\": \"ls\"}", json!({"command": "{\"command\": \"ls\"}"})),
        ("Bash", "ls", json!({"command": "ls"})),
        ("bash", " {\"command\": \"ls\"}", json!({"command": "ls"})),
        ("read", "a", json!({"file_path": "a"})),
        ("Edit", "{\"file_path\": \"a\"}", json!({"file_path": "a"})),
        ("WebFetch", "https://docs.rs", json!({"url": "https://docs.rs"})),
        ("mcp__a__b", "{\"x\": 1}", json!({"x": 1})),
    ] {
        let tool = (!tool.is_empty()).then_some(tool);
        assert_eq!(input(tool, call).unwrap(), expected, "{tool:?} {call}");
    }
    for tool in ["Read", "Bash"] {
        assert!(matches!(input(Some(tool), "{ ls; }"), Err(Wrong::Usage(_))), "{tool}");
    }
}
