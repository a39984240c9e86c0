//! What the model sees when a session grows beyond its window: checked in the bytes of the requests.

use crate::support::{Ran, World, facts, finish};
use ostler_model_server::{Recorded, Reply, Script, calls, status, text, think};
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;

const GO: [&str; 4] = ["--output-format", "stream-json", "--permission-mode", "bypassPermissions"];

fn go(world: &World, prompt: &str, more: &[&str]) -> Ran {
    let args: Vec<&str> = ["-p", prompt].iter().chain(&GO).chain(more).copied().collect();
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(0), "{prompt}: {ran:?}");
    ran
}

fn body(request: &Recorded) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

fn is_summary(request: &Recorded) -> bool {
    body(request).contains("is about to be replaced by what you write now")
}

/// What a conversation that was summed up begins with.
const SUMMED_UP: &str = "The conversation up to here was summed up";

/// Work whose results must be summed up because the provider says so; with thinking, so that its rules are checked.
fn overflowing(request: &Recorded) -> Reply {
    let all = body(request);
    if is_summary(request) {
        return text("# Summary\nHalf is done.");
    }
    let answers = request.messages().iter().filter(|m| m["role"] == "assistant").count();
    if all.contains("please go on") {
        return text("all done");
    }
    match answers {
        5.. if !all.contains(SUMMED_UP) => status(400)
            .error("invalid_request_error", "prompt is too long: 9000 tokens > 8000 maximum"),
        0..5 if !all.contains(SUMMED_UP) => {
            let command = format!("echo {answers}; seq 1 300");
            think("hm").call("Bash", json!({ "command": command }))
        }
        _ => text("done"),
    }
}

/// C20: killed at every write, whole or torn, of a turn with a compaction: what is found is the old history or the new.
#[test]
fn c20_a_compaction_that_is_killed_leaves_the_old_or_the_new_history() {
    let script = || Script::new().by(overflowing).forever();
    let whole = World::new(script());
    let ran = go(&whole, "go", &[]);
    assert_eq!(ran.transitions().last().map(String::as_str), Some("reactive_compact_retry"));
    let log = std::fs::read_to_string(whole.logs().pop().unwrap()).unwrap();
    let all = facts(&log);
    let boundary = all.iter().position(|fact| fact["fact"] == "boundary").expect("a boundary");
    let (mut old, mut new) = (0, 0);
    for write in boundary - 1..=(boundary + 3).min(all.len()) {
        for torn in ["", ":0", ":200"] {
            let world = World::new(script());
            let args: Vec<&str> = ["-p", "go"].iter().chain(&GO).copied().collect();
            let mut command = world.command(&args);
            command.env("OSTLER_CRASH_AT_WRITE", format!("{write}{torn}"));
            let status = command.spawn().unwrap().wait().unwrap();
            assert_eq!(status.signal(), Some(6), "write {write}{torn}");
            let again = go(&world, "please go on", &["--continue"]);
            assert_eq!(again.terminal(), "completed", "write {write}{torn}");
            world.assert_never_rejected();
            let last = body(world.server.requests().last().unwrap());
            match last.contains(SUMMED_UP) {
                true => new += 1,
                false => old += 1,
            }
            assert!(last.contains("please go on"));
        }
    }
    assert!(old > 0 && new > 0, "{old} old, {new} new");
}

/// Small windows, enforced by the server: the turn goes on, or ends with a reason that is said.
#[test]
fn small_windows_end_or_go_on_with_a_reason() {
    let overhead = {
        let world = World::new(Script::new().answer(text("hi")));
        go(&world, "go", &[]);
        world.server.requests()[0].body.len() as u64 / 4
    };
    for (percent, summaries) in [(120, true), (200, true), (200, false), (300, true), (600, false)]
    {
        let window = overhead * percent / 100;
        let work = move |request: &Recorded| {
            if is_summary(request) {
                return if summaries { text("# Summary\nshort") } else { status(500) };
            }
            let done = body(request).contains("last one");
            match done {
                true => text("done"),
                false => calls([(
                    "Bash",
                    json!({ "command": "echo next >> n; test $(wc -l < n) -ge 12 && echo last one; seq 1 150" }),
                )]),
            }
        };
        let script = Script::new().by(work).forever().rules(|rules| rules.window = Some(window));
        let world = World::new(script);
        let args: Vec<&str> = ["-p", "go"].iter().chain(&GO).copied().collect();
        let mut command = world.command(&args);
        command.env("OSTLER_CONTEXT_WINDOW", window.to_string());
        let ran = finish(command.spawn().unwrap());
        let end = ran.terminal();
        let known = ["completed", "rapid_refill_breaker", "prompt_too_long", "blocking_limit"];
        assert!(known.contains(&end.as_str()), "{percent} %: {end}");
        let asked = world.server.requests().len();
        assert!(asked <= 120, "{percent} %: {asked} requests");
        if percent >= 300 {
            assert_eq!(end, "completed", "{percent} %: {}", ran.stdout);
        } else if end != "completed" {
            assert!(ran.result()["result"].as_str().is_some_and(|line| line.len() > 20));
        }
        println!(
            "window {percent} % of the overhead, summaries {summaries}: {end}, {asked} requests"
        );
    }
}

