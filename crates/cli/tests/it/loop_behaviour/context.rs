//! The window is full: estimated, or said by the provider.

use super::row::{Row, last_shape};
use crate::support::{Ran, World, finish};
use ostler_model_server::{Reply, Script, UsageNumbers, calls, status, text};
use serde_json::json;

const EXTRACT: &str = "A summary that does not come is made from the messages themselves: no conversation is lost because one request failed.";
const ONE_MORE: &str = "As before; the request that then is too long again ends the turn.";
const PROACTIVE: &str =
    "Room is made before the provider has to refuse: the window of the model is known.";
const TOO_SOON: &str = "The rule is the smaller of 92 % of the window and the window less 33000 tokens, so here 460000.";

pub fn rows() -> Vec<Row> {
    [refused(), full(), asked_for(), blocked()].into_iter().flatten().collect()
}

fn too_long() -> Reply {
    let words = "prompt is too long: 210000 tokens > 200000 maximum";
    status(400).error("invalid_request_error", words)
}

/// A call whose result is worth summing up, each another.
fn call(n: usize) -> Reply {
    calls([("Bash", json!({ "command": format!("echo {n}; seq 1 400") }))])
}

/// A call that is long itself: only a summary helps against it.
fn wordy(n: usize) -> Reply {
    let command = format!("echo {n} # {}", "for this and that reason ".repeat(40));
    calls([("Bash", json!({ "command": command }))])
}

fn wordily(exchanges: usize) -> Script {
    (0..exchanges).fold(Script::new(), |script, n| script.answer(wordy(n)))
}

fn after(exchanges: usize) -> Script {
    (0..exchanges).fold(Script::new(), |script, n| script.answer(call(n)))
}

fn reporting(reply: Reply, tokens: u64) -> Reply {
    let usage = UsageNumbers {
        input_tokens: Some(tokens),
        cache_read_input_tokens: Some(0),
        cache_creation_input_tokens: Some(0),
        output_tokens: None,
    };
    reply.usage(usage)
}

/// Three calls, the last of which fills the window; then whatever is asked for is answered by text.
fn filling(tokens: u64) -> Script {
    after(2).answer(reporting(call(2), tokens)).answer(text("done")).forever()
}

fn summed_up(_: &World, ran: &Ran) -> String {
    let frames = ran.frames();
    let count = frames.iter().filter(|frame| frame["subtype"] == "compact_boundary").count();
    match count {
        0 => "not summed up".to_owned(),
        1 => "summed up".to_owned(),
        n => format!("summed up {n} times"),
    }
}

fn refused() -> Vec<Row> {
    vec![
        Row::new(
            "ptl_first",
            "`prompt is too long`, always",
            Script::new().answer(too_long()).forever(),
        )
        .claude(1, "", 1),
        Row::new(
            "ptl_after_tools",
            "2 calls, too long, a summary, text",
            after(2).answer(too_long()).answer(text("so far")).answer(text("done")),
        )
        .look(|world, ran| format!("{}; goes on as {}", summed_up(world, ran), last_shape(world)))
        .claude(5, "summed up; goes on as `u:[summary,go] a:[U] u:[res]`", 0),
        Row::new(
            "ptl_after_tools_forever",
            "2 calls, then too long, always",
            after(2).answer(too_long()).forever(),
        )
        .look(summed_up)
        .claude(4, "not summed up", 1)
        .because(ONE_MORE),
        Row::new(
            "reactive_many",
            "6 calls, too long, a summary, text",
            wordily(6).answer(too_long()).answer(text("so far")).answer(text("done")),
        )
        .look(summed_up)
        .claude(9, "summed up", 0),
        Row::new(
            "reactive_many_results",
            "6 calls with long results, too long, text",
            after(6).answer(too_long()).answer(text("done")).forever(),
        )
        .look(summed_up)
        .claude(9, "summed up", 0),
        Row::new(
            "reactive_ptl_thrice",
            "10 calls, too long; the summary is too long twice; then all is answered",
            wordily(10).answer(too_long()).times(3).answer(text("so far")).forever(),
        )
        .look(summed_up)
        .claude(15, "summed up", 0)
        .because(
            "Claude Code sums up less; here all that must go is summed up, in pieces that fit.",
        ),
        Row::new(
            "reactive_twice",
            "6 calls, too long, a summary, too long",
            wordily(6).answer(too_long()).answer(text("so far")).answer(too_long()).forever(),
        )
        .look(summed_up)
        .claude(9, "summed up", 1),
        Row::new(
            "reactive_summary_tool",
            "4 calls, too long, a call in place of the summary, text",
            after(4).answer(too_long()).answer(call(9)).answer(text("done")),
        )
        .look(summed_up)
        .claude(6, "not summed up", 1)
        .because(EXTRACT),
    ]
}

