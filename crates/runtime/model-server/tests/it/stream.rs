//! What an answer looks like: event order, deltas, ids, usage, and the same step without a stream.

use ostler_model_server::{
    FloodKind, Part, Reply, Script, UsageNumbers, calls, sse, status, text, think,
};
use serde_json::{Value, json};

use crate::client::{Client, End, asking, hello, once, plain, serve};

#[test]
fn events_come_in_the_order_of_the_real_api() {
    let reply =
        think("First I look around.").say("I will look.").call("Bash", json!({"command": "ls"}));
    let answer = once(Script::new().answer(reply), &hello());
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(answer.header("request-id"), Some("req_000000000001"));
    let mut short = answer.names();
    short.dedup();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let mut wanted = vec!["message_start", "content_block_start", "ping"];
    wanted.extend(["content_block_delta", "content_block_stop"]);
    wanted.extend([block, block].concat());
    wanted.extend(["message_delta", "message_stop"]);
    assert_eq!(short, wanted);
    for (name, data) in answer.events() {
        assert_eq!(data["type"], name.as_str(), "each event repeats its name as its type");
    }
}

#[test]
fn blocks_are_complete_and_numbered() {
    let input = json!({"command": "echo 'grüße' | wc"});
    let reply = think("Hmm, let me think about it.").say("Grüße!").call("Bash", input.clone());
    let events = once(Script::new().answer(reply), &hello()).events();
    let starts: Vec<&Value> = of(&events, "content_block_start");
    assert_eq!(
        starts[0]["content_block"],
        json!({"type": "thinking", "thinking": "", "signature": ""})
    );
    assert_eq!(starts[1]["content_block"], json!({"type": "text", "text": ""}));
    assert_eq!(
        starts[2]["content_block"],
        json!({"type": "tool_use", "id": "toolu_000000000001", "name": "Bash", "input": {}})
    );
    assert_eq!(starts.iter().map(|data| data["index"].clone()).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(joined(&events, 0, "thinking"), "Hmm, let me think about it.");
    assert!(joined(&events, 0, "signature").starts_with("scripted-"));
    assert_eq!(joined(&events, 1, "text"), "Grüße!");
    let json: Value = serde_json::from_str(&joined(&events, 2, "partial_json")).unwrap();
    assert_eq!(json, input);
}

#[test]
fn a_text_has_several_deltas_and_obeys_their_size() {
    let long = "word ".repeat(1000);
    let answer = once(Script::new().answer(text(&long)), &hello());
    let deltas = of(&answer.events(), "content_block_delta").len();
    assert_eq!((deltas, answer.said()), (8, long));
    let answer = once(Script::new().answer(text("äöü").delta(1)), &hello());
    let deltas: Vec<Value> = of(&answer.events(), "content_block_delta")
        .iter()
        .map(|data| data["delta"]["text"].clone())
        .collect();
    assert_eq!(deltas, ["ä", "ö", "ü"]);
}

#[test]
fn stop_reasons_follow_the_content_unless_given() {
    let table: Vec<(Reply, Value)> = vec![
        (text("a"), json!("end_turn")),
        (calls([("Bash", json!({}))]), json!("tool_use")),
        (text("a").stop("tool_use"), json!("tool_use")),
        (calls([("Bash", json!({}))]).stop("end_turn"), json!("end_turn")),
        (text("a").stop("max_tokens"), json!("max_tokens")),
        (text("a").stop("pause_turn"), json!("pause_turn")),
        (text("a").stop("model_context_window_exceeded"), json!("model_context_window_exceeded")),
        (text("a").stop("quite_new"), json!("quite_new")),
        (text("a").stop_null(), Value::Null),
    ];
    for (reply, wanted) in table {
        let script = Script::new().answer(reply).times(2);
        let server = serve(script);
        let mut client = Client::to(&server);
        let events = client.ask(&hello()).events();
        assert_eq!(of(&events, "message_delta")[0]["delta"]["stop_reason"], wanted);
        assert_eq!(client.ask(&plain(hello())).json()["stop_reason"], wanted);
    }
}

#[test]
fn a_refusal_carries_its_details() {
    let reply = text("no").stop("refusal").stop_details(json!({"category": "test"}));
    let server = serve(Script::new().answer(reply).times(2));
    let mut client = Client::to(&server);
    let events = client.ask(&hello()).events();
    assert_eq!(of(&events, "message_delta")[0]["delta"]["stop_details"]["category"], "test");
    assert_eq!(client.ask(&plain(hello())).json()["stop_details"]["category"], "test");
}

#[test]
fn a_plain_request_gets_the_same_answer_as_one_message() {
    let reply = think("Hm.").say("Hi").call("Bash", json!({"command": "ls"}));
    let answer = once(Script::new().answer(reply), &plain(hello()));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    assert_eq!(json["id"], "msg_000000000001");
    assert_eq!(json["model"], "test-model");
    assert_eq!(json["stop_reason"], "tool_use");
    let kinds: Vec<&Value> =
        json["content"].as_array().unwrap().iter().map(|b| &b["type"]).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(json["content"][2]["input"], json!({"command": "ls"}));
}

#[test]
fn usage_starts_with_one_and_ends_with_the_whole() {
    let events = once(Script::new().answer(text("x".repeat(400))), &hello()).events();
    let start = &of(&events, "message_start")[0]["message"]["usage"];
    let end = &of(&events, "message_delta")[0]["usage"];
    assert_eq!((&start["output_tokens"], &end["output_tokens"]), (&json!(1), &json!(100)));
    assert_eq!(start["input_tokens"], end["input_tokens"]);
    let numbers = UsageNumbers {
        input_tokens: Some(175_000),
        output_tokens: Some(7),
        ..UsageNumbers::default()
    };
    let events = once(Script::new().answer(text("x").usage(numbers)), &hello()).events();
    assert_eq!(of(&events, "message_start")[0]["message"]["usage"]["input_tokens"], 175_000);
    assert_eq!(of(&events, "message_delta")[0]["usage"]["output_tokens"], 7);
}

#[test]
fn broken_input_and_equal_ids_go_out_as_written() {
    let reply = Reply::default()
        .call_as("same", "Bash", json!({}))
        .call_as("same", "Bash", json!({}))
        .call_raw("Bash", r#"{"comm"#)
        .call("", json!({}));
    let server = serve(Script::new().answer(reply).times(2));
    let mut client = Client::to(&server);
    let events = client.ask(&hello()).events();
    let ids: Vec<_> = of(&events, "content_block_start")
        .iter()
        .map(|data| data["content_block"]["id"].clone())
        .collect();
    assert_eq!(ids[..2], ["same", "same"]);
    assert_eq!(joined(&events, 2, "partial_json"), r#"{"comm"#);
    let whole = client.ask(&plain(hello())).json();
    assert_eq!(whole["content"][2]["input"], json!({}), "a whole message always has an object");
}

#[test]
fn five_hundred_calls_have_five_hundred_ids() {
    let reply = calls((0..500).map(|at| ("Bash", json!({"command": at.to_string()}))));
    let events = once(Script::new().answer(reply), &hello()).events();
    let mut ids: Vec<String> = of(&events, "content_block_start")
        .iter()
        .map(|data| data["content_block"]["id"].as_str().unwrap().to_owned())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 500);
}

#[test]
fn ids_pass_over_those_of_the_conversation() {
    let history = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_000000000001", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_000000000001", "content": "ok"}]},
    ]);
    let events =
        once(Script::new().answer(calls([("Bash", json!({}))])), &asking(history)).events();
    let start = of(&events, "content_block_start")[0];
    assert_eq!(start["content_block"]["id"], "toolu_000000000002");
}

