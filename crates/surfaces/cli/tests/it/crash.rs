//! Durability, by killing the process: at every write of the log, in a tool, in a stream.

use crate::support::{World, facts, finish, processes_with, signal, unique_sleep, until, wait};
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;

/// Work with a command, a new file, an edit and reads; then an end. What has been answered so far decides what
/// comes next, so the same model serves a fresh run and a resumed one.
fn story() -> Script {
    Script::new().by(next_step).forever()
}

fn next_step(request: &Recorded) -> Reply {
    let body = request.json().to_string();
    // Whoever resumes says so; then there is nothing left to do.
    if body.contains("please go on") {
        return text("all done");
    }
    let results = request.messages().iter().filter(|m| m["role"] == "assistant").count();
    match results {
        0 => text("First the command.")
            .call("Read", json!({"file_path": "notes.txt"}))
            // It touches what is read, so that their order is always the same.
            .call("Bash", json!({"command": "echo once >> effects.txt; touch notes.txt"})),
        1 => calls([
            ("Write", json!({"file_path": "new/file.txt", "content": "fresh\n"})),
            ("Grep", json!({"pattern": "alpha"})),
        ]),
        2 => calls([(
            "Edit",
            json!({"file_path": "notes.txt", "old_string": "alpha", "new_string": "beta"}),
        )]),
        _ => text("done"),
    }
}

fn world() -> World {
    let world = World::new(story());
    world.file("notes.txt", "alpha\ngamma\n");
    world
}

const RUN: [&str; 6] =
    ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
const RESUME: [&str; 7] = [
    "-p",
    "please go on",
    "--continue",
    "--output-format",
    "stream-json",
    "--permission-mode",
    "bypassPermissions",
];

#[test]
fn a_run_killed_at_any_write_of_its_log_goes_on() {
    let undisturbed = world();
    assert_eq!(undisturbed.run(&RUN).code, Some(0));
    undisturbed.assert_never_rejected();
    let whole = std::fs::read_to_string(undisturbed.logs().pop().unwrap()).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert!(lines.len() > 15, "the story is too short to prove anything: {}", lines.len());
    let mut tried = 0;
    for (n, line) in lines.iter().enumerate() {
        for torn in [None, Some(0), Some(1), Some(line.len() / 2), Some(line.len())] {
            killed_and_resumed(n + 1, torn, &lines);
            tried += 1;
        }
    }
    println!("kill points tried: {tried} ({} writes, whole and torn at four places)", lines.len());
}

fn killed_and_resumed(write: usize, torn: Option<usize>, undisturbed: &[&str]) {
    let point = torn.map_or(format!("{write}"), |bytes| format!("{write}:{bytes}"));
    let world = world();
    let mut run = world.command(&RUN);
    let killed = run.env("OSTLER_CRASH_AT_WRITE", &point).output().unwrap();
    let status = killed.status;
    assert_eq!(status.signal(), Some(6), "{point}: the crash did not happen");
    let path = world.logs().pop();
    let read =
        || path.as_ref().map_or(String::new(), |path| std::fs::read_to_string(path).unwrap());
    let before = read();

    let said = facts(&whole_records(&before)).iter().any(|fact| fact["fact"] == "prompt");
    let mut resumed = world.run(&RESUME);
    if !said && resumed.code == Some(1) {
        // It died before the prompt was on disk: there is nothing to continue with, and that is said.
        assert!(resumed.stderr.contains("no session to continue"), "{point}: {}", resumed.stderr);
        let afresh: Vec<&str> = RESUME.into_iter().filter(|arg| *arg != "--continue").collect();
        resumed = world.run(&afresh);
    }
    assert_eq!(resumed.code, Some(0), "{point}: {} {}", resumed.stdout, resumed.stderr);
    world.assert_never_rejected();

    // Nothing acknowledged is lost: every whole line is still there, in place.
    let after = read();
    let acknowledged = whole_records(&before);
    let kept = acknowledged.trim_end_matches('\n');
    assert!(after.starts_with(kept), "{point}: the log was rewritten");
    same_facts(&point, &facts(&acknowledged), undisturbed);

    // Nothing happens twice, and nothing happens that was not recorded first.
    let effects = world.read("effects.txt").lines().count();
    let started = before.contains("call_started");
    assert!(effects <= 1, "{point}: the command ran twice");
    assert!(started || effects == 0, "{point}: the command ran before it was on disk");
    told_the_truth(&point, &world, &facts(&acknowledged));
    knows_what_was_shown(&point, &world, &String::from_utf8_lossy(&killed.stdout));
}

