//! Why an answer ended, and answers with nothing in them.

use super::row::{Requests, Row, limits_asked};
use crate::support::{Ran, World};
use ostler_model_server::{Reply, Script, calls, text, think};
use serde_json::json;

const LARGER: &str = "An answer that was cut off is first requested once more with a limit of 64000 tokens instead of 8000; \
a low limit costs less and is nearly always enough, and one complete answer is better than several pieces. After that, the same as Claude Code.";

pub fn rows() -> Vec<Row> {
    [cut_off(), cut_calls(), other_reasons(), empty()].into_iter().flatten().collect()
}

fn call() -> Reply {
    calls([("Bash", json!({"command": "echo 1"}))])
}

fn cut_call() -> Reply {
    Reply::default().call_raw("Bash", "{\"comm")
}

fn cut_off() -> Vec<Row> {
    let cut = || text("part").stop("max_tokens");
    let twice_and_thrice = Script::new()
        .answer(cut())
        .times(2)
        .answer(call())
        .answer(cut())
        .times(3)
        .answer(text("done"));
    let full = || text("part").stop("model_context_window_exceeded");
    let full_call = call().stop("model_context_window_exceeded");
    vec![
        Row::new(
            "max_tokens_once",
            "text with stop `max_tokens`, then text",
            Script::new().answer(cut()).answer(text("rest")),
        )
        .look(|world, _| limits_asked(world))
        .claude(2, "max_tokens unchanged", 0)
        .because(LARGER),
        Row::new(
            "max_tokens_forever",
            "text with stop `max_tokens`, always",
            Script::new().answer(cut()).forever(),
        )
        .look(|world, _| limits_asked(world))
        .claude(4, "max_tokens unchanged", 1)
        .because(LARGER),
        Row::new("append_twice_maxtok", "2 × cut, a call, 3 × cut, text", twice_and_thrice)
            .look(|world, _| limits_asked(world))
            .claude(7, "max_tokens unchanged", 0)
            .because(LARGER),
        Row::new(
            "ctx_window_exceeded",
            "text with stop `model_context_window_exceeded`, then text",
            Script::new().answer(full()).answer(text("rest")),
        )
        .look(|world, _| limits_asked(world))
        .claude(2, "max_tokens unchanged", 0),
        Row::new(
            "ctx_window_exceeded_tool",
            "a call with the same stop reason, then text",
            Script::new().answer(full_call).answer(text("done")),
        )
        .claude(2, "", 0),
    ]
}

fn cut_calls() -> Vec<Row> {
    let stop = |reply: Reply| Script::new().answer(reply.stop("max_tokens"));
    let what_became = |world: &World, _: &Ran| match world.server.requests()[1].tool_results().len()
    {
        0 => "the answer is dropped and requested again".to_owned(),
        results => format!("results sent back: {results}"),
    };
    vec![
        Row::new("trunc_tool", "a call whose input is cut off, stop `max_tokens`; then text", stop(cut_call()).answer(text("done")))
            .look(what_became)
            .claude(2, "results sent back: 1", 0)
            .because(LARGER),
        Row::new("trunc_second_tool", "a whole call and a cut one, stop `max_tokens`; then text", stop(call().call_raw("Bash", "{\"comm")).answer(text("done")))
            .look(what_became)
            .claude(2, "results sent back: 2", 0)
            .because("The same. No call that changes something has run yet, so the whole answer can be dropped."),
        Row::new("trunc_tool_complete", "a whole call, stop `max_tokens`; then text", stop(call()).answer(text("done")))
            .look(what_became)
            .claude(2, "results sent back: 1", 0)
            .because("The same: what followed the call is missing and could have been another call."),
        Row::new("trunc_tool_forever", "a cut call, always", stop(cut_call()).forever())
            .claude(Requests::Endless, "", 0)
            .because("Every retry has a limit: each truncated call is requested twice, and the fourth in a row ends the turn with the real reason."),
    ]
}

fn other_reasons() -> Vec<Row> {
    let stop = |reason: &str| Script::new().answer(text("part").stop(reason));
    let warned = |_: &World, ran: &Ran| {
        let says = ran.frames().iter().any(|frame| frame["subtype"] == "informational");
        if says { "with a warning".to_owned() } else { "silently".to_owned() }
    };
    vec![
        Row::new("refusal", "text with stop `refusal`", stop("refusal")).claude(1, "", 1),
        Row::new(
            "refusal_empty",
            "nothing, with stop `refusal`",
            Script::new().answer(Reply::default().stop("refusal")),
        )
        .claude(1, "", 1),
        Row::new("refusal_fallback", "stop `refusal`, with a fallback model", stop("refusal"))
            .args(&["--fallback-model", "spare"])
            .claude(1, "", 1),
        Row::new(
            "pause_turn",
            "text with stop `pause_turn`, then text",
            stop("pause_turn").answer(text("rest")),
        )
        .claude(1, "", 0)
        .because("The provider paused and expects a request to continue. Ostler sends it, at most ten times."),
        Row::new("stop_sequence", "text with stop `stop_sequence`", stop("stop_sequence"))
            .look(warned)
            .claude(1, "silently", 0),
        Row::new("unknown_stop", "text with an unknown stop reason", stop("cosmic_rays"))
            .look(warned)
            .claude(1, "silently", 0)
            .because("An unknown stop reason is treated as the end, with a warning."),
        Row::new(
            "null_stop",
            "text without a stop reason",
            Script::new().answer(text("part").stop_null()),
        )
        .look(warned)
        .claude(1, "silently", 0)
        .because("The same."),
    ]
}

fn empty() -> Vec<Row> {
    let unchanged = |world: &World, _: &Ran| {
        let requests = world.server.requests();
        let bodies: Vec<_> = requests.iter().rev().take(2).map(|request| &request.body).collect();
        if bodies[0] == bodies[1] {
            "the same request again".to_owned()
        } else {
            "with a sentence added".to_owned()
        }
    };
    let nothing = || Reply::default();
    let why = "The identical request is sent again: it is cached, and no sentence of ours stays in the history.";
    vec![
        Row::new(
            "empty_content",
            "nothing, then text",
            Script::new().answer(nothing()).answer(text("done")),
        )
        .look(unchanged)
        .claude(2, "with a sentence added", 0)
        .because(why),
        Row::new(
            "empty_text",
            "an empty text, then text",
            Script::new().answer(text("")).answer(text("done")),
        )
        .look(unchanged)
        .claude(2, "with a sentence added", 0)
        .because(why),
        Row::new(
            "think_only",
            "thinking alone, then text",
            Script::new().answer(think("hm")).answer(text("done")),
        )
        .look(unchanged)
        .claude(2, "with a sentence added", 0)
        .because(why),
        Row::new(
            "empty_after_tool",
            "a call, nothing, text",
            Script::new().answer(call()).answer(nothing()).answer(text("done")),
        )
        .look(unchanged)
        .claude(3, "with a sentence added", 0)
        .because(why),
        Row::new("empty_forever", "nothing, always", Script::new().answer(nothing()).forever())
            .look(unchanged)
            .claude(2, "with a sentence added", 0)
            .because(why),
    ]
}
