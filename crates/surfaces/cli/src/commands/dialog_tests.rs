//! Questions of tools to the person, line by line.

use super::*;
use ostler::{AgentPath, By, CallId, Decision, QuestionId, Touches, Verdict};
use serde_json::{Value, json};
use std::sync::Arc;

fn asked(input: Value, request: PersonRequest) -> Question {
    Question {
        id: QuestionId::new("q1"),
        agent: AgentPath::default(),
        call: CallId::new("c1"),
        tool: "Ask".into(),
        input,
        touches: Touches::default(),
        request: Some(Arc::new(request)),
        decision: Decision::of(Verdict::Ask, By::BuiltIn, "it asks"),
        deadline: None,
    }
}

fn one(question: &str, labels: &[&str], multi_select: bool) -> ChoiceQuestion {
    let choice = |label: &&str| Choice { label: (*label).into(), description: String::new() };
    let options = labels.iter().map(choice).collect();
    ChoiceQuestion { question: question.into(), header: "Topic".into(), options, multi_select }
}

fn two() -> Question {
    let questions =
        vec![one("Which?", &["Red", "Blue"], false), one("What else?", &["A", "B", "C"], true)];
    asked(json!({"questions": []}), PersonRequest::Choices { questions })
}

/// The reply after these lines; none if they do not answer everything.
fn after(question: &Question, lines: &[&str]) -> Option<Reply> {
    let mut dialog = Dialog::new(question);
    let mut replies = lines.iter().map(|line| dialog.take(Some(line)));
    replies.find_map(|reply| reply)
}

fn answers(reply: Option<Reply>) -> Value {
    match reply {
        Some(Reply::YesWithInput(input)) => input["answers"].clone(),
        other => json!(format!("{other:?}")),
    }
}

#[test]
fn numbers_are_choices_and_words_are_answers() {
    let question = two();
    assert_eq!(
        answers(after(&question, &["2", "1, 3"])),
        json!({"Which?": "Blue", "What else?": "A, C"})
    );
    assert_eq!(answers(after(&question, &["green, maybe", ""])), json!({"Which?": "green, maybe"}));
    // What is not on the list is asked again, and so are two numbers where one is wanted.
    assert_eq!(
        answers(after(&question, &["3", "1 2", "0", "1", "4", "3"])),
        json!({"Which?": "Red", "What else?": "C"})
    );
    assert_eq!(after(&question, &["1"]), None, "the second question is open");
    assert!(matches!(after(&question, &["", ""]), Some(Reply::No(_))));
    let mut dialog = Dialog::new(&question);
    assert!(matches!(dialog.take(None), Some(Reply::Unanswered(_))));
}

#[test]
fn every_choice_is_shown_and_nothing_is_obeyed() {
    let questions = vec![ChoiceQuestion {
        question: "Which\n? Bash".into(),
        header: "\u{1b}[2JTopic".into(),
        options: vec![
            Choice { label: "Red".into(), description: "like blood\nor wine".into() },
            Choice { label: "Blue".into(), description: String::new() },
        ],
        multi_select: true,
    }];
    let question = asked(json!({}), PersonRequest::Choices { questions });
    let shown = Dialog::new(&question).shown().to_owned();
    for part in ["1  Red: like blood\n      │ or wine", "2  Blue\n", "1,2", "Which\n      │ ? Bash"]
    {
        assert!(shown.contains(part), "{part:?}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_plan_is_approved_by_a_plain_yes_only() {
    let plan = PersonRequest::Plan {
        plan: "1. look\n2. fix".into(),
        sha256: "0123456789abcdef".into(),
        modes: vec![Mode::Default, Mode::AcceptEdits],
    };
    let question = asked(json!({"plan": "1. look\n2. fix"}), plan);
    let shown = Dialog::new(&question).shown().to_owned();
    assert!(shown.contains("    │ 1. look\n    │ 2. fix\n"), "{shown}");
    assert!(shown.contains("approve plan 0123456789ab? "), "{shown}");
    let mode = |line: &str| match after(&question, &[line]) {
        Some(Reply::YesWithInput(input)) => input["mode"].to_string(),
        Some(Reply::No(why)) => why,
        other => format!("{other:?}"),
    };
    assert_eq!(mode("y"), "\"default\"");
    assert_eq!(mode(" YES "), "\"default\"");
    assert_eq!(mode("e"), "\"acceptEdits\"");
    assert_eq!(mode(""), "the user said no");
    assert_eq!(mode("yes, but test first"), "the user said: yes, but test first");
}
