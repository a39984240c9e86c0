//! The window is full: estimated, or said by the provider.

use super::row::{Row, last_shape, shape};
use crate::support::{Ran, World, finish};
use ostler_model_server::{Match, Reply, Script, UsageNumbers, calls, status, text};
use serde_json::json;

const EXTRACT: &str = "If the model returns no summary, one is built from the messages: a failed request must not lose a conversation.";
const EXTRACT_TOO_LONG: &str = "If the model returns no summary, one is built from the messages; the turn ends because the request is still too long.";
const PROACTIVE: &str = "The size of the window is known, so Ostler compacts before the provider has to reject a request.";
const TOO_SOON: &str = "The threshold is the smaller of 92 % of the window and the window minus 33000 tokens; here it is 460000.";
const IN_PIECES: &str =
    "Claude Code summarizes less; Ostler summarizes everything that has to go, in pieces that fit.";
const LAST_PROMPT: &str = "The last prompt is kept word for word as well.";
const NEWEST: &str =
    "The newest six messages are kept word for word, however large the reported overflow is.";
const FILES_KEPT: &str = "The newest six messages are kept word for word, including the files they read; of the last five files, the rest are sent again.";

pub fn rows() -> Vec<Row> {
    [refused(), full(), asked_for(), blocked()].into_iter().flatten().collect()
}

fn too_long() -> Reply {
    let words = "prompt is too long: 210000 tokens > 200000 maximum";
    status(400).error("invalid_request_error", words)
}

/// A request for a summary.
fn summary() -> Match {
    Match::last_user("is about to be replaced by a summary that you write now")
}

/// A call whose result is worth summarizing, each another.
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

/// Three calls, the last of which fills the window and adds next to nothing; then whatever is asked for is answered by
/// text.
fn filling(tokens: u64) -> Script {
    let last = calls([("Bash", json!({ "command": "true" }))]);
    after(2).answer(reporting(last, tokens)).answer(text("done")).forever()
}

fn summarized(_: &World, ran: &Ran) -> String {
    let frames = ran.frames();
    let count = frames.iter().filter(|frame| frame["subtype"] == "compact_boundary").count();
    match count {
        0 => "not summarized".to_owned(),
        1 => "summarized".to_owned(),
        n => format!("summarized {n} times"),
    }
}

fn summarized_and_kept(world: &World, ran: &Ran) -> String {
    let kept = last_shape(world).matches('U').count();
    format!("{}; calls kept: {kept}", summarized(world, ran))
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
        .look(|world, ran| {
            format!("{}; continues as {}", summarized(world, ran), last_shape(world))
        })
        .claude(5, "summarized; continues as `u:[summary] a:[U] u:[res]`", 0)
        .because(LAST_PROMPT),
        Row::new(
            "ptl_after_tools_forever",
            "2 calls, then too long, always",
            after(2).answer(too_long()).forever(),
        )
        .look(summarized)
        .claude(4, "not summarized", 1)
        .because(EXTRACT_TOO_LONG),
        Row::new(
            "reactive_many",
            "6 calls, too long, a summary, text",
            wordily(6).answer(too_long()).answer(text("so far")).answer(text("done")),
        )
        .look(summarized_and_kept)
        .claude(9, "summarized; calls kept: 4", 0)
        .because(NEWEST),
        Row::new(
            "reactive_many_results",
            "6 calls with long results, too long, text",
            after(6).answer(too_long()).answer(text("done")).forever(),
        )
        .look(summarized_and_kept)
        .claude(9, "summarized; calls kept: 4", 0)
        .because(NEWEST),
        Row::new(
            "reactive_ptl_thrice",
            "10 calls, too long; the summary is too long twice; then everything is answered",
            wordily(10).answer(too_long()).times(3).answer(text("so far")).forever(),
        )
        .look(summarized_and_kept)
        .claude(15, "summarized; calls kept: 9", 0)
        .because(IN_PIECES),
        Row::new(
            "reactive_twice",
            "6 calls, too long, a summary, too long",
            wordily(6).answer(too_long()).answer(text("so far")).answer(too_long()).forever(),
        )
        .look(summarized)
        .claude(9, "summarized", 1),
        Row::new(
            "reactive_summary_tool",
            "4 calls, too long, a call instead of the summary, text",
            after(4).answer(too_long()).answer(call(9)).answer(text("done")),
        )
        .look(summarized)
        .claude(6, "not summarized", 1)
        .because(EXTRACT),
    ]
}