/// Every result that a reader saw is in the conversation that continues, and of no call it is said that it did not run:
/// calls begin while their answer streams, so nobody could know.
fn knows_what_was_shown(point: &str, world: &World, shown: &str) {
    let last = world.server.requests().pop().unwrap();
    let body = last.json()["messages"].to_string();
    assert!(!body.contains("Not run"), "{point}: {body}");
    let frames = shown.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for frame in frames.filter(|frame| frame["type"] == "user") {
        let result = &frame["message"]["content"][0];
        let same = |block: &Value| {
            block["tool_use_id"] == result["tool_use_id"] && text_of(block) == text_of(result)
        };
        let messages = last.messages();
        let mut blocks = messages.iter().filter_map(|message| message["content"].as_array());
        let known = blocks.any(|blocks| blocks.iter().any(same));
        assert!(known, "{point}: {result} was shown, and the model does not know it: {body}");
    }
}

/// The text of a result, which is a string or a list of parts.
fn text_of(result: &Value) -> String {
    match &result["content"] {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    }
}

/// The lines that are complete; a record whose line end alone is missing counts.
pub fn whole_records(log: &str) -> String {
    let (whole, rest) = log.split_at(log.rfind('\n').map_or(0, |end| end + 1));
    let complete =
        rest.splitn(3, ' ').nth(2).is_some_and(|json| serde_json::from_str::<Value>(json).is_ok());
    if complete { format!("{log}\n") } else { whole.to_owned() }
}

/// A killed run did what the undisturbed one did, up to where it was killed.
fn same_facts(point: &str, before: &[Value], undisturbed: &[&str]) {
    for (had, line) in before.iter().zip(undisturbed) {
        let want: Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        assert_eq!(had["fact"], want["fact"], "{point}");
    }
}

/// The resumed request holds the prompt and, for a call that had started and has no result, a warning.
pub fn told_the_truth(point: &str, world: &World, before: &[Value]) {
    let last = world.server.requests().pop().unwrap();
    let body = last.json()["messages"].to_string();
    let kind = |name: &str| before.iter().filter(|fact| fact["fact"] == name).collect::<Vec<_>>();
    if !kind("prompt").is_empty() {
        assert!(body.contains("\"go\""), "{point}: the prompt is lost");
    }
    let finished: Vec<_> =
        kind("call_finished").iter().map(|fact| fact["result"]["id"].clone()).collect();
    let lost = kind("call_started").iter().any(|fact| !finished.contains(&fact["id"]));
    assert_eq!(lost, body.contains("may have taken effect"), "{point}: {body}");
    for result in kind("call_finished") {
        let text = result["result"]["content"][0]["text"].as_str().unwrap();
        let shown = serde_json::to_string(text).unwrap();
        assert!(
            body.contains(shown.trim_matches('"')),
            "{point}: a recorded result is lost: {text}"
        );
    }
}

#[test]
fn killed_in_a_tool_no_child_survives_and_the_model_learns_of_it() {
    let mark = unique_sleep();
    // A child in the group, one in a session of its own, a double-forked daemon, and the command itself.
    let nasty = format!(
        "echo begun > begun.txt; sleep {mark} & setsid sleep {mark} & (setsid -f sleep {mark}); sleep {mark}"
    );
    let first = calls([("Bash", json!({ "command": nasty }))]);
    let world = World::new(Script::new().answer(first).answer(text("all done")));
    let mut child = world.command(&RUN).spawn().unwrap();
    until("the command and its children run", || processes_with(&mark).len() >= 4);
    child.kill().unwrap();
    child.wait().unwrap();
    until("all of them are gone", || processes_with(&mark).is_empty());
    let resumed = world.run(&RESUME);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    world.assert_never_rejected();
    let body = world.server.requests().pop().unwrap().json().to_string();
    assert!(body.contains("may have taken effect"), "{body}");
}

#[test]
fn killed_in_a_stream_the_prompt_is_kept() {
    let open = text("I am in the middle of").gate("middle");
    let world = World::new(Script::new().answer(open).answer(text("all done")));
    let mut child = world.command(&RUN).spawn().unwrap();
    let gate = world.server.gate("middle");
    wait(gate.reached()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    gate.release();
    let resumed = world.run(&RESUME);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let messages = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(messages.contains("\"go\"") && messages.contains("please go on"), "{messages}");
    world.assert_never_rejected();
}

#[test]
fn terminated_in_a_tool_it_ends_in_order() {
    let mark = unique_sleep();
    let world = World::new(
        Script::new().answer(calls([("Bash", json!({"command": format!("sleep {mark}")}))])),
    );
    let child = world.command(&RUN).spawn().unwrap();
    until("the command runs", || !processes_with(&mark).is_empty());
    signal(&child, rustix::process::Signal::TERM);
    let ran = finish(child);
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    assert_eq!(ran.terminal(), "aborted_tools");
    assert!(processes_with(&mark).is_empty());
    assert_eq!(world.entries().last().unwrap()["fact"], "end");
}
