//! Agents that the model starts, as `ostler -p` shows them.

use crate::support::World;
use ostler_model_server::{Recorded, Reply, Script, text};
use serde_json::{Value, json};

/// The session starts an explorer, which looks once and tries to write.
fn script() -> Script {
    let start =
        json!({ "description": "look around", "prompt": "task-a", "subagent_type": "Explore" });
    let reply = move |request: &Recorded| -> Reply {
        let is_answer = |message: &&Value| message["role"] == "assistant";
        let nth = request.messages().iter().filter(is_answer).count();
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, nth) {
            (false, 0) => text("I ask.").call("Agent", start.clone()),
            (false, _) => text("All done."),
            (true, 0) => text("I look.").call("Glob", json!({ "pattern": "*" })),
            (true, _) => text("Nothing there."),
        }
    };
    Script::new().by(reply).forever()
}

#[test]
fn frames_of_an_agent_name_the_call_that_started_it() {
    let world = World::new(script());
    let ran = world.run(&["-p", "go", "--output-format", "stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let frames = ran.frames();
    let is_start = |frame: &&Value| frame["message"]["content"][0]["name"] == "Agent";
    let call = &frames.iter().find(is_start).unwrap()["message"]["content"][0]["id"];
    let below: Vec<&Value> =
        frames.iter().filter(|frame| frame["parent_tool_use_id"] == *call).collect();
    let kinds: Vec<&str> = below.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "assistant", "user"], "its task, its call, the result: {below:#?}");
    assert_eq!(below[0]["message"]["content"][0]["text"], "task-a");
    assert_eq!(below[1]["message"]["content"][0]["name"], "Glob");
    assert!(below.iter().all(|frame| frame["agent"] == "/explorer-1"));
    let results: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "result").collect();
    assert_eq!(results.len(), 1, "only the session's own turn has a result");
    assert_eq!(results[0]["result"], "All done.");
    let inits = frames.iter().filter(|frame| frame["subtype"] == "init").count();
    assert_eq!(inits, 1);
    world.assert_never_rejected();
}

#[test]
fn text_has_a_line_for_the_beginning_and_one_for_the_end() {
    let world = World::new(script());
    let ran = world.run(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All done.\n"));
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("explorer-1")).collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    assert!(lines[0].ends_with("explorer-1: started"), "{lines:?}");
    assert!(lines[1].contains("explorer-1: finished · 1 call · "), "{lines:?}");
    let json = world.run(&["-p", "go", "--output-format", "json"]);
    assert_eq!(json.result()["result"], "All done.");
    // The session that goes on is the person's.
    let more = world.run(&["-p", "and?", "--continue"]);
    assert_eq!(more.stdout, "All done.\n", "{}", more.stderr);
}
