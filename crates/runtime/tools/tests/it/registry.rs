//! The list of tools as the model gets it.

use super::desk;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Bytes of all names, descriptions and schemas together. Every request carries them.
const BUDGET: usize = 14_200;

#[test]
fn the_list_is_sorted_complete_and_small() {
    let desk = desk();
    let names: Vec<&str> = desk.tools().iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!(
        names.join(" "),
        "Agent Bash Edit Glob Grep NotebookEdit Read Revert SendMessage Sleep TaskCreate TaskGet TaskList TaskUpdate TodoWrite Write"
    );
    let apart = [
        "AskUserQuestion",
        "BoardAdd",
        "BoardList",
        "BoardNext",
        "BoardUpdate",
        "Delegate",
        "EnterPlanMode",
        "ExitPlanMode",
        "ListTeammates",
        "Memory",
        "Recall",
        "Skill",
        "TaskOutput",
        "TaskStop",
        "WebFetch",
        "WebSearch",
    ];
    let known = ostler_tools::known_tools();
    let all: Vec<&str> = known.names().filter(|name| !apart.contains(name)).collect();
    assert_eq!(names, all, "some need parts of a session");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());

    let specs: Vec<_> = desk.tools().iter().map(|tool| tool.spec()).collect();
    let size = serde_json::to_string(&specs).unwrap().len();
    println!("the tool list takes {size} bytes of {BUDGET}");
    assert!(size <= BUDGET, "the tool list takes {size} bytes, more than {BUDGET}");
    for spec in specs {
        let words = spec.description.split_whitespace().count();
        assert!((20..=130).contains(&words), "{}: {words} words", spec.name);
        assert!(spec.description.contains("Use it"), "{} does not say when to use it", spec.name);
    }
}

#[test]
fn schemas_are_plain_objects() {
    for tool in desk().tools() {
        let spec = tool.spec();
        let schema = &spec.input_schema;
        let keys: Vec<&String> = schema.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            ["type", "properties", "required", "additionalProperties"],
            "{}",
            spec.name
        );
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&json!("object"), &json!(false))
        );
        let properties = schema["properties"].as_object().unwrap();
        for required in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()));
        }
        for (name, property) in properties {
            assert!(property["description"].is_string(), "{} {name}", spec.name);
            assert!(
                matches!(
                    property["type"].as_str(),
                    Some("string" | "integer" | "boolean" | "array" | "object")
                ),
                "{} {name}",
                spec.name
            );
            let noise = property.as_object().unwrap().keys();
            let known = ["type", "enum", "minimum", "description", "items"];
            assert!(
                noise.into_iter().all(|key| known.contains(&key.as_str())),
                "{} {name}: {property}",
                spec.name
            );
        }
    }
}

#[test]
fn properties_are_those_models_know() {
    let desk = desk();
    let properties = |name: &str| -> Vec<String> {
        let schema = &desk.tool(name).spec().input_schema;
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let mark = |name: &String| {
            if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") }
        };
        schema["properties"].as_object().unwrap().keys().map(mark).collect()
    };
    assert_eq!(
        properties("Agent"),
        ["description", "prompt", "subagent_type?", "model?", "resume?", "run_in_background?"]
    );
    assert_eq!(properties("TodoWrite"), ["todos"]);
    assert_eq!(properties("TaskCreate"), ["subject", "description", "activeForm?", "metadata?"]);
    assert_eq!(
        properties("TaskUpdate").join(" "),
        "taskId subject? description? activeForm? status? addBlocks? addBlockedBy? owner? metadata?"
    );
    assert_eq!(
        properties("Bash"),
        ["command", "timeout?", "description?", "run_in_background?", "dangerouslyDisableSandbox?"]
    );
    assert_eq!(properties("Edit"), ["file_path", "old_string", "new_string", "replace_all?"]);
    assert_eq!(properties("Glob"), ["pattern", "path?"]);
    assert_eq!(
        properties("Grep"),
        [
            "pattern",
            "path?",
            "glob?",
            "type?",
            "output_mode?",
            "-A?",
            "-B?",
            "-C?",
            "context?",
            "-n?",
            "-i?",
            "multiline?",
            "head_limit?",
            "offset?"
        ]
    );
    assert_eq!(properties("Read"), ["file_path", "offset?", "limit?", "pages?"]);
    assert_eq!(properties("Revert"), ["file_path", "steps?"]);
    assert_eq!(properties("Write"), ["file_path", "content"]);
}

#[tokio::test]
async fn an_agent_is_known_by_two_names_and_a_third_is_refused() {
    let desk = desk();
    let input = |kind: &str| json!({"description": "d", "prompt": "p", "subagent_type": kind});
    for (names, kind) in [
        (["explorer", "Explore"], "\"explorer\""),
        (["planner", "Plan"], "\"planner\""),
        (["general", "general-purpose"], "\"general\""),
    ] {
        for name in names {
            super::support::has(&desk.ok("Agent", input(name)).await, kind);
            assert_eq!(desk.access("Agent", input(name)).unwrap().delegates, names);
        }
    }
    super::support::has(
        &desk.ok("Agent", json!({"description": "d", "prompt": "p"})).await,
        "\"general\"",
    );
    super::support::has(
        &desk.err("Agent", input("../x")).await,
        "Available: explorer, planner, general",
    );
    let resume = |id: &str| json!({"description": "d", "prompt": "p", "resume": id});
    let access = desk.access("Agent", resume("explorer-1")).unwrap();
    assert_eq!(access.delegates, ["explorer", "Explore"], "rules on its kind hold again");
    super::support::has(
        &desk.err("Agent", resume("x")).await,
        "You have not started an agent named \"x\"",
    );
}

#[tokio::test]
async fn a_wrong_input_is_refused_before_and_at_the_run() {
    let desk = desk();
    let input = json!({"path": "a"});
    let refused = desk.access("Read", input.clone()).unwrap_err();
    let ran = desk.tool("Read").run(input, desk.context()).await;
    assert_eq!(refused, ran);
    super::support::has(
        &super::support::text(&ran),
        "<tool_use_error>The input of Read is not valid: there is no property `path`",
    );
}
