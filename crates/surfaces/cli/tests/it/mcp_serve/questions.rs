//! Calls that need approval, with a client that can ask a person.

use super::client::{Client, text};
use super::{ALL, world};
use serde_json::{Value, json};

fn write() -> Value {
    json!({"file_path": "new.txt", "content": "approved"})
}

fn said(action: &str, allow: bool) -> Value {
    json!({"action": action, "content": {"allow": allow}})
}

#[test]
fn a_person_is_asked_while_the_call_waits() {
    for (answer, runs) in [
        (said("accept", true), true),
        (said("accept", false), false),
        (json!({"action": "decline"}), false),
    ] {
        let world = world();
        let mut client = Client::start(&world, &ALL);
        client.hello(json!({"elicitation": {}}));
        let id = client.begin("Write", write(), json!({}));
        let asked = client.next_where(|message| message["method"] == "elicitation/create");
        let question = asked["params"]["message"].as_str().unwrap();
        for part in ["Write", "new.txt", "approved"] {
            assert!(question.contains(part), "{question}");
        }
        assert!(!world.project().join("new.txt").exists(), "it waits for the answer");
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
        let done = client.answer(id);
        assert_eq!(done["result"]["isError"], !runs, "{done}");
        assert_eq!(world.project().join("new.txt").exists(), runs, "{answer}");
        client.end();
    }
}

#[test]
fn a_client_that_can_show_no_form_is_not_asked() {
    let world = world();
    let mut client = Client::start(&world, &ALL);
    client.hello(json!({"elicitation": {"url": {}}}));
    let denied = client.call("Write", write());
    assert!(text(&denied).contains("nobody is there to ask"), "{denied}");
    client.end();
}

/// A request that is sent again with the state and the answer.
fn again(client: &mut Client, arguments: Value, state: &Value, answer: Value) -> Value {
    let params = json!({
        "name": "Write",
        "arguments": arguments,
        "requestState": state,
        "inputResponses": {"permission": answer},
    });
    client.request("tools/call", params)
}

#[test]
fn a_stateless_client_sends_the_answer_with_the_request() {
    let world = world();
    let mut client = Client::stateless(&world, &ALL, json!({"elicitation": {}}));
    let asked = client.call("Write", write());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let form = &asked["result"]["inputRequests"]["permission"];
    assert_eq!(form["method"], "elicitation/create");
    assert!(form["params"]["message"].as_str().unwrap().contains("new.txt"));
    let state = &asked["result"]["requestState"];
    // A yes is for what was shown, and for nothing else.
    let other = json!({"file_path": "other.txt", "content": "not shown"});
    let refused = again(&mut client, other, state, said("accept", true));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let made_up = again(&mut client, write(), &json!("00000000"), said("accept", true));
    assert_eq!(made_up["error"]["code"], -32602, "{made_up}");
    assert!(!world.project().join("new.txt").exists());
    let done = again(&mut client, write(), state, said("accept", true));
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(world.read("new.txt"), "approved");
    let twice = again(&mut client, write(), state, said("accept", true));
    assert_eq!(twice["error"]["code"], -32602, "{twice}");
    client.end();
    assert!(!world.project().join("other.txt").exists());
}

#[test]
fn a_no_of_a_stateless_client_is_a_no() {
    let world = world();
    let mut client = Client::stateless(&world, &ALL, json!({"elicitation": {}}));
    let asked = client.call("Write", write());
    let state = &asked["result"]["requestState"];
    let denied = again(&mut client, write(), state, json!({"action": "decline"}));
    assert_eq!(denied["result"]["isError"], true, "{denied}");
    assert!(text(&denied).contains("the user said no"), "{denied}");
    client.end();
    assert!(!world.project().join("new.txt").exists());
}

#[test]
fn an_agent_waits_for_the_answer_of_a_stateless_client() {
    let world = super::agent::world();
    let mut client = Client::stateless(&world, &["--agent"], json!({"elicitation": {}}));
    let arguments = json!({"prompt": "go"});
    let asked = client.call("ostler_agent", arguments.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let params = json!({
        "name": "ostler_agent",
        "arguments": arguments,
        "requestState": asked["result"]["requestState"],
        "inputResponses": {"permission": said("accept", true)},
    });
    let done = client.request("tools/call", params);
    assert_eq!(done["result"]["structuredContent"]["end"], "completed", "{done}");
    assert_eq!(world.read("new.txt"), "by an agent");
    client.end();
}

#[test]
fn calls_that_wait_are_limited_and_do_not_hold_up_reads() {
    let world = world();
    let mut client = Client::start(&world, &ALL);
    client.hello(json!({"elicitation": {}}));
    // The first one waits for a person, and the others wait for it.
    for _ in 0..31 {
        client.begin("Write", write(), json!({}));
    }
    let read = client.call("Read", json!({"file_path": "notes.txt"}));
    assert!(text(&read).contains("alpha"), "{read}");
    client.begin("Write", write(), json!({}));
    let refused = client.call("Read", json!({"file_path": "notes.txt"}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("try again later"), "{refused}");
    client.end();
    assert!(!world.project().join("new.txt").exists());
}
