//! Which step answers: order, repetition, selection, expectation, computation, and the end.

use ostler_model_server::{Match, ModelServer, OnEnd, Script, after, calls, status, text};
use serde_json::{Value, json};

use crate::client::{Client, asking, hello, serve, with};

fn model(name: &str) -> Value {
    with(hello(), "model", json!(name))
}

#[test]
fn steps_repeat_and_end() {
    let script = Script::new().status(529).times(3).answer(text("at last"));
    let server = serve(script);
    let mut client = Client::to(&server);
    for _ in 0..3 {
        assert_eq!(client.ask(&hello()).status, 529);
    }
    assert_eq!(client.ask(&hello()).said(), "at last");
    let over = client.ask(&hello());
    assert_eq!(over.status, 400);
    assert_eq!(over.error().1, "the script has no step left for this request");
    assert_eq!(server.rejected(), ["the script has no step left for this request"]);
}

#[test]
fn the_end_may_repeat_or_speak() {
    let base = || Script::new().answer(text("one")).answer(text("two"));
    for (end, wanted) in [
        (OnEnd::RepeatLast, ["one", "two", "two", "two"]),
        (OnEnd::Text("fine".into()), ["one", "two", "fine", "fine"]),
    ] {
        let server = serve(base().on_end(end));
        let mut client = Client::to(&server);
        assert_eq!(wanted.map(|_| client.ask(&hello()).said()), wanted);
        assert!(server.rejected().is_empty());
    }
}

#[test]
fn a_fallback_model_is_answered_while_the_primary_fails_for_ever() {
    let script = Script::new()
        .status(529)
        .forever()
        .when(Match::model("primary"))
        .answer(text("I can help"))
        .answer(text("again"));
    let server = serve(script);
    let mut client = Client::to(&server);
    assert_eq!(client.ask(&model("primary")).status, 529);
    assert_eq!(client.ask(&model("spare")).said(), "I can help");
    assert_eq!(client.ask(&model("primary")).status, 529);
    assert_eq!(client.ask(&model("spare")).said(), "again");
    let steps: Vec<_> = server.requests().iter().map(|one| one.step).collect();
    assert_eq!(steps, [Some(0), Some(1), Some(0), Some(2)]);
}

#[test]
fn a_refused_request_uses_up_no_step() {
    let server = serve(Script::new().answer(text("hi")));
    let mut client = Client::to(&server);
    assert_eq!(client.ask(&with(hello(), "max_tokens", json!(0))).status, 400);
    assert_eq!(client.ask(&hello()).said(), "hi");
}

/// Conditions on the request below, and what is said of those that do not hold.
fn conditions() -> Vec<(Match, Option<&'static str>)> {
    vec![
        (Match::model("other"), Some("model is `test-model`, not `other`")),
        (Match::model("test-model"), None),
        (Match { stream: Some(false), ..Match::default() }, Some("stream is true")),
        (Match { messages: Some(3), ..Match::default() }, None),
        (Match { messages: Some(2), ..Match::default() }, Some("there are 3 messages, not 2")),
        (Match::last_user("and now"), None),
        (Match::last_user("exit"), Some("the last user message does not contain \"exit\"")),
        (Match::tool_result("exit 3"), None),
        (
            Match::tool_result("exit 4"),
            Some("no tool result of the last user message contains \"exit 4\""),
        ),
        (Match { tool_error: Some(true), ..Match::default() }, None),
        (
            Match { tool_error: Some(false), ..Match::default() },
            Some("a failed tool result is present: true"),
        ),
        (Match { tools: vec!["Bash".into()], ..Match::default() }, None),
        (
            Match { tools: vec!["Read".into()], ..Match::default() },
            Some("tool `Read` is not offered"),
        ),
        (Match::default().has("max_tokens").has("/messages/1/content"), None),
        (Match::default().has("thinking"), Some("field `thinking` is missing")),
        (Match::default().lacks("thinking"), None),
        (Match::default().lacks("/messages/2"), Some("field `/messages/2` is present")),
        (Match::default().equals("max_tokens", json!(1000)), None),
        (
            Match::default().equals("max_tokens", json!(9)),
            Some("field `max_tokens` is 1000, not 9"),
        ),
        (Match { contains: vec!["exit 3".into()], ..Match::default() }, None),
        (
            Match { contains: vec!["exit 4".into()], ..Match::default() },
            Some("the body does not contain \"exit 4\""),
        ),
        (Match { headers: [("X-Api-Key".into(), "sk-".into())].into(), ..Match::default() }, None),
        (
            Match { headers: [("x-app".into(), "cli".into())].into(), ..Match::default() },
            Some("header `x-app` does not contain \"cli\""),
        ),
    ]
}

