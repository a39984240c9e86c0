//! The prompt cache as the usage numbers show it.

use ostler_model_server::{ModelServer, Script, text};
use serde_json::{Value, json};

use crate::client::{Client, asking, hello, serve, with};

/// (cache_read, cache_creation, input)
type Numbers = (u64, u64, u64);

struct Talk {
    server: ModelServer,
}

impl Talk {
    fn new() -> Self {
        Self { server: serve(Script::new().answer(text("ok")).forever()) }
    }

    fn ask(&self, body: &Value) -> Numbers {
        let answer = Client::to(&self.server).ask(body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let usage = answer.events()[0].1["message"]["usage"].clone();
        let number = |name: &str| usage[name].as_u64().unwrap();
        (
            number("cache_read_input_tokens"),
            number("cache_creation_input_tokens"),
            number("input_tokens"),
        )
    }
}

fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

fn system() -> Value {
    json!([marked(&"s".repeat(8000))])
}

#[test]
fn the_second_request_reads_what_the_first_wrote() {
    let talk = Talk::new();
    let body = with(hello(), "system", system());
    let (read, wrote, input) = talk.ask(&body);
    assert_eq!((read, wrote), (0, 2003));
    assert!(input > 0 && input < 20, "what stands behind the last marker: {input}");
    assert_eq!(talk.ask(&body), (2003, 0, input));
    // A change in front of the marker reads nothing.
    let other =
        with(body.clone(), "tools", json!([{"name": "A", "input_schema": {"type": "object"}}]));
    let (read, wrote, _) = talk.ask(&other);
    assert_eq!(read, 0);
    assert!(wrote > 2003);
    assert_eq!(talk.ask(&with(body, "model", json!("other"))).0, 0, "each model has its own cache");
}

#[test]
fn markers_themselves_do_not_count() {
    let talk = Talk::new();
    let long = "u".repeat(8000);
    let first = asking(json!([{"role": "user", "content": [marked(&long)]}]));
    let (_, wrote, _) = talk.ask(&first);
    // The old message comes back as a plain string, the marker has moved on.
    let second = asking(json!([
        {"role": "user", "content": long},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": [marked("next")]},
    ]));
    let (read, added, input) = talk.ask(&second);
    assert_eq!((read, input), (wrote, 0));
    assert!(added > 0 && added < 20, "{added}");
}

#[test]
fn short_prefixes_are_not_cached() {
    let talk = Talk::new();
    let body = with(hello(), "system", json!([marked(&"s".repeat(2000))]));
    let (read, wrote, input) = talk.ask(&body);
    assert_eq!((read, wrote), (0, 0));
    assert_eq!(talk.ask(&body), (0, 0, input));
}

#[test]
fn thinking_settings_reach_messages_but_not_the_system() {
    let talk = Talk::new();
    let body = asking(json!([{"role": "user", "content": [marked(&"u".repeat(8000))]}]));
    let body = with(body, "system", system());
    let (_, wrote, _) = talk.ask(&body);
    assert_eq!(wrote, 4006);
    let (read, wrote, _) = talk.ask(&with(body, "thinking", json!({"type": "adaptive"})));
    assert_eq!((read, wrote), (2003, 2003));
}

/// A conversation of rounds with that many parallel calls each; markers on the last blocks of the
/// named user messages.
fn rounds(count: usize, width: usize, marks: &[usize]) -> Value {
    let mut messages =
        vec![json!({"role": "user", "content": [{"type": "text", "text": "u".repeat(8000)}]})];
    for round in 0..count {
        let id = |at: usize| format!("call_{round}_{at}");
        let calls: Vec<Value> = (0..width)
            .map(|at| json!({"type": "tool_use", "id": id(at), "name": "Read", "input": {}}))
            .collect();
        let results: Vec<Value> = (0..width)
            .map(|at| json!({"type": "tool_result", "tool_use_id": id(at), "content": "r".repeat(100)}))
            .collect();
        messages.push(json!({"role": "assistant", "content": calls}));
        messages.push(json!({"role": "user", "content": results}));
    }
    for mark in marks {
        let blocks = messages[mark * 2]["content"].as_array_mut().unwrap();
        blocks.last_mut().unwrap()["cache_control"] = json!({"type": "ephemeral"});
    }
    asking(Value::Array(messages))
}

#[test]
fn one_rolling_marker_misses_after_twelve_parallel_calls() {
    let talk = Talk::new();
    assert_eq!(talk.ask(&rounds(0, 12, &[0])).0, 0);
    assert_eq!(talk.ask(&rounds(1, 12, &[1])).0, 0, "24 blocks lie between the two markers");
}

#[test]
fn a_kept_marker_hits_after_twelve_parallel_calls() {
    let talk = Talk::new();
    let (_, first, _) = talk.ask(&rounds(0, 12, &[0]));
    let (read, second, input) = talk.ask(&rounds(1, 12, &[0, 1]));
    assert_eq!((read, input), (first, 0));
    let (read, _, _) = talk.ask(&rounds(2, 12, &[1, 2]));
    assert_eq!(read, first + second);
}

#[test]
fn the_look_back_is_twenty_blocks_and_not_one_more() {
    for (width, hit) in [(9, true), (10, false)] {
        // Behind the old marker come `width` calls and `width` results, the last one marked.
        let talk = Talk::new();
        talk.ask(&rounds(0, width, &[0]));
        let (read, _, _) = talk.ask(&rounds(1, width, &[1]));
        assert_eq!(read > 0, hit, "{width} parallel calls");
    }
}

#[test]
fn entries_are_written_at_markers_only() {
    let talk = Talk::new();
    let two = |mark_first: bool, rest: &str| {
        let mut first = json!({"type": "text", "text": "u".repeat(8000)});
        if mark_first {
            first["cache_control"] = json!({"type": "ephemeral"});
        }
        asking(json!([{"role": "user", "content": [first, marked(rest)]}]))
    };
    talk.ask(&two(false, "one"));
    assert_eq!(talk.ask(&two(false, "two")).0, 0, "the common block was never an end of a prefix");
    talk.ask(&two(true, "three"));
    assert_eq!(talk.ask(&two(false, "four")).0, 2003);
}

#[test]
fn errors_write_nothing() {
    let server = serve(Script::new().status(529).answer(text("ok")).times(2));
    let talk = Talk { server };
    let body = with(hello(), "system", system());
    assert_eq!(Client::to(&talk.server).ask(&body).status, 529);
    assert_eq!(talk.ask(&body).0, 0);
    assert_eq!(talk.ask(&body).0, 2003);
}

#[test]
fn long_and_short_lives_are_told_apart() {
    let talk = Talk::new();
    let mut body = with(hello(), "system", system());
    body["system"][0]["cache_control"]["ttl"] = json!("1h");
    body["messages"] = json!([{"role": "user", "content": [marked(&"u".repeat(4000))]}]);
    let answer = Client::to(&talk.server).ask(&body);
    let usage = answer.events()[0].1["message"]["usage"]["cache_creation"].clone();
    assert_eq!(
        usage,
        json!({"ephemeral_5m_input_tokens": 1003, "ephemeral_1h_input_tokens": 2003})
    );
}

#[test]
fn the_cache_can_be_switched_off_and_rates_set() {
    let mut script = Script::new().answer(text("ok")).forever();
    script.usage.cache = false;
    script.usage.input_per_byte = 1.0;
    let talk = Talk { server: serve(script) };
    let body = with(hello(), "system", system());
    let first = talk.ask(&body);
    assert!(first.2 > 8000);
    assert_eq!(talk.ask(&body), first);
}
