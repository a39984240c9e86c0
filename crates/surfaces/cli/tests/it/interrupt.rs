//! Ctrl+C at any moment: control back, everything kept, every call answered, exit 130.

use crate::support::{
    PATIENCE, World, finish, processes_with, read_until, signal, unique_sleep, until, wait,
};
use ostler_model_server::{Script, calls, status, text};
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};

const GO: [&str; 6] =
    ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];

/// Far more than it takes, far less than anything it could be waiting for.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn in_the_stream_the_partial_text_is_kept() {
    let world =
        World::new(Script::new().answer(text("one two three").gate("hold")).answer(text("ok")));
    let args: Vec<&str> = GO.iter().chain(&["--include-partial-messages"]).copied().collect();
    let mut child = world.command(&args).spawn().unwrap();
    let seen = read_until(&mut child, "three");
    let began = Instant::now();
    signal(&child, Signal::INT);
    let mut ran = finish(child);
    assert!(began.elapsed() < SOON);
    ran.stdout.insert_str(0, &seen);
    assert_eq!(
        (ran.code, ran.terminal().as_str()),
        (Some(130), "aborted_streaming"),
        "{}",
        ran.stderr
    );
    world.server.gate("hold").release();
    assert_eq!(world.run(&["-p", "again", "--continue"]).code, Some(0));
    let messages = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(messages.contains("one two three") && messages.contains("interrupted"), "{messages}");
    world.assert_never_rejected();
}

#[test]
fn in_a_tool_every_call_is_answered() {
    let mark = unique_sleep();
    let slow = format!("echo begun; sleep {mark}");
    let world = World::new(
        Script::new()
            .answer(calls([
                // A program that nobody knows runs alone: this is over before the slow one begins, the last never begins.
                ("Bash", json!({"command": "echo quick; ./nothing"})),
                ("Bash", json!({"command": slow})),
                ("Bash", json!({"command": "touch never; ./nothing"})),
            ]))
            .answer(text("ok")),
    );
    let child = world.command(&GO).spawn().unwrap();
    until("the command runs", || !processes_with(&mark).is_empty());
    let began = Instant::now();
    signal(&child, Signal::INT);
    let ran = finish(child);
    assert!(began.elapsed() < SOON);
    assert_eq!((ran.code, ran.terminal().as_str()), (Some(130), "aborted_tools"), "{}", ran.stderr);
    until("the command is gone", || processes_with(&mark).is_empty());
    assert_eq!(world.run(&["-p", "again", "--continue"]).code, Some(0));
    let request = world.server.requests().pop().unwrap();
    let results = request.messages()[2]["content"].to_string();
    assert!(
        results.contains("quick")
            && results.contains("Stopped by the user")
            && results.contains("Not run"),
        "{results}"
    );
    assert!(!world.project().join("never").exists());
    world.assert_never_rejected();
}

#[test]
fn in_a_back_off() {
    let world = World::new(
        Script::new().answer(status(429).header("retry-after", "100")).answer(text("ok")),
    );
    let mut command = world.command(&GO);
    let child = command.spawn().unwrap();
    wait(world.server.wait_for_requests(1, PATIENCE)).unwrap();
    signal(&child, Signal::INT);
    let began = Instant::now();
    let ran = finish(child);
    assert!(began.elapsed() < SOON);
    assert_eq!(
        (ran.code, ran.terminal().as_str()),
        (Some(130), "aborted_streaming"),
        "{} {}",
        ran.stdout,
        ran.stderr
    );
    assert_eq!(world.run(&["-p", "again", "--continue"]).code, Some(0));
    world.assert_never_rejected();
}

/// `nohup` and shells that run jobs in the background ignore signals for us; commands start without that.
#[test]
fn what_was_ignored_at_the_start_stays_ignored() {
    let ignoring = ["bash", "-c", "trap '' HUP INT; exec \"$@\"", "bash"];
    let look = json!({"command": "grep -E 'SigIgn|SigBlk' /proc/self/status"});
    for (last, code) in [(None, 0), (Some(Signal::TERM), 143)] {
        let script = Script::new().answer(calls([("Bash", look.clone())]));
        let world = World::new(script.answer(text("one two three").gate("hold")));
        let child = world.launched(&ignoring, &GO).spawn().unwrap();
        wait(world.server.gate("hold").reached()).unwrap();
        signal(&child, Signal::HUP);
        signal(&child, Signal::INT);
        match last {
            Some(last) => signal(&child, last),
            None => world.server.gate("hold").release(),
        }
        let ran = finish(child);
        assert_eq!(ran.code, Some(code), "{} {}", ran.stdout, ran.stderr);
        let told = world.server.requests()[1].tool_results()[0]["content"].to_string();
        assert_eq!(told.matches("0000000000000000").count(), 2, "{told}");
    }
}
