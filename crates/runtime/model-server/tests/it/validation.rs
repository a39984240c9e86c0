//! Every rule of the API, with the exact words of its refusal.

mod content;
mod pairs;
mod request;

use ostler_model_server::{RequestVerdict, Script, ServerRules, text};
use serde_json::{Value, json};

use crate::client::{Client, asking, serve};

fn check(table: Vec<(Value, &str)>) {
    check_with(table, |_| {});
}

/// Each request must be refused with exactly that message, or accepted if it is empty.
fn check_with(table: Vec<(Value, &str)>, rules: fn(&mut ServerRules)) {
    let server = serve(Script::new().answer(text("ok")).forever().rules(rules));
    let mut client = Client::to(&server);
    for (body, wanted) in table {
        let answer = client.ask(&body);
        if wanted.is_empty() {
            assert_eq!(answer.status, 200, "{body}\n{}", answer.text());
            continue;
        }
        assert_eq!(answer.status, 400, "{body} should be refused: {wanted}");
        let (kind, message) = answer.error();
        assert_eq!((kind.as_str(), message.as_str()), ("invalid_request_error", wanted), "{body}");
        assert!(answer.json()["request_id"].as_str().unwrap().starts_with("req_"));
        assert_eq!(server.rejected().last().unwrap(), wanted);
        let refused = RequestVerdict::Refused { status: 400, message };
        assert_eq!(server.requests().last().unwrap().verdict, refused);
    }
}

fn without(mut body: Value, key: &str) -> Value {
    body.as_object_mut().unwrap().remove(key);
    body
}

fn content(role: &str, content: Value) -> Value {
    asking(json!([{"role": "user", "content": "go"}, {"role": role, "content": content}]))
}

fn user(content: Value) -> Value {
    asking(json!([{"role": "user", "content": content}]))
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

fn turns(assistant: Value, user: Value) -> Value {
    asking(json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": assistant},
        {"role": "user", "content": user},
    ]))
}