/// Instruction files stand before the first prompt, once; nested ones come with the first read below them; after a
/// summary they are said again as they are then.
#[test]
fn instructions_are_said_where_they_count() {
    let script = Script::new()
        .by(|request| match request.messages().last().map(Value::to_string).unwrap_or_default() {
            _ if is_summary(request) => text("# Summary\nshort"),
            last if last.contains("tool_result") => text("read".repeat(300)),
            last if last.contains("look") => calls([("Read", json!({ "file_path": "sub/x.txt" }))]),
            _ => text("fine ".repeat(300)),
        })
        .forever();
    let world = World::new(script);
    world.file("AGENTS.md", "Always say please.");
    world.file("sub/CLAUDE.md", "Mind the gap.");
    world.file("sub/x.txt", "x");
    go(&world, "look", &[]);
    let requests = world.server.requests();
    let count = |body: &str, text: &str| body.matches(text).count();
    assert_eq!(count(&body(&requests[0]), "Always say please."), 1);
    assert_eq!(count(&body(&requests[0]), "Mind the gap."), 0);
    assert!(
        !requests[0].json()["system"].to_string().contains("Always say"),
        "not in the system text"
    );
    assert_eq!(count(&body(&requests[1]), "Mind the gap."), 1);
    go(&world, "again", &["--continue"]);
    let last = body(world.server.requests().last().unwrap());
    assert_eq!((count(&last, "Always say please."), count(&last, "Mind the gap.")), (1, 1));
    for _ in 0..3 {
        go(&world, "again", &["--continue"]);
    }
    world.file("AGENTS.md", "Always say thanks.");
    go(&world, "/compact", &["--continue"]);
    go(&world, "once more", &["--continue"]);
    let last = body(world.server.requests().last().unwrap());
    let told =
        ["Always say please.", "Always say thanks.", "Mind the gap."].map(|t| count(&last, t));
    assert_eq!(told, [0, 1, 1], "{last}");
    world.assert_never_rejected();
}

#[test]
fn the_window_is_accounted_for() {
    let world = World::new(
        Script::new()
            .answer(calls([("Bash", json!({ "command": "seq 1 500" }))]))
            .answer(text("ok")),
    );
    world.file("CLAUDE.md", &"rule ".repeat(100));
    go(&world, "go", &[]);
    for args in
        [vec!["context", "--json"], vec!["-p", "/context", "--continue", "--output-format", "json"]]
    {
        let ran = world.run(&args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let shares = report["shares"].as_array().expect("shares");
        let tokens = |owner: &str| -> u64 {
            shares.iter().filter(|s| s["owner"] == owner).filter_map(|s| s["tokens"].as_u64()).sum()
        };
        for owner in
            ["system", "tools", "instructions", "environment", "prompts", "answers", "results"]
        {
            assert!(tokens(owner) > 0, "{owner}: {report}");
        }
        let sum: u64 = shares.iter().filter_map(|s| s["tokens"].as_u64()).sum();
        let all = report["tokens"].as_u64().unwrap();
        assert!(sum.abs_diff(all) * 10 < all, "{sum} of {all}");
        assert!(
            shares.iter().any(|s| s["name"].as_str().is_some_and(|n| n.ends_with("CLAUDE.md")))
        );
    }
    let ran = world.run(&["context"]);
    assert!(
        ran.stdout.contains("of 200 000 tokens") && ran.stdout.contains("CLAUDE.md"),
        "{}",
        ran.stdout
    );
    let none = World::new(Script::new());
    assert_eq!(none.run(&["context"]).code, Some(1));
}

/// Compacting a long session takes one request, and most of it is read from the provider's cache.
#[test]
fn a_summary_is_served_from_the_cache() {
    let script = Script::new()
        .by(|request| match is_summary(request) {
            true => text("# Summary\nshort"),
            false => {
                let answers =
                    request.messages().iter().filter(|m| m["role"] == "assistant").count();
                match answers {
                    12 => text("done"),
                    n => calls([("Bash", json!({ "command": format!("echo {n}; seq 1 2000") }))]),
                }
            }
        })
        .forever();
    let world = World::new(script);
    go(&world, "go", &[]);
    let before = world.server.requests().len();
    let ran = go(&world, "/compact", &["--continue"]);
    assert_eq!(world.server.requests().len(), before + 1);
    let usage = &ran.result()["usage"];
    let (read, written) =
        (&usage["cache_read_input_tokens"], &usage["cache_creation_input_tokens"]);
    let (read, written) = (read.as_u64().unwrap(), written.as_u64().unwrap());
    assert!(read > 9 * (written + usage["input_tokens"].as_u64().unwrap()), "{usage}");
    println!("summary: {read} tokens read from the cache, {written} written");
}

/// The system text is the file, whatever the folder, the day and the instructions; and it has a cap.
#[test]
fn the_system_text_is_the_same_everywhere() {
    let written = include_str!("../../../../prompts/system.md").trim_ascii();
    assert!(written.len() < 6_000, "{} bytes", written.len());
    for instructions in [false, true] {
        let world = World::new(Script::new().answer(text("hi")));
        if instructions {
            world.file("CLAUDE.md", "Be quick.");
        }
        go(&world, "go", &[]);
        let request = world.server.requests().remove(0);
        let system = request.json()["system"].as_array().cloned().expect("a list");
        let texts: Vec<&str> = system.iter().filter_map(|part| part["text"].as_str()).collect();
        assert_eq!(texts, [written]);
    }
}
