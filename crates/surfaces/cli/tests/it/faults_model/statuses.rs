//! What the API may answer in place of an answer.

use super::{Row, Told};
use crate::support::World;
use ostler_model_server::{Match, ModelServer, Reply, Script, calls, redirect, status, text};

fn forever(reply: Reply) -> Row {
    Row::new(Script::new().answer(reply).forever())
}

/// Two repeats are allowed; each wait is twice the one before, and chance adds at most a quarter.
fn backed_off(waits: &[u64]) {
    assert_eq!(waits.len(), 2);
    assert!((5..=7).contains(&waits[0]) && (10..=13).contains(&waits[1]), "{waits:?}");
}

#[test]
fn a01_invalid_request() {
    let told = forever(status(400).error("invalid_request_error", "messages: too odd"))
        .fails("model_error");
    told.asked(1).says(&["400", "messages: too odd", "127.0.0.1"]);
    assert_eq!(told.ran.result()["api_error_status"], 400);
}

#[test]
fn a02_credential_refused() {
    for (code, kind) in [(401, "authentication_error"), (403, "permission_error")] {
        let told = forever(status(code).error(kind, "bad key: test-key")).fails("model_error");
        told.asked(1).says(&[
            &code.to_string(),
            "bad key",
            "ANTHROPIC_API_KEY",
            "Check the credential",
        ]);
    }
    let bearer =
        forever(status(401)).env("ANTHROPIC_API_KEY", "").env("ANTHROPIC_AUTH_TOKEN", "test-key-2");
    bearer.fails("model_error").asked(1).says(&["ANTHROPIC_AUTH_TOKEN"]);
}

#[test]
fn a03_model_unknown() {
    let told = forever(status(404).error("not_found_error", "no such model")).fails("model_error");
    told.asked(1).says(&["404", "`scripted`", "no such model", "--model"]);
}

#[test]
fn a04_timeout_and_conflict() {
    for code in [408, 409] {
        let told = forever(status(code)).fails("model_error");
        told.asked(3).says(&[&code.to_string(), "gave up after 3 attempts"]);
        backed_off(&told.waits());
        let once = Row::new(Script::new().status(code).answer(text("ok"))).survives();
        once.asked(2).answered("ok");
    }
}

/// A summary once, and not again when that was not enough; at the very beginning there is nothing to summarize.
#[test]
fn a05_request_too_large() {
    summed_up_at_most_once(&status(413), "413");
    forever(status(413)).fails("prompt_too_long").asked(1).went(&[]).says(&["413", "does not fit"]);
}

#[test]
fn a06_unprocessable() {
    let told = forever(status(422).error("invalid_request_error", "cannot be processed"))
        .fails("model_error");
    told.asked(1).says(&["422", "cannot be processed"]);
}

