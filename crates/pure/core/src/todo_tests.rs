//! The plan: what changes it, what is refused, and when it is repeated.

use super::*;
use crate::ids::{CallId, ModelId};
use crate::message::ResultPart;
use crate::test_tools::tools;
use serde_json::json;

fn todo(content: &str, status: Status) -> Todo {
    Todo { content: content.into(), status, active_form: Some(format!("Doing {content}")) }
}

fn new(subject: &str) -> NewTask {
    NewTask { subject: subject.into(), ..NewTask::default() }
}

fn of(subjects: &[&str]) -> Plan {
    subjects.iter().fold(Plan::default(), |plan, subject| plan.with(new(subject)).unwrap().0)
}

fn names(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn a_list_replaces_the_plan_and_known_lines_keep_what_they_know() {
    let plan = of(&["a", "b", "c"]);
    let update = Update {
        owner: Some("me".into()),
        add_blocked_by: names(&["1", "3"]),
        ..Update::default()
    };
    let plan = plan.updated("2", update).unwrap();
    let next = plan
        .replaced(vec![
            todo("new", Status::Pending),
            todo(" b ", Status::InProgress),
            todo("c", Status::Completed),
        ])
        .unwrap();
    assert_eq!(
        next.lines(),
        "#4 [pending] new\n#2 [in_progress] b (owner: me)\n#3 [completed] c",
        "a is gone and blocks nothing; c is completed and blocks nothing"
    );
    assert_eq!(next.tasks[1].blocked_by, ["3"]);
    // Two lines with the same words are two tasks.
    let twins = next.replaced(vec![todo("b", Status::Pending), todo("b", Status::Pending)]);
    assert_eq!(twins.unwrap().lines(), "#2 [pending] b (owner: me)\n#5 [pending] b");
    assert!(next.replaced(Vec::new()).unwrap().is_empty());
}

#[test]
fn a_name_is_never_given_twice() {
    let plan = of(&["a", "b"]).without("2").unwrap();
    let (plan, id) = plan.with(new("c")).unwrap();
    assert_eq!(id, "3");
    let text = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(read, plan);
    assert_eq!(read.without("3").unwrap().with(new("d")).unwrap().1, "4");
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let plan = of(&["a", "b", "c"]);
    let blocked = |id: &str, by: &[&str]| {
        plan.updated(id, Update { add_blocked_by: names(by), ..Update::default() })
    };
    for (wrong, says) in [
        (blocked("7", &[]), "There is no task \"7\". The tasks are: 1, 2, 3."),
        (blocked("1", &["2", "9"]), "There is no task \"9\""),
        (blocked("1", &["1"]), "would wait for itself"),
        (plan.without("x"), "There is no task \"x\""),
        (plan.with(new("  ")).map(|(plan, _)| plan), "it is empty"),
        (plan.with(new(&"x".repeat(501))).map(|(plan, _)| plan), "500 characters"),
        (plan.replaced(vec![todo("", Status::Pending)]), "Task 1 of the list"),
        (plan.replaced(vec![todo("x", Status::Pending); 201]), "at most 200"),
        (
            plan.updated("1", Update { description: Some("x".repeat(8001)), ..Update::default() }),
            "8000 characters",
        ),
        (
            plan.with(NewTask {
                metadata: Map::from_iter([("k".into(), json!("x".repeat(200_000)))]),
                ..new("a")
            })
            .map(|(plan, _)| plan),
            "bytes",
        ),
    ] {
        let why = wrong.unwrap_err();
        assert!(why.contains(says), "{why} / {says}");
    }
    assert!(Plan::default().get("1").unwrap_err().contains("none"));
}

#[test]
fn circles_of_any_length_are_refused() {
    let plan = of(&["a", "b", "c", "d"]);
    let by = |plan: &Plan, id: &str, other: &str| {
        plan.updated(id, Update { add_blocked_by: names(&[other]), ..Update::default() })
    };
    let chain = by(&by(&plan, "1", "2").unwrap(), "2", "#3").unwrap();
    assert!(by(&chain, "3", "1").unwrap_err().contains("wait for itself"));
    assert!(by(&chain, "4", "1").is_ok());
    let blocks = Update { add_blocks: names(&["3"]), ..Update::default() };
    assert!(chain.updated("1", blocks.clone()).is_err(), "the same said from the other side");
    let plan = chain.updated("4", blocks).unwrap();
    assert_eq!(plan.get("3").unwrap().blocked_by, ["4"]);
    assert_eq!(plan.blocks("4"), ["3"]);
}

#[test]
fn an_update_changes_what_it_names() {
    let plan = of(&["a", "b"]);
    let metadata = Map::from_iter([("x".into(), json!(1)), ("y".into(), json!(2))]);
    let first = Update {
        subject: Some(" other ".into()),
        description: Some("more".into()),
        active_form: Some("Doing".into()),
        status: Some(Status::InProgress),
        owner: Some("me".into()),
        metadata,
        ..Update::default()
    };
    let plan = plan.updated("#1", first).unwrap();
    let task = plan.get("1").unwrap().clone();
    assert_eq!((task.subject.as_str(), task.description.as_str()), ("other", "more"));
    assert_eq!((task.active_form.as_deref(), task.owner.as_deref()), (Some("Doing"), Some("me")));
    let metadata = Map::from_iter([("x".into(), Value::Null)]);
    let second = Update { owner: Some(String::new()), metadata, ..Update::default() };
    let task = plan.updated("1", second).unwrap().get("1").unwrap().clone();
    assert_eq!((task.owner, task.status), (None, Status::InProgress));
    assert_eq!(Value::Object(task.metadata), json!({"y": 2}));
    assert_eq!(plan.get("2").unwrap(), of(&["a", "b"]).get("2").unwrap());
}

#[test]
fn advice_is_given_and_not_enforced() {
    let list = |statuses: &[Status]| {
        let todos = statuses.iter().map(|status| todo(&format!("{status:?}"), *status)).collect();
        Plan::default().replaced(todos).unwrap().advice().join(" ")
    };
    use Status::{Completed, InProgress, Pending};
    assert_eq!(list(&[Completed, InProgress, Pending]), "");
    assert_eq!(list(&[Completed]), "");
    assert!(list(&[InProgress, InProgress]).contains("2 tasks are in progress"));
    assert!(list(&[Pending]).contains("No task is in progress"));
    let plan = of(&["a", "b"]);
    let started =
        Update { status: Some(InProgress), add_blocked_by: names(&["1"]), ..Update::default() };
    let plan = plan.updated("2", started).unwrap();
    assert!(plan.advice().join(" ").contains("#2 is in progress but waits for #1"));
}

/// An answer with these calls, and their results.
fn called(view: &mut View, tools: &[&str]) {
    let id = |at: usize, view: &View| CallId::new(format!("c{}_{at}", view.items().len()));
    let calls: Vec<Block> = (tools.iter().enumerate())
        .map(|(at, name)| Block::ToolUse {
            id: id(at, view),
            name: (*name).into(),
            input: json!({}),
            via: None,
        })
        .collect();
    let results = calls
        .iter()
        .filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(Block::ToolResult {
                id: id.clone(),
                content: vec![ResultPart::text("ok")],
                is_error: false,
            }),
            _ => None,
        })
        .collect();
    view.push(Message::assistant(&ModelId::new("m"), calls));
    view.push(Message::User { content: results });
}

