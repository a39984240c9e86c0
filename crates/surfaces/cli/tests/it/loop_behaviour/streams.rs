//! Answers that break off, in every way a connection can.

use super::row::{Requests, Row};
use crate::support::{Ran, World};
use ostler_model_server::{Cut, Match, Part, Reply, Script, after, calls, text, think};
use serde_json::json;
use std::time::Duration;

const STREAM: &str = "Retried as a stream: an answer that is not streamed cannot be shown or stopped while it is written, and times out if it is long.";
const WHOLE: &str = "An answer without its end is incomplete. It has not changed anything yet, so it is dropped and requested again.";

pub fn rows() -> Vec<Row> {
    [early(), after_a_block(), ended(), odd_bytes(), error_events(), silent()]
        .into_iter()
        .flatten()
        .collect()
}

/// A call that leaves a trace each time it runs.
fn call() -> Reply {
    calls([("Bash", json!({"command": "echo x >> effects.txt"}))])
}

fn cut(reply: Reply, cut: Cut) -> Script {
    Script::new().answer(reply.cut(cut)).answer(text("done"))
}

fn streamed(world: &World, _: &Ran) -> String {
    let again = world.server.requests().iter().skip(1).all(|request| request.streams());
    if again { "as a stream".into() } else { "without a stream".into() }
}

fn traces(world: &World, _: &Ran) -> String {
    format!("the broken answer's call has run {}×", world.read("effects.txt").lines().count())
}

fn early() -> Vec<Row> {
    let plain = |name, says, script| {
        Row::new(name, says, script).look(streamed).claude(2, "without a stream", 0).because(STREAM)
    };
    let started = || after("message_start").reset();
    vec![
        Row::new(
            "drop_nohdr_x1",
            "reset before the headers, then text",
            cut(text("a"), after("request").reset()),
        )
        .look(streamed)
        .claude(2, "as a stream", 0),
        Row::new(
            "drop_forever",
            "reset before the headers, always; 2 retries allowed",
            Script::new().answer(text("a").cut(after("request").reset())).forever(),
        )
        .look(streamed)
        .claude(3, "as a stream", 1),
        plain(
            "drop_after_start",
            "reset after `message_start`, then text",
            cut(text("a"), started()),
        ),
        plain(
            "drop_after_block_start",
            "reset after `content_block_start`, then text",
            cut(text("a"), after("content_block_start").reset()),
        ),
        plain(
            "fin_mid_text",
            "closed in the middle of a text, then text",
            cut(text("one two three"), after("content_block_delta").nth(2).close()),
        ),
        plain(
            "drop_in_think",
            "reset in the middle of thinking, then text",
            cut(think("one two three"), after("content_block_delta").nth(2).reset()),
        ),
        plain(
            "drop_in_tool_only",
            "reset in the middle of a call, then text",
            cut(call(), after("content_block_delta").nth(2).reset()),
        ),
        Row::new(
            "partial_err",
            "reset in the middle of a text that is shown as it comes, then text",
            cut(text("one two three"), after("content_block_delta").nth(2).reset()),
        )
        .args(&["--include-partial-messages"])
        .look(|_, ran| {
            if ran.stdout.contains("answer_dropped") {
                "what was shown is withdrawn".into()
            } else {
                "what was shown stays".into()
            }
        })
        .claude(2, "what was shown stays", 0)
        .because("The reader is told which answer to discard."),
        Row::new(
            "ns_fail",
            "reset after `message_start`, then 500, always; 2 retries allowed",
            Script::new().answer(text("a").cut(started())).status(500).forever(),
        )
        .look(streamed)
        .claude(4, "without a stream", 1)
        .because(STREAM),
        Row::new(
            "nofallback",
            "reset after `message_start`, then text; the fallback without streaming is switched off",
            cut(text("a"), started()),
        )
        .claude(1, "", 1)
        .because("There is no such switch: a broken stream is always retried as a stream."),
        Row::new(
            "drop_after_think",
            "thinking, then reset in the text; then text",
            cut(think("hm").say("one two"), after("content_block_stop").reset()),
        )
        .look(streamed)
        .claude(2, "as a stream", 0),
    ]
}

