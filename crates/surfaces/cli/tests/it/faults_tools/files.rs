//! Several changes of one file, results that are too long, and calls nobody may allow.

use super::{Told, bash, completes, results};
use crate::faults_model::sound;
use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

const DEFAULT: [&str; 4] = ["-p", "go", "--output-format", "stream-json"];

#[test]
fn b29_two_edits_of_one_file_are_both_applied_in_order() {
    let edit = |file: &str, old: &str, new: &str| {
        ("Edit", json!({"file_path": file, "old_string": old, "new_string": new}))
    };
    let read = |file: &str| ("Read", json!({ "file_path": file }));
    let script = || {
        Script::new()
            .answer(calls([read("a.txt"), read("b.txt")]))
            // Only in this order do all of them fit.
            .answer(calls([
                edit("a.txt", "one", "two"),
                edit("./a.txt", "two", "three"),
                edit("b.txt", "x", "y"),
                edit("a.txt", "three", "four"),
            ]))
            .answer(text("ok"))
    };
    let args = ["-p", "go", "--output-format", "stream-json", "--permission-mode", "acceptEdits"];
    let prepare = |world: &World| {
        world.file("a.txt", "head\none\ntail\n");
        world.file("b.txt", "x\n");
    };
    let (world, _, told) = completes(script(), prepare, &args);
    assert!(told.iter().all(|told| !told.is_error), "{told:?}");
    assert_eq!(
        (world.read("a.txt").as_str(), world.read("b.txt").as_str()),
        ("head\nfour\ntail\n", "y\n")
    );
}

#[test]
fn b32_a_result_that_is_too_long_can_be_read_where_it_is_kept() {
    let lines: Vec<String> = (1..=20_000).map(|n| format!("line number {n}")).collect();
    let script = Script::new()
        .answer(bash("cat long.txt"))
        .by(|request| {
            let preview = request.tool_results()[0]["content"].as_str().unwrap_or_default().to_owned();
            calls([("Read", json!({"file_path": named_in(&preview), "offset": 10_000, "limit": 2}))])
        })
        .by(|request| {
            // Looking for something in it is reading, too.
            let preview = request.json()["messages"][2]["content"][0]["content"].as_str().unwrap_or_default().to_owned();
            calls([("Grep", json!({"pattern": "number 12345$", "path": named_in(&preview), "output_mode": "content"}))])
        })
        .answer(text("ok"));
    let (world, _, told) =
        completes(script, |world| drop(world.file("long.txt", &lines.join("\n"))), &DEFAULT);
    let preview = &told[0].text;
    assert!(
        preview.contains("line number 1\n") && preview.ends_with("line number 20000"),
        "{preview}"
    );
    assert!(!preview.contains("line number 10000") && preview.len() < 10_000, "{preview}");
    assert!(!told[1].is_error && told[1].text.contains("line number 10000"), "{:?}", told[1]);
    assert!(
        told[1].text.contains("line number 10001") && !told[1].text.contains("line number 10002"),
        "{:?}",
        told[1]
    );
    assert!(!told[2].is_error && told[2].text.contains("line number 12345"), "{:?}", told[2]);
    // The file is the whole (I1), and nobody else's.
    let kept = named_in(preview);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), lines.join("\n"));
    let spills = world.home().canonicalize().unwrap().join("spills");
    assert!(std::path::Path::new(&kept).starts_with(spills), "{kept}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o077, 0);
}

/// The file a preview points at.
fn named_in(preview: &str) -> String {
    let (_, rest) = preview.split_once("The full output is in ").unwrap_or_default();
    rest.split(": use Read").next().unwrap_or_default().to_owned()
}

#[test]
fn b37_without_a_person_a_question_is_a_refusal() {
    let wanted = [
        ("Bash", json!({"command": "touch never"}), "it changes files"),
        ("Write", json!({"file_path": "never", "content": "x"}), "it would change"),
        ("Read", json!({"file_path": "/etc/hostname"}), "outside the workspace"),
    ];
    for (tool, input, why) in wanted {
        let world = World::new(
            Script::new().answer(calls([(tool, input.clone())])).answer(text("I may not.")),
        );
        let ran = world.run(&DEFAULT);
        assert_eq!(ran.code, Some(4), "{tool}: {ran:?}");
        let Told { text, is_error } = results(&world).pop().unwrap();
        assert!(
            is_error && text.starts_with("Permission denied: ") && text.contains(why),
            "{text}"
        );
        assert!(
            text.contains("nobody is there to ask") && text.contains("Nothing was run"),
            "{text}"
        );
        let mut denials = ran.result()["permission_denials"].clone();
        let decision = denials[0].as_object_mut().unwrap().remove("decision").unwrap();
        assert_eq!(decision["reasons"][0]["by"], "nobody", "{decision}");
        let id = world.entries().iter().find_map(call_id).unwrap();
        assert_eq!(denials, json!([{"tool_name": tool, "tool_use_id": id, "tool_input": input}]));
        sound(&world, &ran);
    }
    // One of several: the rest runs, and the code says that something was done.
    let both = calls([
        ("Bash", json!({"command": "echo fine"})),
        ("Bash", json!({"command": "touch never"})),
    ]);
    let (_, ran, told) = completes(Script::new().answer(both).answer(text("ok")), |_| {}, &DEFAULT);
    assert_eq!((told[0].text.as_str(), told[1].is_error), ("fine", true));
    assert_eq!(ran.result()["permission_denials"].as_array().unwrap().len(), 1);
}

fn call_id(entry: &Value) -> Option<Value> {
    let blocks = entry["message"]["content"].as_array()?;
    blocks.iter().find_map(|block| block.get("id").cloned())
}