#[test]
fn free_events_go_out_as_given() {
    let parts = [
        Part::usual("message_start"),
        Part::event("content_block_stop", json!({"index": 0})),
        Part::event("brand_new", json!({"type": "other", "x": 1})),
        Part::event("content_block_delta", json!({"index": 9, "delta": {"type": "new_delta"}})),
        Part::Comment("still here".into()),
        Part::raw("event: x\ndata: {broken\n\n"),
        Part::Block {
            block: json!({"type": "new_block", "y": 2}),
            deltas: vec![json!({"type": "d"})],
        },
        Part::usual("message_stop"),
    ];
    let answer = once(Script::new().answer(sse(parts)), &hello());
    let names = answer.names();
    assert_eq!(
        names,
        [
            "message_start",
            "content_block_stop",
            "brand_new",
            "content_block_delta",
            "x",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_stop"
        ]
    );
    let events = answer.events();
    assert_eq!(events[2].1, json!({"type": "other", "x": 1}), "a given type stays");
    assert_eq!(events[4].1, json!("{broken"));
    assert_eq!(events[5].1["content_block"], json!({"type": "new_block", "y": 2}));
    assert!(answer.text().contains("\n: still here\n\n"));
}

#[test]
fn a_flood_is_as_long_as_asked_and_one_event() {
    let bytes = 3_000_000;
    let flood = Part::Flood { bytes, kind: FloodKind::Text };
    let answer = once(Script::new().answer(Reply::default().part(flood)), &hello());
    assert_eq!(answer.end, End::Complete);
    assert_eq!(of(&answer.events(), "content_block_delta").len(), 1);
    assert_eq!(answer.said().len() as u64, bytes);
    let line = Part::Flood { bytes, kind: FloodKind::Line };
    let answer = once(Script::new().answer(sse([line])), &hello());
    assert_eq!(answer.body.len() as u64, bytes + 6);
    assert!(!answer.body.contains(&b'\n'));
}

#[test]
fn errors_have_their_usual_words_or_the_given_ones() {
    let table = [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (408, "timeout_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ];
    for (code, kind) in table {
        let answer = once(Script::new().status(code), &hello());
        assert_eq!((answer.status, answer.error().0.as_str()), (code, kind));
        assert_eq!(answer.json()["request_id"], "req_000000000001");
    }
    let reply = status(429).error("my_error", "slow down").header("retry-after", "2");
    let answer = once(Script::new().answer(reply), &hello());
    assert_eq!(answer.error(), ("my_error".into(), "slow down".into()));
    assert_eq!(answer.header("retry-after"), Some("2"));
}

#[test]
fn other_bodies_come_as_they_are() {
    let html = Reply::http(200, "text/html", "<html>maintenance</html>");
    let answer = once(Script::new().answer(html), &hello());
    assert_eq!(answer.header("content-type"), Some("text/html"));
    assert_eq!(answer.text(), "<html>maintenance</html>");
    let none = once(Script::new().answer(Reply::http(204, "", "")), &hello());
    assert_eq!((none.status, none.header("content-length")), (204, None));
    let empty = once(Script::new().answer(Reply::http(200, "text/event-stream", "")), &hello());
    assert_eq!((empty.status, empty.body.len(), empty.end), (200, 0, End::Complete));
}

pub fn of<'a>(events: &'a [(String, Value)], wanted: &str) -> Vec<&'a Value> {
    events.iter().filter(|(name, _)| name == wanted).map(|(_, data)| data).collect()
}

fn joined(events: &[(String, Value)], index: u64, field: &str) -> String {
    of(events, "content_block_delta")
        .into_iter()
        .filter(|data| data["index"] == index)
        .filter_map(|data| data["delta"][field].as_str())
        .collect()
}
