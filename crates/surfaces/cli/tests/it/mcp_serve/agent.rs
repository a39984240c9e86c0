//! The tool that is a whole agent, against the scripted model.

use super::client::{Client, text};
use crate::support::{World, answers, processes_with, unique_sleep, until};
use ostler_model_server::{Recorded, Script, calls, text as says};
use serde_json::{Value, json};

/// Reads a file, writes another one if it may, and says what came of it.
pub fn world() -> World {
    let step = |request: &Recorded| match answers(request) % 3 {
        0 => calls([("Read", json!({"file_path": "notes.txt"}))]),
        1 => calls([("Write", json!({"file_path": "new.txt", "content": "by an agent"}))]),
        _ => says(format!("asked {} times", request.messages().len())),
    };
    let world = World::new(Script::new().by(step).forever());
    world.file("notes.txt", "alpha\n");
    world
}

fn agent(client: &mut Client, arguments: Value) -> Value {
    client.call("ostler_agent", arguments)
}

#[test]
fn an_agent_answers_with_its_session_and_can_be_continued() {
    let world = world();
    let mut client = Client::start(&world, &["--agent"]);
    client.hello(json!({}));
    assert!(client.tools().contains(&"ostler_agent".to_owned()));
    let first = agent(&mut client, json!({"prompt": "look around"}));
    let data = &first["result"]["structuredContent"];
    assert_eq!(first["result"]["isError"], false, "{first}");
    assert_eq!(data["end"], "completed", "{first}");
    assert_eq!(data["result"], text(&first));
    // In the default mode nothing is changed without approval.
    assert!(!world.project().join("new.txt").exists());
    let session = data["session_id"].as_str().unwrap();
    let second = agent(&mut client, json!({"prompt": "again", "session_id": session}));
    assert_eq!(second["result"]["structuredContent"]["session_id"], session, "{second}");
    assert_ne!(text(&second), text(&first), "the conversation went on");
    client.end();
    world.assert_never_rejected();
}

#[test]
fn an_agent_may_do_what_the_flags_allow() {
    let world = world();
    let mut client = Client::start(&world, &["--agent", "--permission-mode", "acceptEdits"]);
    client.hello(json!({}));
    assert_eq!(agent(&mut client, json!({"prompt": "go"}))["result"]["isError"], false);
    client.end();
    assert_eq!(world.read("new.txt"), "by an agent");
}

#[test]
fn a_person_can_approve_what_an_agent_wants() {
    let world = world();
    let mut client = Client::start(&world, &["--agent"]);
    client.hello(json!({"elicitation": {}}));
    let id = client.begin("ostler_agent", json!({"prompt": "go"}), json!({}));
    let asked = client.next_where(|message| message["method"] == "elicitation/create");
    let answer = json!({"action": "accept", "content": {"allow": true}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
    assert_eq!(client.answer(id)["result"]["isError"], false);
    client.end();
    assert_eq!(world.read("new.txt"), "by an agent");
}

#[test]
fn sessions_of_others_and_bad_requests_are_refused() {
    let world = world();
    let own = world.run(&["-p", "mine", "--output-format", "json"]);
    let own = own.result()["session_id"].as_str().unwrap().to_owned();
    let mut client = Client::start(&world, &["--agent"]);
    client.hello(json!({}));
    for (arguments, why) in [
        (json!({"prompt": "read it", "session_id": own}), "no call of this server started"),
        (json!({"prompt": "x", "session_id": 7}), "must be a string"),
        (json!({"prompt": "  "}), "missing or empty"),
        (json!({}), "missing or empty"),
    ] {
        let refused = agent(&mut client, arguments);
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert!(text(&refused).contains(why), "{refused}");
    }
    client.end();
}

#[test]
fn agents_that_serve_each_other_have_an_end() {
    let world = world();
    let mut client = Client::with(&world, &["--agent"], &[("OSTLER_MCP_DEPTH", "2")]);
    client.hello(json!({}));
    let id = client.begin("ostler_agent", json!({"prompt": "go"}), json!({"ostler/depth": 3}));
    let refused = client.answer(id);
    assert!(text(&refused).contains("3 levels deep"), "{refused}");
    assert_eq!(agent(&mut client, json!({"prompt": "go"}))["result"]["isError"], false);
    client.end();
    let mut command = world.command(&["mcp", "serve", "--agent"]);
    let deep = command.env("OSTLER_MCP_DEPTH", "3").output().unwrap();
    assert_eq!(deep.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&deep.stderr).contains("OSTLER_MCP_DEPTH"));
}

#[test]
fn an_agent_tells_its_commands_how_deep_they_are() {
    let look = |request: &Recorded| match request.tool_results().first() {
        None => calls([("Bash", json!({"command": "echo depth=$OSTLER_MCP_DEPTH"}))]),
        Some(result) => says(result["content"].to_string().as_str()),
    };
    let world = World::new(Script::new().by(look).forever());
    let mut client =
        Client::with(&world, &["--agent", "--allowedTools", "Bash"], &[("OSTLER_MCP_DEPTH", "1")]);
    client.hello(json!({}));
    let said = agent(&mut client, json!({"prompt": "go"}));
    assert!(text(&said).contains("depth=2"), "{said}");
    client.end();
    // Other sessions pass it on as it is.
    let mut command = world.command(&["-p", "go", "--allowedTools", "Bash"]);
    let ran = crate::support::finish(command.env("OSTLER_MCP_DEPTH", "2").spawn().unwrap());
    assert!(ran.stdout.contains("depth=2"), "{ran:?}");
}

#[test]
fn a_cancelled_agent_stops_its_commands() {
    let mark = unique_sleep();
    let command = json!({"command": format!("sleep {mark}")});
    let world =
        World::new(Script::new().answer(calls([("Bash", command)])).answer(says("over")).forever());
    let mut client = Client::start(&world, &["--agent", "--allowedTools", "Bash"]);
    client.hello(json!({}));
    let id = client.begin("ostler_agent", json!({"prompt": "go"}), json!({}));
    until("the command runs", || !processes_with(&mark).is_empty());
    client.notify("notifications/cancelled", json!({"requestId": id}));
    until("the command is gone", || processes_with(&mark).is_empty());
    assert!(client.tools().contains(&"Read".to_owned()));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn without_a_key_only_the_agent_is_missing() {
    let world = world();
    let mut command = world.command(&["mcp", "serve", "--agent"]);
    let output = command.env_remove("ANTHROPIC_API_KEY").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let mut command = world.command(&["mcp", "serve"]);
    // Its client leaves at once.
    assert!(command.env_remove("ANTHROPIC_API_KEY").output().unwrap().status.success());
}
