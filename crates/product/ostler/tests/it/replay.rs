//! The requests of a session asked again of another server, by a client with a fault: what would it read from the cache?

use ostler_model_server::{Bill, ModelServer, Recorded, Script, text};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// `change` makes of each request, by its number, what the faulty client would have sent.
pub fn asked_again(requests: &[Arc<Recorded>], change: impl Fn(usize, &mut Value)) -> Bill {
    let script = Script::new().answer(text("ok")).forever();
    let server = ModelServer::start(script.rules(|rules| rules.signatures = false)).unwrap();
    for (n, request) in requests.iter().enumerate() {
        let mut body = request.json().clone();
        change(n, &mut body);
        ask(&server, &body.to_string());
    }
    assert_eq!(server.rejected(), Vec::<String>::new());
    server.bill()
}

fn ask(server: &ModelServer, body: &str) {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: test\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Marks the system prompt and nothing else.
pub fn only_system_marked(_: usize, request: &mut Value) {
    unmark(&mut request["messages"]);
}

/// Marks the newest block only.
pub fn only_newest_marked(_: usize, request: &mut Value) {
    let newest = |request: &mut Value| -> Option<Value> {
        let content = request["messages"].as_array_mut()?.last_mut()?.get_mut("content")?;
        content.as_array_mut()?.last_mut()?.as_object_mut()?.remove("cache_control")
    };
    let mark = newest(request);
    unmark(&mut request["messages"]);
    if let Some(mark) = mark {
        let last = request["messages"].as_array_mut().and_then(|all| all.last_mut()).unwrap();
        last["content"].as_array_mut().and_then(|all| all.last_mut()).unwrap()["cache_control"] =
            mark;
    }
}

/// Tells the time in the system prompt, so that no request begins as the one before.
pub fn with_a_clock(n: usize, request: &mut Value) {
    let clock = json!({ "type": "text", "text": format!("It is {n} o'clock.") });
    request["system"].as_array_mut().unwrap().insert(0, clock);
}

fn unmark(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(unmark),
        Value::Object(fields) => {
            fields.remove("cache_control");
            if let Some(content) = fields.get_mut("content") {
                unmark(content);
            }
        }
        _ => {}
    }
}
