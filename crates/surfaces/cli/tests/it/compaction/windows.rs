//! Small windows, enforced by the server, and summarisers that fail in every way: the turn continues, or ends with a
//! reason that is said, after a bounded number of requests.

use super::at_once;
use crate::context::is_summary;
use crate::support::{Ran, World, finish};
use ostler_model_server::{Recorded, Reply, Script, after, calls, status, text};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const GO: [&str; 6] =
    ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
/// Windows in tenths of the fixed overhead: tools and system prompt.
const TENTHS: [u64; 10] = [10, 12, 15, 20, 25, 30, 40, 60, 80, 100];
/// Files that are read, one by one.
const READS: usize = 20;
/// So many exchanges fill the window.
const FILL: u64 = 8;
/// Requests of a whole run: the calls, the answer, and summaries.
const MOST: usize = 50;
/// Requests that one summary may take: eight pieces, and the repeats of the one that fails.
const SUMMARY: usize = 8 + 2;

/// A summarizer, and whether the provider takes anything at all after a few calls.
struct Kind {
    name: &'static str,
    summary: fn() -> Reply,
    refuses: bool,
}

const REFUSING: &str = "all is too long";

const fn kind(name: &'static str, summary: fn() -> Reply) -> Kind {
    Kind { name, summary, refuses: false }
}

const KINDS: [Kind; 9] = [
    kind("sums up", || text("# Summary\nshort")),
    kind("500", || status(500)),
    kind("refuses", || text("").stop("refusal")),
    kind("says nothing", || text("")),
    kind("calls", || calls([("Bash", json!({ "command": "touch never" }))])),
    kind("too long", too_long),
    kind("garbage", || Reply::http(200, "text/event-stream", "}{ no event\n\n\u{0}")),
    kind("hangs, then is cut", || {
        text("# Summary half")
            .delay(Duration::from_millis(20))
            .cut(after("content_block_delta").reset())
    }),
    Kind { name: REFUSING, summary: too_long, refuses: true },
];

fn too_long() -> Reply {
    status(400).error("invalid_request_error", "prompt is too long")
}

/// What became of one run.
struct Seen {
    tenths: u64,
    kind: &'static str,
    end: String,
    asked: usize,
    summaries: usize,
    refused: usize,
    boundaries: usize,
}

fn overhead() -> u64 {
    let world = World::new(Script::new().answer(text("hi")));
    assert_eq!(world.go().code, Some(0));
    let requests = world.server.requests();
    let request = requests[0].json();
    (request["tools"].to_string().len() + request["system"].to_string().len()) as u64 / 4
}

fn script(kind: &'static Kind, window: u64, share: u64) -> Script {
    let read = AtomicUsize::new(0);
    let words = (share / 2 / "so I look further ".len() as u64).max(1) as usize;
    let work = move |request: &Recorded| {
        if is_summary(request) {
            return (kind.summary)();
        }
        match read.fetch_add(1, Ordering::SeqCst) {
            4.. if kind.refuses => too_long(),
            // Words and results; the words cannot be left out without a summary.
            n if n < READS => text("so I look further ".repeat(words))
                .call("Read", json!({ "file_path": format!("f{n}.txt") })),
            _ => text("done"),
        }
    };
    Script::new().by(work).forever().rules(|rules| rules.window = Some(window))
}

fn play(kind: &'static Kind, tenths: u64, overhead: u64) -> Seen {
    let window = overhead * tenths / 10;
    // Bytes of one exchange: some of them fill what the overhead leaves of the window.
    let share = window.saturating_sub(overhead) * 4 / FILL;
    let world = World::new(script(kind, window, share));
    for n in 0..READS {
        let lines = (share / 2 / 24).max(1) as usize;
        world.file(&format!("f{n}.txt"), &format!("line of file {n}\n").repeat(lines));
    }
    let mut command = world.command(&GO);
    let ran = finish(command.env("OSTLER_CONTEXT_WINDOW", window.to_string()).spawn().unwrap());
    assert!(!world.project().join("never").exists(), "a call of a summary was run");
    assert!(!ran.stderr.contains("internal error"), "{}", ran.stderr);
    let unlike = |line: &String| !line.contains("too long") && !line.contains("context limit");
    let rejected = world.server.rejected();
    assert!(!rejected.iter().any(unlike), "{rejected:?}");
    let requests = world.server.requests();
    let frames = ran.frames();
    Seen {
        tenths,
        kind: kind.name,
        end: stated(&ran),
        asked: requests.len(),
        summaries: requests.iter().filter(|request| is_summary(request)).count(),
        refused: rejected.len(),
        boundaries: frames.iter().filter(|frame| frame["subtype"] == "compact_boundary").count(),
    }
}

