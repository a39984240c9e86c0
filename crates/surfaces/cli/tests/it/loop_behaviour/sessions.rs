//! Signals, crashes, and sessions that continue.

use super::row::{Requests, Row, last_shape};
use crate::support::{Ran, World, finish, read_until, signal, unique_sleep, until, wait};
use ostler_model_server::{Reply, Script, calls, status, text, think};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::{Child, Command};

const AGAIN: [&str; 7] = [
    "-p",
    "again",
    "--continue",
    "--output-format",
    "stream-json",
    "--permission-mode",
    "bypassPermissions",
];
const ID: &str = "6f1d0e52-6a44-4f0e-9c5b-0d8f3f2b7a11";
const KEPT: &str = "The partial answer is kept, and the model is told that it was interrupted; 130 is what a shell expects.";
const TRUTH: &str = "The model learns what happened to each of its calls: it ran, it may have run, or it did not run.";

pub fn rows() -> Vec<Row> {
    [interrupted(), terminated(), killed(), resumed()].into_iter().flatten().collect()
}

/// A command that says when it has started and then lasts.
fn lasting() -> (&'static str, Value) {
    ("Bash", json!({ "command": format!("touch started; sleep {}", unique_sleep()) }))
}

fn then_ok(reply: Reply) -> Script {
    Script::new().answer(reply).answer(text("ok"))
}

fn open_text() -> Script {
    then_ok(text("one two three").gate("hold"))
}

fn resumes_as(world: &World, _: &Ran) -> String {
    format!("resumes as {}", last_shape(world))
}

/// Waits until so much was written, does what is to be done, and resumes. Gives back the first run.
fn stopped(world: &World, mut child: Child, needle: &str, how: Signal) -> Ran {
    let seen = read_until(&mut child, needle);
    let mut ran = signalled(world, child, how);
    ran.stdout.insert_str(0, &seen);
    ran
}

fn signalled(world: &World, child: Child, how: Signal) -> Ran {
    signal(&child, how);
    let ran = finish(child);
    world.server.gate("hold").open();
    let again = world.run(&AGAIN);
    assert_eq!(again.code, Some(0), "{again:?}");
    ran
}

fn started(world: &World, mut command: Command) -> Child {
    let child = command.spawn().unwrap();
    until("the command runs", || world.project().join("started").exists());
    child
}

fn interrupted() -> Vec<Row> {
    let waiting = status(429).header("retry-after", "100");
    vec![
        Row::new("sigint_stream", "part of a text; SIGINT; then a new prompt", open_text())
            .args(&["--include-partial-messages"])
            .acting(|world, mut command| {
                stopped(world, command.spawn().unwrap(), "three", Signal::INT)
            })
            .look(resumes_as)
            .claude(Requests::Unsaid, "resumes as `u:[go,note] a:[note] u:[again]`", 0)
            .because(KEPT),
        Row::new(
            "sigint_tool",
            "a long-running call; SIGINT; then a new prompt",
            then_ok(calls([lasting()])),
        )
        .acting(|world, command| signalled(world, started(world, command), Signal::INT))
        .look(resumes_as)
        .claude(Requests::Unsaid, "resumes as `u:[go] a:[U] u:[ERR,note,again]`", 0)
        .because("130 is what a shell expects from an interrupted program (Claude Code: 0 or 1, at random)."),
        Row::new(
            "sigint_retry",
            "429 and a long wait; SIGINT; then a new prompt",
            then_ok(waiting),
        )
        .acting(|world, mut command| {
            stopped(world, command.spawn().unwrap(), "api_retry", Signal::INT)
        })
        .claude(Requests::Unsaid, "", 0)
        .because("The same."),
    ]
}

fn terminated() -> Vec<Row> {
    let look = |world: &World, ran: &Ran| {
        let result = ran.frames().last().is_some_and(|frame| frame["type"] == "result");
        let end = if result { "ends with a result line" } else { "ends without a result line" };
        format!("{end}; {}", resumes_as(world, ran))
    };
    vec![
        Row::new("sigterm_stream", "part of a text; SIGTERM; then a new prompt", open_text())
            .args(&["--include-partial-messages"])
            .acting(|world, mut command| stopped(world, command.spawn().unwrap(), "three", Signal::TERM))
            .look(look)
            .claude(Requests::Unsaid, "ends without a result line; resumes as `u:[go,note] a:[note] u:[again]`", 143)
            .because("An orderly end: everything is recorded, every call has a result, and the reader gets its last line."),
        Row::new("sigterm_tool", "a long-running call; SIGTERM; then a new prompt", then_ok(calls([lasting()])))
            .acting(|world, command| signalled(world, started(world, command), Signal::TERM))
            .look(look)
            .claude(Requests::Unsaid, "ends without a result line; resumes as `u:[go,note] a:[note] u:[again]`", 143)
            .because("The same."),
    ]
}

/// Kills the run and gives back the one that continues.
fn killed_and_resumed(world: &World, mut child: Child) -> Ran {
    child.kill().unwrap();
    child.wait().unwrap();
    world.server.gate("hold").open();
    world.run(&AGAIN)
}

