//! Workers that die, are stopped, are too slow, or meet a model that does not answer.

use crate::support::{Ran, World, finish, processes_with, read_until, signal, unique_sleep, until};
use crate::tasks::{add, object};
use crate::workers::{bash, command, event, events, git, is_about, once, start, task, tree, world};
use ostler_model_server::{Script, calls, status, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::Child;

/// The shortest lease there is.
const SHORT: [&str; 2] = ["--lease", "1"];

/// Writes a file, and stays at the gate before the next answer.
fn held_world() -> World {
    world(|request, answers| match answers {
        0 => bash("echo half > half && test -d /proc"),
        _ if is_about(request, "echo half") => text("Done.").due_at("hold"),
        _ => text("Done."),
    })
}

/// Waits until the file was written and the model holds its answer back.
fn wait_until_held(world: &World, requests: usize) {
    until("the answer is held back", || world.server.requests().len() >= requests);
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Ends a worker that waits for tasks.
fn stopped(child: Child, seen: String) -> Ran {
    signal(&child, Signal::TERM);
    let mut ran = finish(child);
    ran.stdout.insert_str(0, &seen);
    ran
}

fn history(task: &Value) -> Vec<String> {
    let entries = task["history"].as_array().unwrap();
    entries.iter().map(|entry| entry["event"].as_str().unwrap().to_owned()).collect()
}

/// Fault corpus G01: a worker dies holding a task.
#[test]
fn a_killed_workers_task_is_finished_by_the_next_one_who_sees_what_was_done() {
    let world = world(|request, answers| match answers {
        0 if is_about(request, "attempt=\\\"1") => bash("echo half > half && test -d /proc"),
        0 => calls([(
            "Bash",
            json!({"command": "git show ostler/*-1-*:half > whole; test -s whole"}),
        )]),
        _ if is_about(request, "attempt=\\\"1") => text("Done.").due_at("never"),
        _ => text("It is whole."),
    });
    let id = add(&world, &["Make it whole"]);
    let child = start(&world, &SHORT);
    wait_until_held(&world, 2);
    kill(child);
    let mut next = start(&world, &["--name", "next"]);
    let seen = read_until(&mut next, "\"finished\"");
    let ran = stopped(next, seen);
    assert_eq!(ran.code, Some(143), "{ran:?}");
    let first = format!("ostler/{id}-1-make-it-whole");
    let started = event(&ran, "started");
    assert_eq!(started["earlier"], json!([first]), "{started}");
    // What it had not committed is on its branch, and the new attempt has a tree and a branch of its own.
    assert_eq!(git(&world, &["show", &format!("{first}:half")]), "half");
    let prompt = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(prompt.contains(&format!("Their work is on {first}")), "{prompt}");
    let done = task(&world, &id);
    assert_eq!((&done["status"], &done["attempt"]), (&json!("done"), &json!(2)));
    assert_eq!(history(&done), ["added", "claimed", "lease_expired", "claimed", "finished"]);
    let second = format!("ostler/{id}-2-make-it-whole");
    assert!(done["result"].as_str().unwrap().contains(&second), "{done}");
}

/// Fault corpus G02: a worker is only slow. Its late end is refused, and its branch stays (G08).
#[test]
fn a_worker_that_slept_past_its_lease_reports_nothing() {
    let world = held_world();
    let id = add(&world, &["Take your time"]);
    let slow = start(&world, &["--once", "--name", "slow", "--lease", "1"]);
    wait_until_held(&world, 2);
    signal(&slow, Signal::STOP);
    world.server.gate("hold").open();
    let mut quick = start(&world, &["--name", "quick"]);
    let seen = read_until(&mut quick, "\"finished\"");
    stopped(quick, seen);
    signal(&slow, Signal::CONT);
    let ran = finish(slow);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lost = event(&ran, "lost");
    assert!(
        lost["reason"].as_str().unwrap().contains("so it cannot be")
            || lost["reason"].as_str().unwrap().contains("is not claimed with fence 1"),
        "{lost}"
    );
    let branch = format!("ostler/{id}-1-take-your-time");
    assert_eq!(lost["branch"], json!(branch));
    assert_eq!(git(&world, &["show", &format!("{branch}:half")]), "half");
    let done = task(&world, &id);
    assert_eq!((&done["status"], &done["claimed_by"]), (&json!("done"), &json!("quick")));
}

#[test]
fn a_stopped_worker_returns_its_task_with_what_was_done() {
    for (signal_sent, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let world = held_world();
        let id = add(&world, &["Take your time"]);
        let child = start(&world, &[]);
        wait_until_held(&world, 2);
        signal(&child, signal_sent);
        let ran = finish(child);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let returned = event(&ran, "returned");
        let branch = format!("ostler/{id}-1-take-your-time");
        assert_eq!(returned["branch"], json!(branch), "{returned}");
        assert_eq!(git(&world, &["show", &format!("{branch}:half")]), "half");
        let back = task(&world, &id);
        assert_eq!((&back["status"], &back["attempt"]), (&json!("pending"), &json!(1)), "{back}");
    }
}

#[test]
fn a_stop_in_the_check_lets_the_task_end_and_a_second_one_does_not() {
    let mark = unique_sleep();
    for signals in [1, 2] {
        let world = world(|_, answers| match answers {
            0 => bash("echo x > new"),
            _ => text("Done."),
        });
        let gate = world.project().join("gate");
        let id = add(&world, &["Check it"]);
        // Ends when the file appears, which can be read from the sandbox.
        let check =
            format!(": > begun; until test -e {}; do sleep 0.01; : {mark}; done", gate.display());
        let mut child = start(&world, &["--check", &check]);
        let started = read_until(&mut child, "\"started\"");
        let started = started.lines().find(|line| line.contains("\"started\"")).unwrap();
        let tree = tree(&serde_json::from_str(started).unwrap());
        let begun = tree.parent().unwrap().join(".queue/check-0/begun");
        until("the check runs", || begun.exists());
        signal(&child, Signal::TERM);
        if signals == 2 {
            // Two of one kind could arrive as one.
            signal(&child, Signal::INT);
            let ran = finish(child);
            assert!(matches!(ran.code, Some(130 | 143)), "{ran:?}");
            until("the check is gone", || processes_with(&mark).is_empty());
            assert_eq!(task(&world, &id)["status"], "in_progress", "its lease will end");
        } else {
            std::fs::write(&gate, "").unwrap();
            let ran = finish(child);
            assert_eq!(ran.code, Some(143), "{ran:?}");
            assert_eq!(task(&world, &id)["status"], "done", "{ran:?}");
        }
    }
}

#[test]
fn a_task_that_kills_its_worker_three_times_is_parked() {
    let world = world(|_, _| text("Never.").due_at("never"));
    let id = add(&world, &["Deadly"]);
    for number in 1..=3 {
        let child = start(&world, &SHORT);
        wait_until_held(&world, number);
        kill(child);
    }
    until("it is parked", || task(&world, &id)["status"] == "parked");
    let parked = task(&world, &id);
    assert_eq!(parked["attempt"], 3);
    let error = parked["error"].as_str().unwrap();
    assert!(error.starts_with("3 workers in a row lost their lease on it"), "{error}");
    assert_eq!(once(&world, &[]).code, Some(3), "nobody gets it any more");
}

/// A model that is down is not the task's fault, and is not asked forever.
#[test]
fn workers_stop_when_the_model_does_not_answer() {
    let world = world(|_, _| status(529));
    let id = add(&world, &["Anything"]);
    let ran = finish(command(&world, &[]).env("OSTLER_MAX_RETRIES", "0").spawn().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("something outside keeps failing"), "{ran:?}");
    assert_eq!((events(&ran, "setback").len(), events(&ran, "returned").len()), (5, 6), "{ran:?}");
    let back = task(&world, &id);
    assert_eq!((&back["status"], &back["attempt"]), (&json!("pending"), &json!(6)), "{back}");
    assert_eq!(git(&world, &["branch", "--list", "ostler/*"]), "", "nothing was changed");
}

/// Fault corpus G03 and G05: each task is claimed once, and one whose dependency failed is never started.
#[test]
fn processes_share_a_board_and_a_failed_dependency_blocks() {
    let world = world(|request, answers| match answers {
        _ if is_about(request, "Doomed") => text(""),
        0 => bash("echo x > new"),
        _ => text("Done."),
    });
    let ids: Vec<String> = (0..6).map(|n| add(&world, &[&format!("Task {n}")])).collect();
    let doomed = add(&world, &["Doomed"]);
    let blocked = add(&world, &["Blocked", "--depends-on", &doomed]);
    let workers = [start(&world, &["--once"]), start(&world, &["--once", "--count", "2"])];
    let ran = workers.map(finish);
    assert!(ran.iter().all(|ran| matches!(ran.code, Some(0 | 3))), "{ran:?}");
    for id in &ids {
        let done = task(&world, id);
        assert_eq!((&done["status"], &done["attempt"]), (&json!("done"), &json!(1)), "{done}");
    }
    assert_eq!(task(&world, &doomed)["status"], "failed");
    let waits = task(&world, &blocked);
    assert_eq!((&waits["status"], &waits["attempt"]), (&json!("pending"), &json!(0)), "{waits}");
    assert_eq!(waits["blocked_by"][0]["status"], "failed");
}

/// Fault corpus G16: two workers change the same file at the same time. Both branches stay, and the overlap is reported.
#[test]
fn two_workers_on_one_file_overlap_and_both_branches_stay() {
    let world = world(|request, answers| match answers {
        0 if is_about(request, "Shout") => {
            bash("sed -i s/two/TWO/ file && test -d /proc").due_at("both")
        }
        0 => bash("sed -i s/two/zwei/ file && test -d /proc").due_at("both"),
        _ => text("Done."),
    });
    let ids = [add(&world, &["Shout"]), add(&world, &["Translate"])];
    let workers = [start(&world, &["--once"]), start(&world, &["--once"])];
    wait_until_held(&world, 2);
    world.server.gate("both").open();
    for ran in workers.map(finish) {
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let names = [format!("{}-1-shout", ids[0]), format!("{}-1-translate", ids[1])];
    let dry = world.run(&["worktrees", "merge", &names[0], &names[1], "--dry-run", "--json"]);
    let found: Value = serde_json::from_str(&dry.stdout).unwrap();
    let overlap = &found["overlaps"][0];
    assert_eq!(overlap["files"][0]["path"], "file", "{found}");
    for (name, line) in names.iter().zip(["TWO", "zwei"]) {
        let text = git(&world, &["show", &format!("ostler/{name}:file")]);
        assert_eq!(text, format!("one\n{line}\nthree"));
    }
    assert_eq!(world.read("file"), "one\ntwo\nthree\n");
}

/// Fault corpus G07: whoever added the tasks is gone; a worker started later goes on with the board.
#[test]
fn a_waiting_worker_hears_of_a_new_task_and_takes_what_another_process_left() {
    let world = world(|_, answers| match answers {
        0 => bash("echo x > new"),
        _ => text("Done."),
    });
    let mut child = start(&world, &[]);
    let mut seen = read_until(&mut child, "\"waiting\"");
    let id = add(&world, &["Late"]);
    seen += &read_until(&mut child, "\"finished\"");
    let ran = stopped(child, seen);
    assert_eq!((ran.code, &task(&world, &id)["status"]), (Some(143), &json!("done")), "{ran:?}");
}

#[test]
fn a_task_that_is_cancelled_while_it_runs_ends_and_keeps_its_branch() {
    let world = held_world();
    let id = add(&world, &["Take your time"]);
    let child = start(&world, &["--once", "--lease", "1"]);
    wait_until_held(&world, 2);
    object(&world, &["cancel", &id, "--reason", "no longer needed"]);
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(event(&ran, "lost")["reason"].as_str().unwrap().contains("is cancelled"), "{ran:?}");
    assert_eq!(task(&world, &id)["status"], "cancelled");
}

/// Nothing is claimed where no worktree can be made, or the board cannot be used: there is no other board to fall back to.
#[test]
fn a_worker_that_cannot_work_says_why_and_claims_nothing() {
    let world = World::new(Script::new());
    let ran = world.run(&["worker", "--once"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "no repository: {ran:?}");
    let world = held_world();
    let id = add(&world, &["Waits"]);
    let ran = world.run(&["worker", "--once", "--board", "redis://127.0.0.1:1"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    for (args, why) in [(["--lease", "0"], "a lease of 0 seconds"), (["--name", ""], "is empty")] {
        let ran = once(&world, &args);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
    git(&world, &["checkout", "-q", "--detach"]);
    let ran = once(&world, &[]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    assert!(ran.stderr.contains("git switch"), "the remedy: {ran:?}");
    assert_eq!(task(&world, &id)["attempt"], 0);
    git(&world, &["switch", "-q", "main"]);
    world.file("file", "not committed\n");
    world.server.gate("hold").open();
    let ran = once(&world, &["--check", "grep -q two file"]);
    assert_eq!((ran.code, &task(&world, &id)["status"]), (Some(0), &json!("done")), "{ran:?}");
    let notices = events(&ran, "notice");
    assert!(notices[0]["text"].as_str().unwrap().contains("not in the worktree"), "{ran:?}");
}

#[test]
fn limits_fail_a_task_or_end_the_worker() {
    let endless = || world(|_, answers| bash(&format!("echo {answers} > new")));
    let world = endless();
    let id = add(&world, &["Endless"]);
    let ran = once(&world, &["--max-turns", "3"]);
    assert_eq!((ran.code, &task(&world, &id)["status"]), (Some(0), &json!("failed")), "{ran:?}");
    assert!(task(&world, &id)["error"].as_str().unwrap().contains("turn limit"), "{ran:?}");
    // One budget for all tasks: nobody can pay for the second.
    let world = endless();
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("prices.toml"), "[scripted]\ninput = 3\noutput = 15\n")
        .unwrap();
    let id = add(&world, &["Costly"]);
    let ran = once(&world, &["--max-budget-usd", "0.5", "--count", "2"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let back = task(&world, &id);
    assert_eq!(back["status"], "pending", "{back}");
    assert_eq!(events(&ran, "returned").len(), 1, "{ran:?}");
}

#[test]
fn agents_at_work_for_a_worker_are_shown() {
    let world = held_world();
    add(&world, &["Take your time"]);
    let mut child = start(&world, &[]);
    let started = read_until(&mut child, "\"started\"");
    wait_until_held(&world, 2);
    let started = started.lines().find(|line| line.contains("\"started\"")).unwrap();
    let started: Value = serde_json::from_str(started).unwrap();
    let shown = world.run(&["agents", "--all", "--json"]);
    assert!(shown.stdout.contains(started["session"].as_str().unwrap()), "{shown:?}");
    let shown = world.run(&["agents"]);
    assert!(
        shown.stdout.contains("Take your time") && !shown.stdout.contains("<board-task"),
        "{shown:?}"
    );
    stopped(child, String::new());
}