fn after_a_block() -> Vec<Row> {
    let whole_call = || after("content_block_stop").nth(2).reset();
    vec![
        Row::new("drop_after_text", "a whole text, then reset; then text", cut(text("a"), after("content_block_stop").reset())).claude(1, "", 1).because(WHOLE),
        Row::new("drop_in_tool_json", "a whole text, then reset inside a call; then text", cut(text("a").call("Bash", json!({"command": "echo 1"})), after("content_block_start").nth(2).reset()))
            .claude(1, "", 1)
            .because(WHOLE),
        Row::new("drop_after_tool_block", "a text and a whole call, then reset; then text", cut(text("a").call("Bash", json!({"command": "echo x >> effects.txt"})), whole_call()))
            .look(traces)
            .claude(2, "the broken answer's call has run 1×", 0)
            .because("A call that changes something starts only when its answer is complete and recorded, so a broken answer leaves no trace."),
        Row::new("drop_after_tool_forever", "a whole call, then reset, always", Script::new().answer(call().cut(after("content_block_stop").reset())).forever())
            .look(traces)
            .claude(Requests::Endless, "", 0)
            .because("Every retry has a limit: after three more attempts, the turn ends with an error."),
    ]
}

fn ended() -> Vec<Row> {
    let text_and_call = || text("a").call("Bash", json!({"command": "echo x >> effects.txt"}));
    vec![
        Row::new(
            "eof_at_start",
            "an empty body, then text",
            cut(text("a"), after("headers").end()),
        )
        .look(streamed)
        .claude(2, "without a stream", 0)
        .because(STREAM),
        Row::new(
            "eof_after_text",
            "a text, then the body ends; then text",
            cut(text("a"), after("content_block_stop").end()),
        )
        .claude(1, "", 0)
        .because(WHOLE),
        Row::new(
            "eof_after_tool_stop",
            "a text and a call, then the body ends; then text",
            cut(text_and_call(), after("content_block_stop").nth(2).end()),
        )
        .look(traces)
        .claude(2, "the broken answer's call has run 1×", 0)
        .because(WHOLE),
        Row::new(
            "eof_no_msgstop",
            "everything except `message_stop`, then the body ends; then text",
            cut(text("a"), after("message_delta").end()),
        )
        .claude(1, "", 0)
        .because(WHOLE),
    ]
}

fn odd_bytes() -> Vec<Row> {
    let broken = text("one two").insert(
        after("content_block_delta"),
        Part::raw("event: content_block_delta\ndata: {oops\n\n"),
    );
    let odd_delta = Part::Block {
        block: json!({"type": "text", "text": ""}),
        deltas: vec![json!({"type": "odd_delta"}), json!({"type": "text_delta", "text": "a"})],
    };
    let ignored = Reply::default()
        .part(Part::event("brand_new", json!({"type": "brand_new"})))
        .part(Part::Comment("hi".into()))
        .part(Part::usual("ping"))
        .part(odd_delta);
    let block = Part::Block { block: json!({"type": "hologram", "pixels": 1}), deltas: vec![] };
    let page = Reply::http(200, "text/html", "<html><title>Login</title></html>");
    let object = Reply::http(200, "application/json", "{\"hello\": 1}");
    let plain = |name, says, script| {
        Row::new(name, says, script).look(streamed).claude(2, "without a stream", 0).because(STREAM)
    };
    vec![
        plain("bad_sse_json", "one event that is not JSON, then text", Script::new().answer(broken).answer(text("done"))),
        Row::new("unknown_event, unknown_delta, comment, ping", "text, with unknown events, unknown deltas, comments and pings in between", Script::new().answer(ignored)).claude(1, "", 0),
        Row::new("unknown_block", "a block of an unknown type and a text", Script::new().answer(text("a").part(block)))
            .look(|_, ran| if ran.stdout.contains("hologram") { "passed on".into() } else { "left out".into() })
            .claude(1, "passed on", 0)
            .because("A block of an unknown type cannot be sent back complete, so it does not become part of the conversation."),
        plain("html_200", "200 with a web page, then text", Script::new().answer(page).answer(text("done"))),
        plain("json_200_nonsse", "200 with a JSON object, then text", Script::new().answer(object).answer(text("done"))),
    ]
}

