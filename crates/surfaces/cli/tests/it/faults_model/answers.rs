//! Answers that are delivered well and are odd in themselves.

use super::{Row, sound};
use crate::support::{World, finish, processes_with};
use ostler_model_server::{Match, Reply, Script, calls, text};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn failed_result() -> Match {
    Match { tool_error: Some(true), ..Match::default() }
}

#[test]
fn a30_input_that_is_no_json() {
    for raw in [
        r#"{"command": "touch never"#,
        r#"{"command": "touch never"} and more"#,
        "touch never",
        "[]",
        "5",
    ] {
        let script = Script::new()
            .answer(text("").call_raw("Bash", raw))
            .answer(text("ok"))
            .expect(failed_result());
        let told = Row::new(script).survives();
        told.asked(2).went(&["next_turn"]).answered("ok");
        let request = told.world.server.requests().pop().unwrap();
        let result = request.tool_results()[0]["content"].to_string();
        assert!(
            result.contains("not a complete JSON object") && result.contains("not run"),
            "{raw}: {result}"
        );
    }
    // For ever: it ends after a bounded number of rounds.
    let forever = Script::new().answer(Reply::default().call_raw("Bash", "{\"command")).forever();
    Row::new(forever).fails("max_output_tokens").asked(4).went(&["next_turn"; 3]);
}

#[test]
fn a35_tools_that_do_not_exist() {
    for name in ["Teleport", "", "bash ", "../Bash", "Bash\u{0}"] {
        let call = text("I try.").call(name, json!({"command": "touch never"}));
        let script = Script::new().answer(call).answer(text("ok")).expect(failed_result());
        let told = Row::new(script).survives();
        told.asked(2).went(&["next_turn"]).answered("ok");
        let result =
            told.world.server.requests().pop().unwrap().tool_results()[0]["content"].to_string();
        assert!(
            result.contains("There is no tool named") && result.contains("Bash"),
            "{name:?}: {result}"
        );
    }
}

#[test]
fn a39_reasons_to_stop() {
    let stopping = |reason: &str| Script::new().answer(text("part").stop(reason));
    let more = |reason: &str| Row::new(stopping(reason).answer(text("rest")));
    let forever = |reason: &str| Row::new(stopping(reason).forever());

    more("max_tokens").survives().asked(2).went(&["max_output_tokens_escalate"]).answered("rest");
    let ways = [
        "max_output_tokens_escalate",
        "max_output_tokens_recovery",
        "max_output_tokens_recovery",
        "max_output_tokens_recovery",
    ];
    forever("max_tokens").fails("max_output_tokens").asked(5).went(&ways).says(&["smaller pieces"]);

    more("model_context_window_exceeded")
        .survives()
        .asked(2)
        .went(&["max_output_tokens_recovery"])
        .answered("rest");
    forever("model_context_window_exceeded").fails("max_output_tokens").asked(4);

    forever("refusal").fails("refusal").asked(1).says(&["Rephrase"]);

    more("pause_turn").survives().asked(2).went(&["pause_resume"]).answered("rest");
    forever("pause_turn")
        .fails("model_error")
        .asked(11)
        .went(&["pause_resume"; 10])
        .says(&["paused"]);

    let odd = more("cosmic_rays").survives();
    odd.asked(1).answered("part");
    let frames = odd.ran.frames();
    let warned =
        frames.iter().find(|frame| frame["subtype"] == "informational").expect("not silently");
    assert!(
        warned["level"] == "warning" && warned["content"].as_str().unwrap().contains("cosmic_rays"),
        "{warned}"
    );
    let none = Row::new(Script::new().answer(text("part").stop_null())).survives();
    assert!(none.ran.frames().iter().any(|frame| frame["subtype"] == "informational"));
    assert!(none.ran.result()["stop_reason"].is_null());
}

#[test]
fn a41_a_call_is_announced_and_there_is_none() {
    let told =
        Row::new(Script::new().answer(text("I will look.").stop("tool_use")).forever()).survives();
    told.asked(1).went(&[]).answered("I will look.");
    let noted = told.ran.frames().into_iter().find(|frame| frame["subtype"] == "informational");
    assert!(
        noted.is_some_and(|note| note["content"].as_str().unwrap().contains("announced a call"))
    );
}

const CALLS: usize = 500;
const SLOW: usize = 24;

/// The program itself: a shell that is about to start it has the same words in its command line.
fn sleepers(nap: &str) -> usize {
    let line = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    processes_with(nap).iter().filter(|pid| line(pid).starts_with(b"sleep\0")).count()
}

/// Most are quick; some last long enough to be counted while they run.
#[test]
fn a42_five_hundred_calls() {
    let nap = format!("0.2{}", std::process::id());
    let call = |i: usize| match i % (CALLS / SLOW) {
        0 => ("Bash", json!({ "command": format!("sleep {nap} && echo slept {i}") })),
        _ => ("Read", json!({"file_path": "a.txt", "offset": i + 1, "limit": 1})),
    };
    let row = Row::new(Script::new().answer(calls((0..CALLS).map(call))).answer(text("ok")));
    let row = row.env("OSTLER_MAX_PARALLEL_CALLS", 5);
    let world = World::new(row.script.clone());
    world.file("a.txt", &(1..=CALLS).map(|n| format!("line {n}\n")).collect::<String>());
    let child = row.command(&world, &super::STREAM).spawn().unwrap();
    let (over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                most.fetch_max(sleepers(&nap), Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        });
        let ran = finish(child);
        over.store(true, Ordering::SeqCst);
        ran
    });
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let request = world.server.requests().pop().unwrap();
    let results = request.tool_results();
    assert_eq!(results.len(), CALLS);
    for (i, result) in results.iter().enumerate() {
        let content = result["content"].as_str().unwrap_or_default();
        let want =
            if i % (CALLS / SLOW) == 0 { format!("slept {i}") } else { format!("line {}", i + 1) };
        assert!(content.contains(&want), "result {i} is not the one of call {i}: {content}");
    }
    let most = most.into_inner();
    assert!((1..=5).contains(&most), "{most} commands at once, 5 are allowed");
    println!(
        "calls in one answer: {CALLS}, all answered in order, at most {most} commands at once"
    );
    sound(&world, &ran);
}