fn full() -> Vec<Row> {
    let window =
        |row: Row, tokens: &'static str| row.env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", tokens);
    let row = |name, says, tokens| Row::new(name, says, filling(tokens)).look(summed_up);
    let thrash =
        (0..20).fold(Script::new(), |script, n| script.answer(reporting(call(n), 175_000)));
    vec![
        row("ac_150k", "150k tokens reported, no window configured", 150_000).claude(
            4,
            "not summed up",
            0,
        ),
        row("ac_180k", "180k tokens reported, no window configured", 180_000)
            .claude(4, "not summed up", 0)
            .because(PROACTIVE),
        window(row("acw200_160k", "160k tokens reported, window 200k", 160_000), "200000").claude(
            4,
            "not summed up",
            0,
        ),
        window(row("acw200_175k", "175k tokens reported, window 200k", 175_000), "200000").claude(
            5,
            "summed up",
            0,
        ),
        window(row("acw100_60k", "60k tokens reported, window 100k", 60_000), "100000").claude(
            4,
            "not summed up",
            0,
        ),
        window(row("acw100_90k", "90k tokens reported, window 100k", 90_000), "100000").claude(
            5,
            "summed up",
            0,
        ),
        window(row("acw500_400k", "400k tokens reported, window 500k", 400_000), "500000").claude(
            4,
            "not summed up",
            0,
        ),
        window(row("acw500_464k", "464k tokens reported, window 500k", 464_000), "500000")
            .claude(4, "not summed up", 0)
            .because(TOO_SOON),
        window(row("acw500_468k", "468k tokens reported, window 500k", 468_000), "500000").claude(
            5,
            "summed up",
            0,
        ),
        window(
            Row::new(
                "compact_fail",
                "1 call, 175k tokens reported, window 200k; then text",
                Script::new().answer(reporting(call(0), 175_000)).answer(text("done")),
            ),
            "200000",
        )
        .look(summed_up)
        .claude(2, "not summed up", 0),
        window(
            Row::new("compact_thrash", "every answer reports 175k, window 200k", thrash),
            "200000",
        )
        .look(|_, ran| ran.terminal())
        .claude(8, "rapid_refill_breaker", 1),
    ]
}

fn asked_for() -> Vec<Row> {
    vec![
        Row::new(
            "compact_manual",
            "2 answers; `/compact words`; a summary; then a new prompt",
            Script::new()
                .answer(text("one ".repeat(300)))
                .answer(text("two"))
                .answer(text("in short"))
                .answer(text("ok")),
        )
        .acting(|world, mut command| {
            let ran = finish(command.spawn().unwrap());
            for prompt in ["again", "/compact keep the names", "again"] {
                let args = ["-p", prompt, "--continue", "--output-format", "stream-json"];
                let ran = finish(world.command(&args).spawn().unwrap());
                assert_eq!(ran.code, Some(0), "{prompt}: {ran:?}");
            }
            ran
        })
        .look(|world, _| {
            let wish = world.server.requests()[2].json().to_string().contains("keep the names");
            assert!(wish, "the summariser is told what to heed");
            format!("goes on as {}", last_shape(world))
        })
        .claude(4, "goes on as `u:[summary] a:[T] u:[again]`", 0)
        .because("The last prompt stays word for word as well."),
    ]
}

fn blocked() -> Vec<Row> {
    let row = |name, says, tokens| {
        Row::new(name, says, filling(tokens))
            .env("DISABLE_AUTO_COMPACT", "1")
            .look(|_, ran| ran.terminal())
    };
    vec![
        row("bl_170k", "DISABLE_AUTO_COMPACT; 170k of 200k tokens reported", 170_000).claude(
            4,
            "completed",
            0,
        ),
        row("bl_180k", "DISABLE_AUTO_COMPACT; 180k of 200k tokens reported", 180_000).claude(
            3,
            "blocking_limit",
            1,
        ),
    ]
}
