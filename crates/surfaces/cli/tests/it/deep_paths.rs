//! Every tool works a thousand directories deep, and a path that is too long for the kernel is an error that says so.

use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn results(path: &str) -> Vec<String> {
    let script = Script::new()
        .answer(calls([("Write", json!({"file_path": path, "content": "hello"}))]))
        .answer(calls([("Read", json!({"file_path": path}))]))
        .answer(calls([("Bash", json!({"command": format!("cat {path}")}))]))
        .answer(calls([("Grep", json!({"pattern": "hello", "path": path}))]))
        .answer(calls([("Glob", json!({"pattern": path}))]))
        .answer(text("Done."));
    let world = World::new(script);
    world.go();
    let requests = world.server.requests();
    let last = requests.iter().filter_map(|request| request.tool_results().pop());
    last.map(|result| result["content"].to_string()).collect()
}

#[test]
fn a_file_a_thousand_folders_deep() {
    let path = format!("{}x.txt", "a/".repeat(1_000));
    let results = results(&path);
    let [write, read, bash, grep, glob] = results.as_slice() else { panic!("{results:?}") };
    assert!(write.contains("Created"), "{write}");
    assert!(read.contains("hello") && bash.contains("hello"), "{read} {bash}");
    assert!(grep.contains("x.txt") && glob.contains("x.txt"), "{grep} {glob}");
}

#[test]
fn a_path_that_is_too_long() {
    let results = results(&format!("{}x.txt", "a/".repeat(2_100)));
    for result in [&results[0], &results[1], &results[3], &results[4]] {
        assert!(result.contains("too long"), "{result}");
    }
    assert!(!results[2].contains("hello"), "{}", results[2]);
}