/// (name, what is reported, the window that was configured, whether Claude Code summarized). A name with `1m` stands for
/// a model with a window of a million.
const REPORTED: [(&str, &str, u64, &str, bool); 20] = [
    ("ac_150k", "150k tokens reported, no window configured", 150_000, "", false),
    ("ac_180k", "180k tokens reported, no window configured", 180_000, "", false),
    ("ac1m_900k", "900k tokens reported of 1M, no window configured", 900_000, "", false),
    ("ac1m_990k", "990k tokens reported of 1M, no window configured", 990_000, "", false),
    ("acw200_160k", "160k tokens reported, window 200k", 160_000, "200000", false),
    ("acw200_166k", "166k tokens reported, window 200k", 166_000, "200000", false),
    ("acw200_167k", "167k tokens reported, window 200k", 167_000, "200000", true),
    ("acw200_168k", "168k tokens reported, window 200k", 168_000, "200000", true),
    ("acw200_175k", "175k tokens reported, window 200k", 175_000, "200000", true),
    ("acw100_60k", "60k tokens reported, window 100k", 60_000, "100000", false),
    ("acw100_66k", "66k tokens reported, window 100k", 66_000, "100000", false),
    ("acw100_67k", "67k tokens reported, window 100k", 67_000, "100000", true),
    ("acw100_90k", "90k tokens reported, window 100k", 90_000, "100000", true),
    ("acw500_400k", "400k tokens reported, window 500k of 1M", 400_000, "500000", false),
    ("acw500_466k", "466k tokens reported, window 500k of 1M", 466_000, "500000", false),
    ("acw500_468k", "468k tokens reported, window 500k of 1M", 468_000, "500000", true),
    ("acwp50_85k", "85k tokens reported, window 200k, 50 %", 85_000, "200000", false),
    ("acwp50_88k", "88k tokens reported, window 200k, 50 %", 88_000, "200000", false),
    ("acwp50_92k", "92k tokens reported, window 200k, 50 %", 92_000, "200000", true),
    ("acwp50_98k", "98k tokens reported, window 200k, 50 %", 98_000, "200000", true),
];

fn full() -> Vec<Row> {
    let row = |(name, says, tokens, window, summed): &(
        &'static str,
        &'static str,
        u64,
        &'static str,
        bool,
    )| {
        let mut row = Row::new(name, says, filling(*tokens)).look(summarized);
        if !window.is_empty() {
            row = row.env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", window);
        }
        if name.starts_with("acwp50") {
            row = row.env("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50");
        }
        if says.contains("1M") {
            row = row.args(&["--model", "claude-opus-4-8"]);
        }
        let (requests, more) = if *summed { (5, "summarized") } else { (4, "not summarized") };
        let row = row.claude(requests, more, 0);
        match *name {
            "ac_180k" | "ac1m_990k" => row.because(PROACTIVE),
            "acw500_466k" => row.because(TOO_SOON),
            _ => row,
        }
    };
    REPORTED.iter().map(row).chain(summaries()).collect()
}

