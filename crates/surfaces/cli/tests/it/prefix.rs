//! The prompt cache: each request extends the one before, and the marks let the provider find it.

use crate::support::World;
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::{Value, json};

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Forty turns, one of them with twelve calls at once.
fn turns() -> Script {
    let mut script = Script::new();
    for turn in 0..40 {
        let width = if turn == 20 { 12 } else { 1 };
        let commands =
            (0..width).map(|i| ("Bash", json!({ "command": format!("echo {turn} {i} ä\\\"") })));
        script = script.answer(calls(commands));
    }
    script.answer(text("done"))
}

#[test]
fn forty_turns_are_byte_extensions_of_each_other() {
    let world = World::new(turns());
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    world.assert_never_rejected();
    let requests = world.server.requests();
    assert_eq!(requests.len(), 41);
    let bodies: Vec<String> = requests
        .iter()
        .map(|r| String::from_utf8(r.body.to_vec()).unwrap().replace(MARK, ""))
        .collect();
    for (n, pair) in bodies.windows(2).enumerate() {
        let (before, after) = (cached_part(&pair[0]), cached_part(&pair[1]));
        assert!(after.len() > before.len());
        assert!(after.starts_with(before), "request {} is no extension of {n}", n + 1);
    }
    println!(
        "requests compared: {} in a row, each a byte extension of the one before",
        bodies.len()
    );
}

/// Tools, system and messages as they stand in the body, without what closes the list of messages.
fn cached_part(body: &str) -> &str {
    let start = ["\"tools\":", "\"system\":", "\"messages\":"]
        .iter()
        .filter_map(|key| body.find(key))
        .min()
        .unwrap();
    let messages: Value = serde_json::from_str::<Value>(body).unwrap()["messages"].clone();
    let text = serde_json::to_string(&messages).unwrap();
    let end = body.rfind(&text).expect("the messages are rendered as serde would") + text.len() - 1;
    &body[start..end]
}

#[test]
fn every_request_after_the_first_is_served_from_the_cache_also_after_twelve_calls() {
    let world = World::new(turns());
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let spent: Vec<Value> =
        world.entries().into_iter().filter(|fact| fact["fact"] == "spent").collect();
    assert_eq!(spent.len(), 41);
    let usage = |fact: &Value, key: &str| fact["usage"][key].as_u64().unwrap();
    for pair in spent.windows(2) {
        let before = usage(&pair[0], "cache_read") + usage(&pair[0], "cache_write");
        assert_eq!(
            usage(&pair[1], "cache_read"),
            before,
            "the whole earlier prompt comes from the cache"
        );
        assert_eq!(usage(&pair[1], "input"), 0, "everything is marked");
    }
    let markers = |body: &str| body.matches("\"cache_control\"").count();
    assert!(
        world.server.requests().iter().all(|r| markers(&String::from_utf8_lossy(&r.body)) <= 4)
    );
}

#[test]
fn a_resumed_session_keeps_the_prefix() {
    let again: Reply = text("hello again");
    let script = Script::new()
        .answer(calls([("Bash", json!({"command": "echo 1"}))]))
        .answer(text("one"))
        .answer(again);
    let world = World::new(script);
    assert_eq!(world.go().code, Some(0));
    assert_eq!(world.run(&["-p", "more", "--continue"]).code, Some(0));
    let bodies: Vec<String> = world
        .server
        .requests()
        .iter()
        .map(|r| String::from_utf8(r.body.to_vec()).unwrap().replace(MARK, ""))
        .collect();
    assert!(cached_part(&bodies[2]).starts_with(cached_part(&bodies[1])));
    world.assert_never_rejected();
}