fn killed() -> Vec<Row> {
    let one_done = text("Two.").call("Bash", json!({"command": "echo quick"}));
    let (name, input) = lasting();
    let waits = Script::new()
        .answer(calls([("Bash", json!({"command": "echo 1"}))]))
        .answer(text("x").due_at("hold"))
        .answer(text("ok"));
    let both_last = [lasting(), lasting()]
        .into_iter()
        .fold(text("Two."), |reply, (name, input)| reply.call(name, input));
    vec![
        Row::new("sigkill_stream", "part of a text; SIGKILL; then a new prompt", open_text())
            .acting(|world, mut command| {
                let child = command.spawn().unwrap();
                wait(world.server.gate("hold").reached()).unwrap();
                killed_and_resumed(world, child)
            })
            .look(resumes_as)
            .claude(Requests::Unsaid, "resumes as `u:[go,note] a:[note] u:[again]`", 0)
            .because(
                "Ostler does not invent an answer: both prompts are sent, with nothing in between.",
            ),
        Row::new(
            "sigkill_tool",
            "a text and two calls, one is done; SIGKILL; then a new prompt",
            then_ok(one_done.call(name, input)),
        )
        .acting(|world, command| {
            let child = started(world, command);
            until("the first result is written", || {
                world.entries().iter().any(|fact| fact["fact"] == "call_finished")
            });
            killed_and_resumed(world, child)
        })
        .look(resumes_as)
        .claude(Requests::Unsaid, "resumes as `u:[go] a:[T,U] u:[res,note] a:[note] u:[again]`", 0)
        .because(TRUTH),
        Row::new(
            "sigkill_two_tools",
            "two calls, neither is done; SIGKILL; then a new prompt",
            then_ok(both_last),
        )
        .acting(|world, command| killed_and_resumed(world, started(world, command)))
        .look(resumes_as)
        .claude(Requests::Unsaid, "resumes as `u:[go] a:[T] u:[again]`", 0)
        .because(TRUTH),
        Row::new(
            "resume_at_tool_end",
            "a call is done, the model is being asked; SIGKILL; then a new prompt",
            waits,
        )
        .acting(|world, mut command| {
            let child = command.spawn().unwrap();
            wait(world.server.wait_for_requests(2, crate::support::PATIENCE)).unwrap();
            killed_and_resumed(world, child)
        })
        .look(resumes_as)
        .claude(Requests::Unsaid, "resumes as `u:[go] a:[U] u:[res,note] a:[note] u:[again]`", 0)
        .because("The real result is there, and nothing else is needed."),
    ]
}

fn resumed() -> Vec<Row> {
    let text_forever = || Script::new().answer(text("ok")).forever();
    let thinks = Script::new()
        .answer(think("hm").call("Bash", json!({"command": "echo 1"})))
        .answer(text("one"))
        .answer(text("ok"));
    vec![
        Row::new("resume_plain", "a run, `--resume`, `--continue`", text_forever())
            .acting(|world, mut command| {
                let first = finish(command.spawn().unwrap());
                let id = first.result()["session_id"].as_str().unwrap().to_owned();
                world.run(&["-p", "again", "--resume", &id]);
                world.run(&AGAIN)
            })
            .look(|world, ran| format!("{} log; {}", world.logs().len(), resumes_as(world, ran)))
            .claude(
                Requests::Unsaid,
                "1 log; resumes as `u:[go] a:[T] u:[again] a:[T] u:[again]`",
                0,
            ),
        Row::new(
            "resume_other_model",
            "thinking and a call, text; then `--continue` with another model",
            thinks,
        )
        .acting(|world, mut command| {
            finish(command.spawn().unwrap());
            let args: Vec<&str> = AGAIN.iter().chain(&["--model", "another"]).copied().collect();
            world.run(&args)
        })
        .look(resumes_as)
        .claude(Requests::Unsaid, "resumes as `u:[go] a:[U] u:[res] a:[T] u:[again]`", 0),
        Row::new("fork", "a run, then `--fork-session`", text_forever())
            .acting(|world, mut command| {
                finish(command.spawn().unwrap());
                let args: Vec<&str> = AGAIN.iter().chain(&["--fork-session"]).copied().collect();
                world.run(&args)
            })
            .look(|world, ran| format!("{} logs; {}", world.logs().len(), resumes_as(world, ran)))
            .claude(Requests::Unsaid, "2 logs; resumes as `u:[go] a:[T] u:[again]`", 0),
        Row::new("resume_bad", "`--resume` with a session that does not exist", text_forever())
            .args(&["--resume", ID])
            .look(|_, ran| {
                if ran.stdout.is_empty() {
                    "says so on standard error".into()
                } else {
                    "says so on standard error and in a result line".into()
                }
            })
            .claude(0, "says so on standard error and in a result line", 1),
        Row::new("session_id_flag", "two runs with one `--session-id`", text_forever())
            .args(&["--session-id", ID])
            .acting(|_, mut command| {
                finish(command.spawn().unwrap());
                finish(command.spawn().unwrap())
            })
            .claude(Requests::Unsaid, "", 1),
    ]
}