fn said(plan: &Plan, view: &View) -> Option<String> {
    let message = reminder(plan, view, &tools())?;
    let Block::Text { text, meta: true } = &message.blocks()[0] else { panic!("{message:?}") };
    Some(text.clone())
}

#[test]
fn after_each_call_one_line_tells_how_far_the_plan_is() {
    let view = |names: &[&str]| {
        let mut view = View::from_messages([Message::user("go")]);
        called(&mut view, names);
        view
    };
    let plan = |first, second| of(&[]).replaced(vec![todo("a", first), todo("b", second)]).unwrap();
    let state = |words: &str| Some(format!("<plan-state>{words}</plan-state>"));
    use Status::{Completed, InProgress, Pending};
    for (plan, calls, expected) in [
        (plan(Pending, Pending), &["Read"][..], state("0 of 2 steps done. Next: a")),
        (plan(Pending, InProgress), &["Read"], state("0 of 2 steps done. Now: b")),
        (plan(Completed, Pending), &["TodoWrite", "Read"], state("1 of 2 steps done. Next: b")),
        (plan(Completed, Pending), &["Read", "TodoWrite"], None),
        (plan(Completed, Completed), &["Read"], None),
        (Plan::default(), &["Read"], None),
    ] {
        assert_eq!(said(&plan, &view(calls)), expected, "{calls:?}");
    }
}

#[test]
fn the_whole_plan_is_said_again_after_a_while_and_not_before() {
    let plan = of(&["a", "b"]);
    let whole = |view: &View| said(&plan, view).is_some_and(|text| text.starts_with("<plan>"));
    let mut view = View::from_messages([Message::user("go")]);
    called(&mut view, &["TodoWrite"]);
    for n in 1..QUIET_CALLS {
        called(&mut view, &["Read"]);
        assert!(!whole(&view), "after {n} calls");
        view.push(reminder(&plan, &view, &tools()).unwrap());
    }
    called(&mut view, &["Read"]);
    let text = said(&plan, &view).unwrap();
    assert!(text.contains("#1 [pending] a\n#2 [pending] b"), "{text}");
    // Said once, it waits again.
    view.push(reminder(&plan, &view, &tools()).unwrap());
    called(&mut view, &["Read"; QUIET_CALLS - 1]);
    assert!(!whole(&view));
    called(&mut view, &["Read", "Read"]);
    assert!(whole(&view));
    // Each tool of the plan shows it.
    for tool in tools().of_kind(ToolKind::Plans) {
        let mut view = view.clone();
        called(&mut view, &["Read", tool, "Read"]);
        assert!(!whole(&view), "{tool}");
    }
    // Words of a person that look like the note are not the note.
    view.push(Message::user("<plan>"));
    assert!(whole(&view));
}
