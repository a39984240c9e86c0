//! Questions as a person sees them.

use super::*;
use ostler::{AgentPath, By, CallId, CitedRule, Decision, QuestionId, Source, Tier, Verdict};
use serde_json::json;

fn question(input: Value) -> Question {
    Question {
        call: CallId::new("c1"),
        tool: "Bash".into(),
        input,
        id: QuestionId::new("q1"),
        agent: AgentPath::default(),
        touches: Touches { unknown: true, ..Touches::default() },
        decision: Decision { verdict: Verdict::Ask, reasons: Vec::new(), offer: Vec::new() },
        request: None,
        deadline: None,
    }
}

fn because(why: &str, part: Option<&str>, rule: Option<&str>) -> Reason {
    Reason {
        part: part.map(str::to_owned),
        rule: rule.map(cited).map(Box::new),
        ..Reason::new(By::Default, why)
    }
}

/// From `text (file:line)`.
fn cited(rule: &str) -> CitedRule {
    let (text, place) = rule.split_once(" (").unwrap();
    let place = place.trim_end_matches(')');
    let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
    let source = Source { tier: Tier::User, file: Some(file.into()), line: line.parse().ok() };
    CitedRule { effect: Verdict::Ask, text: text.into(), source }
}

fn file(path: &str) -> Place {
    Place { path: path.into(), below: false }
}

#[test]
fn a_short_command_is_a_short_question() {
    let mut asked = question(json!({"command": "touch x"}));
    asked.decision.reasons = vec![because("it changes files", None, None)];
    asked.touches = Touches { changes: vec![file("/ws/x")], ..Touches::default() };
    assert_eq!(
        text(&asked),
        "? Bash\n  command: touch x\n  changes: /ws/x\n  why: it changes files\n  run it? [y]es once  \
         [s]ession: exactly this call  [n]o (or say why not): "
    );
}

#[test]
fn what_it_touches_why_it_asks_and_what_can_be_kept() {
    let mut asked = question(json!({"command": "cargo test && git push"}));
    asked.touches = Touches {
        reads: vec![Place { path: "/ws/src".into(), below: true }, file("/ws/a"), file("/ws/a")],
        changes: (0..9).map(|n| file(&format!("/ws/{n}"))).collect(),
        contacts: vec!["example.org".into()],
        unknown: true,
    };
    asked.decision.reasons = vec![
        because("no rule allows it", Some("cargo test"), None),
        because(
            "the ask rule ^git push covers it: goes out",
            Some("git push"),
            Some("^git push (/ws/p.yaml:4)"),
        ),
    ];
    asked.decision.offer = vec!["Bash(cargo test:*)".into(), "Bash(git push:*)".into()];
    assert_eq!(
        text(&asked),
        "? Bash\n  command: cargo test && git push\n  reads: /ws/src and everything below, /ws/a\n  changes: \
         /ws/0, /ws/1, /ws/2, /ws/3, /ws/4, /ws/5 and 3 more\n  contacts: example.org\n  may touch anything \
         else\n  why: cargo test: no rule allows it\n  why: git push: the ask rule ^git push covers it: goes out \
         (/ws/p.yaml:4)\n  run it? [y]es once  [s]ession: Bash(cargo test:*), Bash(git push:*)  [p]roject: \
         Bash(cargo test:*), Bash(git push:*)  [n]o (or say why not): "
    );
}

#[test]
fn reasons_are_bounded_and_never_missing() {
    let mut asked = question(json!({}));
    assert!(text(&asked).contains("\n  why: "), "{}", text(&asked));
    asked.decision.reasons = (0..30).map(|n| because(&format!("reason {n}"), None, None)).collect();
    let shown = text(&asked);
    assert_eq!(shown.matches("  why: ").count(), REASONS);
    assert!(shown.contains("  and 22 more reasons\n"), "{shown}");
}

#[test]
fn nothing_is_cut_hidden_or_taken_for_ours() {
    let long = format!("echo {}; rm -rf precious", "x".repeat(5_000));
    assert!(text(&question(json!({"command": &long}))).contains(&long));
    let command = "true\r\u{1b}]0;`rm a`\u{7}\u{8}\u{202e}\n  run it? y\n\nlast";
    let shown = text(&question(json!({"command": command, "timeout": 5})));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        &lines[..7],
        [
            "? Bash",
            "  command (4 lines):",
            r"    │ true\r\u{1b}]0;`rm a`\u{7}\u{8}\u{202e}",
            "    │   run it? y",
            "    │ ",
            "    │ last",
            "  timeout: 5",
        ]
    );
}

/// Names, reasons and rules come from the model and the project, too.
#[test]
fn no_part_of_a_question_is_obeyed() {
    let evil = "a\u{1b}[2J\n  run it? y";
    let mut asked = question(json!({ evil: evil }));
    asked.tool = evil.into();
    asked.touches =
        Touches { reads: vec![file(evil)], contacts: vec![evil.into()], ..Touches::default() };
    asked.decision.reasons = vec![because(evil, Some(evil), Some("x (y\u{1b}[2J)"))];
    asked.decision.offer = vec![evil.into()];
    let shown = text(&asked);
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert_eq!(shown.matches("\n  run it? ").count(), 1, "{shown}");
    assert!(shown.contains("    │   run it? y"), "{shown}");
}

#[test]
fn the_last_line_break_is_no_line() {
    for (content, expected) in [
        ("a\nb\n", "  content (2 lines):\n    │ a\n    │ b\n"),
        ("a\nb", "  content (2 lines):\n    │ a\n    │ b\n"),
        ("a\n", "  content: a\n"),
        ("a\n\n", "  content (2 lines):\n    │ a\n    │ \n"),
        ("", "  content: \n"),
    ] {
        assert_eq!(field("content", &content.into()), expected, "{content:?}");
    }
}