/// The window is full, and this becomes of the summary.
fn summaries() -> Vec<Row> {
    let row = |name, says, script| {
        Row::new(name, says, script).env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "200000")
    };
    let full = |calls: usize| {
        let early = (1..calls).fold(Script::new(), |script, n| script.answer(call(n)));
        early.answer(reporting(call(0), 175_000))
    };
    let thrash =
        (0..20).fold(Script::new(), |script, n| script.answer(reporting(call(n), 175_000)));
    let reads = (0..8).fold(Script::new(), |script, n| {
        script.answer(calls([("Read", json!({ "file_path": format!("r{n}.txt") }))]))
    });
    let rich = reads
        .answer(reporting(call(0), 175_000))
        .answer(text("so far"))
        .answer(call(1))
        .answer(text("done"));
    let rich = row(
        "compact_rich",
        "8 reads and a command, 175k tokens reported, window 200k; a summary, a command, text",
        rich,
    );
    let rich = FILES.iter().fold(rich, |row, name| row.file(name, format!("{name} ").repeat(200)));
    vec![
        rich.look(|world, ran| {
            let requests = world.server.requests();
            let [.., first, _] = requests.as_slice() else { panic!("requests after the summary") };
            let files = first.json().to_string().matches("<file ").count();
            let kept = shape(first).matches('U').count();
            format!("{}; files sent again: {files}; calls kept: {kept}", summarized(world, ran))
        })
        .claude(12, "summarized; files sent again: 5; calls kept: 1", 0)
        .because(FILES_KEPT),
        row("compact_fail", "1 call, 175k tokens reported, window 200k; then text", full(1).answer(text("done")))
            .look(summarized)
            .claude(2, "not summarized", 0),
        row(
            "compact_ptl",
            "4 calls, 175k tokens reported, window 200k; each summary is too long; then text",
            full(4).answer(too_long()).times(2).when(summary()).answer(text("done")),
        )
        .look(summarized)
        .claude(7, "not summarized", 0)
        .because(EXTRACT),
        row("compact_thrash", "every answer reports 175k, window 200k", thrash)
            .look(|world, ran| format!("{}; {}", summarized(world, ran), ran.terminal()))
            .claude(8, "summarized 3 times; rapid_refill_breaker", 1),
        row(
            "hk_precompact_block",
            "9 calls, each reports 175k, window 200k; a PreCompact hook exits with 2; then text",
            (0..9).fold(Script::new(), |script, n| script.answer(reporting(call(n), 175_000))).answer(text("done")),
        )
        .args(&["--settings", r#"{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "echo not now >&2; exit 2"}]}]}}"#])
        .look(|world, ran| {
            let why = "a hook does not allow it: ";
            assert!(ran.stdout.contains(why) && ran.stdout.contains("not now"), "{ran:?}");
            summarized(world, ran)
        })
        .claude(10, "not summarized", 0),
    ]
}

const FILES: [&str; 8] =
    ["r0.txt", "r1.txt", "r2.txt", "r3.txt", "r4.txt", "r5.txt", "r6.txt", "r7.txt"];

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
            assert!(wish, "the summary request contains the focus");
            format!("continues as {}", last_shape(world))
        })
        .claude(4, "continues as `u:[summary] a:[T] u:[again]`", 0)
        .because(LAST_PROMPT),
    ]
}

fn blocked() -> Vec<Row> {
    let row = |name, says, tokens| {
        Row::new(name, says, filling(tokens))
            .env("DISABLE_AUTO_COMPACT", "1")
            .look(|_, ran| ran.terminal())
    };
    let like = |row: Row, requests, end, code| row.claude(requests, end, code);
    vec![
        like(
            row("bl_175k", "DISABLE_AUTO_COMPACT; 175k of 200k tokens reported", 175_000),
            4,
            "completed",
            0,
        ),
        like(
            row("bl_176k", "DISABLE_AUTO_COMPACT; 176k of 200k tokens reported", 176_000),
            4,
            "completed",
            0,
        ),
        like(
            row("bl_177k", "DISABLE_AUTO_COMPACT; 177k of 200k tokens reported", 177_000),
            3,
            "blocking_limit",
            1,
        ),
        like(
            row("bl_185k", "DISABLE_AUTO_COMPACT; 185k of 200k tokens reported", 185_000),
            3,
            "blocking_limit",
            1,
        ),
    ]
}
