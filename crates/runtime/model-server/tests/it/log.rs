//! What a follower of the server is told about each request.

use ostler_model_server::{LogEntry, ModelServer, Script, ServedOutcome, after, status, text};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::client::{Client, hello, serve, with};

fn saying(text: &str) -> Value {
    with(hello(), "messages", json!([{"role": "user", "content": text}]))
}

fn entries(server: &ModelServer, count: usize) -> Vec<Arc<LogEntry>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    (0..count).map(|n| runtime.block_on(server.log_entry(n))).collect()
}

fn until_idle(server: &ModelServer) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(runtime.block_on(server.idle(std::time::Duration::from_secs(20))));
}

#[test]
fn every_request_is_told_with_what_became_of_it() {
    let cut = text("cut off").cut(after("request").close());
    let server = serve(
        Script::new().answer(text("one")).answer(status(529)).answer(text("two")).answer(cut),
    );
    server.follow();
    let ask = |body: &Value| Client::to(&server).ask(body);
    ask(&saying("first"));
    ask(&saying("second"));
    let longer = json!([
        {"role": "user", "content": "first"}, {"role": "assistant", "content": "one"},
        {"role": "user", "content": "more"},
    ]);
    ask(&with(hello(), "messages", longer));
    ask(&saying("second"));
    ask(&with(hello(), "nonsense", json!(1)));
    let mut wrong = Client::to(&server);
    wrong.write("this is no request\r\n\r\n");
    wrong.read();
    let told = entries(&server, 6);
    let seen: Vec<_> = told
        .iter()
        .map(|entry| (entry.status, entry.session, entry.refusal.is_some(), entry.row.is_some()))
        .collect();
    assert_eq!(
        seen,
        [
            (Some(200), Some(1), false, true),
            (Some(529), Some(2), false, false),
            (Some(200), Some(1), false, true),
            // Nothing was answered, and nothing is charged.
            (None, Some(2), false, false),
            (Some(400), Some(3), true, false),
            (Some(400), None, true, false),
        ]
    );
    let outcomes: Vec<_> = told.iter().map(|entry| entry.outcome).collect();
    let (delivered, broken) = (Some(ServedOutcome::Delivered), Some(ServedOutcome::Broken));
    assert_eq!(outcomes, [delivered, delivered, delivered, broken, delivered, None]);
    assert!(told[4].refusal.as_ref().unwrap().contains("nonsense"));
    let rows: Vec<_> = told.iter().filter_map(|entry| entry.row.clone()).collect();
    assert_eq!(rows, server.bill().rows().cloned().collect::<Vec<_>>(), "the bill's own rows");
    assert_eq!(server.logged(6), None);
    until_idle(&server);
}

/// Nothing is kept for a reader that nobody announced.
#[test]
fn without_a_follower_nothing_is_logged() {
    let server = serve(Script::new().answer(text("one")).forever());
    Client::to(&server).ask(&hello());
    until_idle(&server);
    assert_eq!(server.logged(0), None);
    server.follow();
    Client::to(&server).ask(&hello());
    assert_eq!(entries(&server, 1)[0].number, Some(1));
}
