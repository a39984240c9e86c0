//! Thinking that comes back must be ours, unchanged and in its place.

use ostler_model_server::{Part, Reply, Script, text, think};
use serde_json::{Value, json};

use crate::client::{Client, asking, hello, serve, with};

fn thinking(body: Value) -> Value {
    with(
        with(body, "thinking", json!({"type": "enabled", "budget_tokens": 2000})),
        "max_tokens",
        json!(4000),
    )
}

/// The content of an answer, as a faithful client sends it back.
fn content(client: &mut Client, body: &Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().unwrap().remove("stream");
    let answer = client.ask(&body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["content"].clone()
}

fn next(content: &Value) -> Value {
    let id = content.as_array().unwrap().iter().find_map(|block| block["id"].as_str()).unwrap();
    asking(json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]},
    ]))
}

fn deep() -> Reply {
    think("deep").part(Part::Redacted("hidden".into())).say("so").call("Bash", json!({}))
}

/// The refusal of the second request after `change` was applied to the answer of the first.
fn after(change: impl Fn(&mut Vec<Value>)) -> String {
    let server = serve(Script::new().answer(deep()).answer(text("end")));
    let mut client = Client::to(&server);
    let mut said = content(&mut client, &thinking(hello()));
    change(said.as_array_mut().unwrap());
    let answer = client.ask(&thinking(next(&said)));
    if answer.status == 200 { String::new() } else { answer.error().1 }
}

#[test]
fn unchanged_is_accepted() {
    assert_eq!(after(|_| {}), "");
}

#[test]
fn changes_are_refused() {
    let invalid = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let modified = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.";
    type Change = fn(&mut Vec<Value>);
    let table: Vec<(Change, String)> = vec![
        (|said| said[0]["thinking"] = json!("deeper"), invalid.into()),
        (|said| said[0]["signature"] = json!("scripted-0"), invalid.into()),
        (
            |said| said[1]["data"] = json!("other"),
            "messages.1.content.1: Invalid `data` in `redacted_thinking` block".into(),
        ),
        (
            |said| {
                said[0].as_object_mut().unwrap().remove("signature");
            },
            "messages.1.content.0.thinking.signature: Field required".into(),
        ),
        (
            |said| {
                said.remove(0);
            },
            modified.into(),
        ),
        (|said| said.swap(0, 1), modified.into()),
        (
            |said| {
                said.drain(..2);
            },
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).".into(),
        ),
        (
            |said| {
                let first = said.remove(0);
                said.insert(2, first);
            },
            modified.into(),
        ),
        (
            |said| {
                let text = said.remove(2);
                said.insert(0, text);
            },
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).".into(),
        ),
    ];
    for (at, (change, wanted)) in table.into_iter().enumerate() {
        assert_eq!(after(change), wanted, "case {at}");
    }
}

#[test]
fn stripping_is_fine_when_the_trajectory_is_closed_or_another_models() {
    let server = serve(Script::new().answer(deep()).forever());
    let mut client = Client::to(&server);
    let mut said = content(&mut client, &thinking(hello()));
    said.as_array_mut().unwrap().drain(..2);
    let open = thinking(next(&said));
    assert_eq!(client.ask(&open).status, 400);
    assert_eq!(client.ask(&with(open.clone(), "model", json!("other"))).status, 200);
    let mut closed = open;
    let more =
        json!([{"role": "assistant", "content": "done"}, {"role": "user", "content": "next"}]);
    closed["messages"].as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
    assert_eq!(client.ask(&closed).status, 200);
}

#[test]
fn disabled_thinking_counts_what_it_ignores() {
    let server = serve(Script::new().answer(deep()).times(2));
    let mut client = Client::to(&server);
    let said = content(&mut client, &thinking(hello()));
    assert_eq!(server.idle_thinking(), 0);
    assert_eq!(client.ask(&next(&said)).status, 200);
    assert_eq!(server.idle_thinking(), 2);
}

#[test]
fn an_answer_to_continue_does_not_end_in_thought() {
    let server = serve(Script::new().answer(think("only")).forever());
    let mut client = Client::to(&server);
    let said = content(&mut client, &thinking(hello()));
    let body =
        asking(json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": said}]));
    let wanted = "messages.1: The final block in an assistant message cannot be `thinking`.";
    assert_eq!(client.ask(&thinking(body)).error().1, wanted);
}

#[test]
fn a_new_server_knows_the_signatures_of_the_old_one() {
    let old = serve(Script::new().answer(think("deep").call("Bash", json!({}))));
    let said = content(&mut Client::to(&old), &thinking(hello()));
    drop(old);
    let new = serve(Script::new().answer(text("end")));
    assert_eq!(Client::to(&new).ask(&thinking(next(&said))).said(), "end");
}

#[test]
fn signatures_of_the_script_are_known_once_sent() {
    let own = Part::Thinking { text: "t".into(), signature: Some("mine".into()) };
    let reply = Reply::default().part(own).call("Bash", json!({}));
    let server = serve(Script::new().answer(reply).answer(text("end")).forever());
    let mut client = Client::to(&server);
    let history = |signature: &str| {
        json!([{"type": "thinking", "thinking": "t", "signature": signature},
               {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}])
    };
    assert_eq!(client.ask(&thinking(next(&history("mine")))).status, 400, "not said yet");
    let said = content(&mut client, &thinking(hello()));
    assert_eq!(said[0]["signature"], "mine");
    assert_eq!(client.ask(&thinking(next(&said))).said(), "end");
}

#[test]
fn switches() {
    let foreign = json!([{"type": "thinking", "thinking": "t", "signature": "s"},
                         {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}]);
    let server = serve(Script::new().answer(text("ok")).rules(|rules| rules.signatures = false));
    assert_eq!(Client::to(&server).ask(&thinking(next(&foreign))).status, 200);

    let script =
        Script::new().answer(deep()).forever().rules(|rules| rules.signatures_per_model = true);
    let server = serve(script);
    let mut client = Client::to(&server);
    let said = content(&mut client, &thinking(hello()));
    assert_eq!(client.ask(&thinking(next(&said))).status, 200);
    let elsewhere = with(thinking(next(&said)), "model", json!("other"));
    let wanted = "messages.1.content.0: Invalid `signature` in `thinking` block";
    assert_eq!(client.ask(&elsewhere).error().1, wanted);
}
