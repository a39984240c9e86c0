//! Facts of invented tools.

use super::*;
use crate::test_tools::tools;
use serde_json::json;

#[test]
fn a_subject_is_the_first_input_that_is_there() {
    let facts = |subject| ToolFacts { subject, ..ToolFacts::default() };
    let task = facts(Subject::Inputs(&["subject", "taskId"]));
    let list = facts(Subject::Count { input: "todos", one: "task" });
    for (facts, input, expected) in [
        (task, json!({"taskId": "1", "subject": "a"}), "a"),
        (task, json!({"taskId": "1"}), "1"),
        (task, json!({"subject": 3, "taskId": "1"}), "1"),
        (task, json!({"command": "ls"}), r#"{"command":"ls"}"#),
        (list, json!({"todos": [1]}), "1 task"),
        (list, json!({"todos": [1, 2]}), "2 tasks"),
        (list, json!({"todos": "x"}), r#"{"todos":"x"}"#),
        (ToolFacts::default(), json!({"path": "p", "url": "u"}), "p"),
        (ToolFacts::default(), json!({"z": "p"}), r#"{"z":"p"}"#),
    ] {
        assert_eq!(facts.subject_of(&input), expected, "{input}");
    }
}

#[test]
fn files_are_what_the_inputs_name() {
    const BOTH: &[FileInput] = &[FileInput::read("from"), FileInput::write("to")];
    const FILE: &[FileInput] = &[FileInput::read("file_path")];
    const TREE: &[FileInput] = &[FileInput::read_tree("path")];
    let facts = |files| ToolFacts { files, ..ToolFacts::default() };
    let (both, read, tree) = (facts(BOTH), facts(FILE), facts(TREE));
    assert_eq!(both.changed(&json!({"from": "a", "to": "b"})).collect::<Vec<_>>(), ["b"]);
    assert_eq!(both.changed(&json!({"from": "a", "to": 3})).count(), 0);
    assert_eq!(read.read_whole(&json!({"file_path": "a"})), Some("a"));
    assert_eq!(read.read_whole(&json!({"file_path": "a", "limit": 1})), None);
    assert_eq!(both.read_whole(&json!({"from": "a"})), None, "it changes something");
    assert_eq!(tree.read_whole(&json!({"path": "a"})), None, "a tree is no file");
    assert_eq!((read.main_input(), both.main_input()), (Some("file_path"), Some("from")));
    assert_eq!(ToolFacts::default().main_input(), Some("command"));
    let sample = ToolFacts { sample: &[("old", "a")], ..read };
    assert_eq!(sample.call_with("x"), json!({"old": "a", "file_path": "x"}));
}

#[test]
fn a_tool_that_is_not_known_declares_nothing() {
    let tools = tools();
    assert_eq!(tools.kind("mcp__a__b"), ToolKind::Undeclared);
    assert_eq!(tools.facts("Deploy"), ToolFacts::default());
    assert_eq!(tools.of_kind(ToolKind::Edits).collect::<Vec<_>>(), ["Edit", "Revert", "Write"]);
    assert!(tools.knows("Bash") && !tools.knows("bash"));
}

#[test]
fn a_tool_that_arrives_is_known_by_its_newest_declaration() {
    let of = |kind| ToolFacts { kind, ..ToolFacts::default() };
    let known = tools().and("Stamp", of(ToolKind::Edits));
    assert_eq!(known.kind("Stamp"), ToolKind::Edits);
    let known = known.and("Stamp", of(ToolKind::Fetches));
    assert_eq!(known.kind("Stamp"), ToolKind::Fetches);
    assert_eq!(known.names().filter(|name| *name == "Stamp").count(), 1);
    assert_eq!(known.names().count(), tools().names().count() + 1);
}