#[test]
fn expectations_are_named_when_they_fail() {
    let results = asking(json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "is_error": true,
             "content": [{"type": "text", "text": "exit 3"}]},
            {"type": "text", "text": "and now?"}]},
    ]));
    let results =
        with(results, "tools", json!([{"name": "Bash", "input_schema": {"type": "object"}}]));
    for (expect, mismatch) in conditions() {
        let label = format!("{expect:?}");
        let server = serve(Script::new().answer(text("fine")).expect(expect.clone()));
        let answer = Client::to(&server).ask(&results);
        match mismatch {
            None => assert_eq!(answer.status, 200, "{label}: {:?}", server.rejected()),
            Some(what) => {
                let message = format!("step 1 does not match: {what}");
                assert_eq!((answer.status, answer.error().1), (400, message.clone()), "{label}");
                assert_eq!(server.rejected(), [message]);
            }
        }
        let server =
            serve(Script::new().answer(text("fits")).when(expect).answer(text("passed by")));
        let wanted = if mismatch.is_none() { "fits" } else { "passed by" };
        assert_eq!(Client::to(&server).ask(&results).said(), wanted, "when {label}");
    }
}

#[test]
fn code_may_answer() {
    let script = Script::new()
        .by(|request| {
            text(format!("{} messages for {}", request.messages().len(), request.model()))
        })
        .forever();
    let server = serve(script);
    let mut client = Client::to(&server);
    assert_eq!(client.ask(&hello()).said(), "1 messages for test-model");
    assert_eq!(client.ask(&model("x")).said(), "1 messages for x");
}

#[test]
fn code_that_fails_is_recorded() {
    let script = Script::new()
        .by(|_| panic!("expected by this test"))
        .by(|_| text("hi").cut(after("nothing").reset()))
        .answer(text("still serving"));
    let server = serve(script);
    let mut client = Client::to(&server);
    assert_eq!(client.ask(&hello()).status, 400);
    assert_eq!(client.ask(&hello()).status, 400);
    assert_eq!(client.ask(&hello()).said(), "still serving");
    assert_eq!(
        server.rejected(),
        [
            "the code that computes this reply panicked",
            "the computed reply cannot be sent: the reply has 0 events `nothing`, so there is no number 1"
        ]
    );
}

#[test]
fn words_before_any_step_are_a_mistake() {
    let error = ModelServer::start(Script::new().times(3).answer(text("x"))).err().unwrap();
    assert_eq!(error.to_string(), "script: `times` was used before any step");
    let error = ModelServer::start(Script::new().answer(text("x")).times(0)).err().unwrap();
    assert_eq!(error.to_string(), "script: step 1: `times` must be at least 1");
}

#[test]
fn the_model_of_the_script_is_the_one_that_answers() {
    let mut script = Script::new().answer(text("hi"));
    script.model = Some("scripted".into());
    let server = serve(script);
    let events = Client::to(&server).ask(&hello()).events();
    assert_eq!(events[0].1["message"]["model"], "scripted");
}

#[test]
fn a_small_conversation() {
    let script = Script::new()
        .answer(text("I will look.").call("Bash", json!({"command": "ls"})))
        .answer(text("There is one file."))
        .expect(Match::tool_result("main.rs"));
    let server = serve(script);
    let mut client = Client::to(&server);
    client.ask(&hello());
    let next = asking(json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "toolu_000000000001", "name": "Bash", "input": {"command": "ls"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_000000000001", "content": "main.rs"}]},
    ]));
    assert_eq!(client.ask(&next).said(), "There is one file.");
    assert_eq!(server.requests()[1].tool_results()[0]["content"], "main.rs");
    assert!(server.rejected().is_empty());
}

#[test]
fn headers_tell_the_client_what_to_do() {
    let reply = status(429).header("retry-after", "40").header("x-should-retry", "false");
    let server = serve(
        Script::new().answer(reply).answer(calls([("A", json!({}))]).header("connection", "close")),
    );
    let mut client = Client::to(&server);
    let answer = client.ask(&hello());
    assert_eq!(answer.header("retry-after"), Some("40"));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert_eq!(client.ask(&hello()).status, 200);
    assert_eq!(client.read().end, crate::client::End::Closed);
}