fn error_events() -> Vec<Row> {
    let first = || text("a").error_event(after("headers"), "overloaded_error", "busy");
    let at = |reply: Reply, point, nth, kind| {
        Script::new()
            .answer(reply.error_event(after(point).nth(nth), kind, "x"))
            .answer(text("done"))
    };
    let said = |world: &World, ran: &Ran| {
        let told = ran.frames().iter().any(|frame| frame["subtype"] == "api_retry");
        format!("{}, {}", streamed(world, ran), if told { "with a notice" } else { "silently" })
    };
    let plain = |name, says, script| {
        Row::new(name, says, script).look(streamed).claude(2, "without a stream", 0).because(STREAM)
    };
    let first_of_scripted =
        Script::new().answer(first()).forever().when(Match::model("scripted")).answer(text("done"));
    let text_and_call = text("a").call("Bash", json!({"command": "echo x >> effects.txt"}));
    vec![
        Row::new(
            "sse_err_ovl_first",
            "an `error` event as the first event, then text",
            Script::new().answer(first()).answer(text("done")),
        )
        .look(said)
        .claude(2, "as a stream, silently", 0)
        .because("Every wait is shown."),
        Row::new(
            "sse_ovl_forever",
            "an `error` event as the first event, always; 2 retries allowed",
            Script::new().answer(first()).forever(),
        )
        .look(streamed)
        .claude(4, "without a stream", 1)
        .because(STREAM),
        Row::new(
            "sse_ovl_fallback",
            "an `error` event as the first event; a fallback model",
            first_of_scripted,
        )
        .args(&["--fallback-model", "spare"])
        .claude(4, "", 0),
        plain(
            "sse_err_ovl_start",
            "`error` (overloaded) after `message_start`, then text",
            at(text("a"), "message_start", 1, "overloaded_error"),
        ),
        plain(
            "sse_err_api_mid",
            "`error` (api) in the middle of a text, then text",
            at(text("one two three"), "content_block_delta", 2, "api_error"),
        ),
        plain(
            "sse_err_inv",
            "`error` (invalid request) after `message_start`, then text",
            at(text("a"), "message_start", 1, "invalid_request_error"),
        ),
        Row::new(
            "sse_err_ovl_mid",
            "a whole text, then `error` (overloaded); then text",
            at(text("a"), "content_block_stop", 1, "overloaded_error"),
        )
        .claude(1, "", 1)
        .because(WHOLE),
        Row::new(
            "sse_err_after_tool",
            "a text and a whole call, then `error`; then text",
            at(text_and_call, "content_block_stop", 2, "overloaded_error"),
        )
        .look(traces)
        .claude(2, "the broken answer's call has run 1×", 0)
        .because(WHOLE),
    ]
}

fn silent() -> Vec<Row> {
    let pings = (0..8).fold(text("a"), |reply, _| {
        reply.pause(Duration::from_millis(250)).part(Part::usual("ping"))
    });
    let text_and_call = || text("a").call("Bash", json!({"command": "echo x >> effects.txt"}));
    vec![
        Row::new(
            "L_stall_default",
            "silence after `content_block_start`, then text",
            cut(text("a"), after("content_block_start").stall()),
        )
        .env("OSTLER_IDLE_TIMEOUT_MS", "300")
        .look(streamed)
        .claude(2, "without a stream", 0)
        .because("Times out after 90 s instead of about 298 s, and is retried as a stream."),
        Row::new(
            "L_stall_after_tool",
            "a text and a whole call, then silence; then text",
            cut(text_and_call(), after("content_block_stop").nth(2).stall()),
        )
        .env("OSTLER_IDLE_TIMEOUT_MS", "300")
        .look(traces)
        .claude(2, "the broken answer's call has run 1×", 0)
        .because(WHOLE),
        Row::new(
            "L_stall_pings",
            "a text, pings for longer than the idle timeout, a text",
            Script::new().answer(pings.say("b")),
        )
        .env("OSTLER_IDLE_TIMEOUT_MS", "1500")
        .claude(1, "", 0),
        Row::new(
            "L_hang_headers, hang_api_timeout",
            "no headers, then text",
            cut(text("a"), after("request").stall()),
        )
        .env("OSTLER_FIRST_BYTE_TIMEOUT_MS", "300")
        .look(streamed)
        .claude(2, "as a stream", 0),
        Row::new(
            "stall5_env",
            "silence for longer than a timeout the user has set, then text",
            cut(text("a"), after("content_block_delta").stall()),
        )
        .env("OSTLER_IDLE_TIMEOUT_MS", "300")
        .claude(1, "", 0)
        .because("A timeout that was set is respected, even below five minutes."),
    ]
}