/// How it ended: well, or with a reason and what to do.
fn stated(ran: &Ran) -> String {
    let (end, result) = (ran.terminal(), ran.result());
    match end.as_str() {
        "completed" => assert_eq!((ran.code, &result["result"]), (Some(0), &json!("done"))),
        "prompt_too_long" | "rapid_refill_breaker" => {
            assert_eq!(ran.code, Some(1));
            let line = result["result"].as_str().unwrap_or_default();
            let words = ["too long for the model", "keeps filling up"];
            assert!(
                words.iter().any(|words| line.contains(words)) && line.ends_with('.'),
                "{line}"
            );
        }
        other => panic!("{other}: {}", ran.stdout),
    }
    end
}

impl Seen {
    /// Whatever the summarizer does, and however small the window is.
    fn assert_bounded(&self) {
        let Seen { tenths, kind, end, asked, summaries, refused, boundaries } = self;
        let what = format!(
            "window {tenths} tenths, {kind}: {end}, {asked} requests, {summaries} for summaries, {refused} refused"
        );
        let main = asked - summaries;
        assert!(main <= READS + 1 + 4, "{what}");
        assert!(*summaries <= SUMMARY * (boundaries + 1) && *asked <= MOST, "{what}");
        match tenths {
            // Not even the first request fits: that is said after one try.
            ..=12 => assert_eq!((end.as_str(), *asked), ("prompt_too_long", 1), "{what}"),
            // Each summary makes room for a few more requests, and then it ends. What summaries take is bounded above.
            ..20 => assert!(main <= 8 * (*boundaries).max(1), "{what}"),
            _ if *kind == REFUSING => {
                assert_eq!((end.as_str(), *boundaries), ("prompt_too_long", 1), "{what}");
                assert!(*asked <= 16, "{what}");
            }
            // From twice the overhead on it continues, and no request is sent that does not fit.
            _ => {
                assert_eq!((end.as_str(), *refused), ("completed", 0), "{what}");
                assert!(
                    main == READS + 1 && *boundaries > 0,
                    "{what}: {boundaries} summaries used"
                );
            }
        }
    }
}

#[test]
fn small_windows_and_failing_summaries_end_or_go_on_with_a_reason() {
    let overhead = overhead();
    let cases: Vec<(&'static Kind, u64)> =
        TENTHS.iter().flat_map(|tenths| KINDS.iter().map(move |kind| (kind, *tenths))).collect();
    let all = at_once(&cases, |(kind, tenths)| play(kind, *tenths, overhead));
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for seen in &all {
        seen.assert_bounded();
        *ends.entry(&seen.end).or_default() += 1;
    }
    let most = all.iter().map(|seen| seen.asked).max().unwrap_or_default();
    println!(
        "windows from 1 to 10 times the overhead ({overhead} tokens), {} summarisers: {} runs of {READS} calls, {ends:?}, at most {most} requests",
        KINDS.len(),
        all.len(),
    );
}

/// Nobody said that the window is small; the provider's refusal names it. A result that was fine for the larger one
/// goes beside, and the turn continues.
#[test]
fn a_window_that_a_refusal_names_counts_for_the_results_it_refused() {
    let script = Script::new()
        .answer(calls([("Bash", json!({ "command": "seq 1 5500" }))]))
        .answer(text("done"))
        .rules(|rules| rules.window = Some(10_000));
    let world = World::new(script);
    let ran = world.run(&GO);
    assert_eq!(ran.terminal(), "completed", "{}", ran.stdout);
    let requests = world.server.requests();
    let sizes: Vec<usize> = requests.iter().map(|request| request.body.len()).collect();
    assert_eq!(requests.len(), world.server.rejected().len() + 2, "{sizes:?}");
    assert!(sizes.last() < sizes.iter().max(), "{sizes:?}");
    let told = requests.last().unwrap().json().to_string();
    assert!(told.contains("1\\n2\\n3\\n") && !told.contains("\\n2750\\n"), "a preview is left");
}