#[test]
fn a07_rate_limit_with_a_wait() {
    let row =
        Row::new(Script::new().answer(status(429).header("retry-after", "2")).answer(text("ok")));
    let told = row.survives();
    told.asked(2).answered("ok");
    assert_eq!(told.waits(), [2_000], "the wait is shown to programs");
    let arrived: Vec<_> =
        told.world.server.requests().iter().map(|request| request.arrived).collect();
    assert!(arrived[1].duration_since(arrived[0]).as_millis() >= 2_000);

    let world = World::new(row.script.clone());
    let ran = crate::support::finish(row.command(&world, &super::TEXT).spawn().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok\n"));
    assert!(
        ran.stderr.contains("429") && ran.stderr.contains("retrying in 2.0 s"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a09_server_errors() {
    for code in [500, 502, 503, 504] {
        let page = Reply::http(
            code,
            "text/html",
            "<html><title>Gateway</title><body>secrets</body></html>",
        );
        let told = forever(page).fails("model_error");
        told.asked(3).says(&[
            &code.to_string(),
            "a web page titled \"Gateway\"",
            "gave up after 3 attempts",
        ]);
        backed_off(&told.waits());
    }
    let twice = Row::new(Script::new().status(500).times(2).answer(text("ok"))).survives();
    twice.asked(3).answered("ok");
}

#[test]
fn a10_overloaded() {
    let told = forever(status(529)).fails("model_error");
    told.asked(3).went(&[]).says(&["529", "Wait a while"]);
    backed_off(&told.waits());
    let primary_is_down =
        Script::new().status(529).forever().when(Match::model("scripted")).answer(text("ok"));
    let fallen_back = Row::new(primary_is_down).args(&["--fallback-model", "spare"]).survives();
    fallen_back.asked(4).went(&["model_fallback"]).answered("ok");
    let models: Vec<String> =
        fallen_back.world.server.requests().iter().map(|r| r.model().to_owned()).collect();
    assert_eq!(models, ["scripted", "scripted", "scripted", "spare"]);
}

#[test]
fn a11_redirect_to_another_host() {
    let other =
        ModelServer::start(Script::new().answer(text("give me your key")).forever()).unwrap();
    for code in [301, 302, 307, 308] {
        let to = format!("{}/v1/messages", other.url().replace("127.0.0.1", "localhost"));
        let told = forever(redirect(code, to)).fails("model_error");
        told.asked(1).says(&[
            &code.to_string(),
            "redirect to localhost",
            "not followed",
            "base URL",
        ]);
    }
    assert_eq!(other.traffic().len(), 0, "nothing was sent there, least of all a key");
}

#[test]
fn a13_an_error_object_with_status_200() {
    let object = |kind: &str| {
        let body =
            format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"so it is"}}}}"#);
        Reply::http(200, "application/json", body)
    };
    let told = forever(object("invalid_request_error")).fails("model_error");
    told.asked(1).says(&["so it is", "instead of an event stream"]);
    let told = forever(object("overloaded_error")).fails("model_error");
    told.asked(3).says(&["so it is", "gave up after 3 attempts"]);
}

#[test]
fn a14_nothing_at_all() {
    let empty = |code| Reply::http(code, "text/event-stream", "");
    for reply in [Reply::http(204, "", ""), empty(200), Reply::http(200, "application/json", "")] {
        let told = forever(reply.clone()).fails("model_error");
        told.asked(3).says(&["gave up after 3 attempts"]);
        Row::new(Script::new().answer(reply).answer(text("ok"))).survives().asked(2).answered("ok");
    }
}

/// As with A05.
#[test]
fn a40_prompt_too_long() {
    summed_up_at_most_once(&too_long(), "prompt is too long: 210000 tokens > 200000 maximum");
    let told = forever(too_long()).fails("prompt_too_long");
    told.asked(1)
        .went(&[])
        .says(&["prompt is too long: 210000 tokens > 200000 maximum", "larger window"]);
}

/// After some work the provider refuses, for a while or forever: requests and summaries are counted.
fn summed_up_at_most_once(refusal: &Reply, words: &str) {
    let worked = ["next_turn"; 4];
    let summed = [worked.as_slice(), &["reactive_compact_retry"]].concat();
    // Refused once: four calls, the refusal, a summary, the answer.
    let told = Row::new(working().answer(refusal.clone()).answer(text("ok")).forever()).survives();
    told.asked(7).answered("ok").went(&summed);
    assert_eq!(boundaries(&told), 1);
    // All but the summary is refused.
    let summary = Match::last_user("is about to be replaced by a summary that you write now");
    let script = working().answer(text("so far")).forever().when(summary);
    let told = Row::new(script.answer(refusal.clone()).forever()).fails("prompt_too_long");
    told.asked(7).went(&summed).says(&[words]);
    assert_eq!(boundaries(&told), 1);
    // The summary as well: it is made without a model.
    let told = Row::new(working().answer(refusal.clone()).forever()).fails("prompt_too_long");
    told.asked(7).went(&summed).says(&[words]);
    assert_eq!(boundaries(&told), 1);
}

fn boundaries(told: &Told) -> usize {
    let frames = told.ran.frames();
    frames.iter().filter(|frame| frame["subtype"] == "compact_boundary").count()
}

fn too_long() -> Reply {
    let words = "prompt is too long: 210000 tokens > 200000 maximum";
    status(400).error("invalid_request_error", words)
}

/// Some calls with output.
fn working() -> Script {
    let call = |n: u32| {
        let command = format!("echo {n}; seq 1 400");
        calls([("Bash", serde_json::json!({ "command": command }))])
    };
    (0..4).fold(Script::new(), |script, n| script.answer(call(n)))
}
