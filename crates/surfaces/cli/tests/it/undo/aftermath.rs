//! What an undo outside of a session means for it: the model is told once, and the memory takes notes back.

use super::{running, sh};
use crate::support::{World, finish, signal, until};
use crate::talk::Talk;
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use rustix::process::Signal;
use serde_json::{Value, json};

const ON: [&str; 5] = ["-p", "on", "--continue", "--permission-mode", "bypassPermissions"];

fn newest(world: &World) -> String {
    world.server.requests().last().unwrap().json()["messages"].to_string()
}

fn notices(world: &World) -> usize {
    newest(world).matches("<undone id=").count()
}

/// Another terminal undoes while the session waits at its prompt.
#[test]
fn a_waiting_session_is_told_once() {
    let world = running(&["echo 1 > one.txt; echo 2 > two.txt"]);
    world.has_chosen();
    let mut talk = Talk::on_pipes(world.command(&["--permission-mode", "bypassPermissions"]));
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("done");
    talk.expect("> ");
    assert_eq!(world.run(&["undo"]).code, Some(0));
    for (n, line) in ["next", "and on"].into_iter().enumerate() {
        let asked = world.server.requests().len();
        talk.send_line(line);
        talk.expect("done");
        talk.expect("> ");
        assert_eq!(world.server.requests().len(), asked + 1);
        let said = newest(&world);
        assert_eq!(said.matches("<undone id=").count(), 1, "{n}: {said}");
        assert!(said.contains("- Bash: echo 1 > one.txt; echo 2 > two.txt"), "{said}");
        assert!(said.contains("- one.txt") && said.contains("- two.txt"), "{said}");
    }
    // The redo is news again; both of them before anybody was told are none.
    assert_eq!(world.run(&["undo", "--redo"]).code, Some(0));
    assert_eq!(world.run(&["undo"]).code, Some(0));
    assert_eq!(world.run(&["undo", "--redo"]).code, Some(0));
    talk.send_line("now");
    talk.expect("done");
    talk.expect("> ");
    let said = newest(&world);
    assert_eq!(said.matches("<undone id=").count(), 2, "{said}");
    assert!(said.contains("in effect again"), "{said}");
    talk.send_line("/quit");
    assert_eq!(talk.finish().code, Some(0));
    world.assert_never_rejected();
}

/// While it was closed; and the notice is not lost or doubled by a kill in the middle of the turn that tells it.
#[test]
fn a_killed_session_is_told_once() {
    let script = Script::new()
        .answer(calls([("Bash", json!({"command": "echo 1 > one.txt"}))]))
        .answer(text("done"))
        .answer(text("never said").due_at("never"))
        .answer(text("done"))
        .forever();
    let world = World::new(script);
    assert_eq!(world.go().code, Some(0));
    assert_eq!(world.run(&["undo"]).code, Some(0));
    let child = world.command(&ON).spawn().unwrap();
    until("it was told", || world.server.requests().len() == 3);
    assert_eq!(notices(&world), 1);
    signal(&child, Signal::KILL);
    finish(child);
    for _ in 0..2 {
        assert_eq!(world.run(&ON).code, Some(0));
        assert_eq!(notices(&world), 1, "{}", newest(&world));
    }
    world.assert_never_rejected();
}

/// A rewound conversation knows nothing of what was taken back; files alone are told about.
#[test]
fn a_rewind_is_told_only_where_the_conversation_stays() {
    for (how, told) in [("--both", 0), ("--files", 1)] {
        let world = running(&["echo 1 > one.txt"]);
        assert_eq!(world.go().code, Some(0));
        assert_eq!(world.run(&["rewind", "--to", "1", how]).code, Some(0));
        assert_eq!(world.run(&ON).code, Some(0));
        assert_eq!(notices(&world), told, "{how}");
    }
}

fn remembered(world: &World) -> Vec<String> {
    let ran = world.run(&["memory", "list", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = |line: Value| line["text"].as_str().unwrap().to_owned();
    let mut all: Vec<String> = ran.frames().into_iter().map(text).collect();
    all.sort();
    all
}

/// What a new session is told about this.
fn offered(world: &World, words: &str) -> String {
    assert_eq!(world.run(&["-p", words]).code, Some(0));
    newest(world)
}

#[test]
fn what_was_learnt_from_an_undone_call_is_not_offered() {
    let learnt = "`bash build.sh wrong` failed here; `bash build.sh right` worked.";
    let world = running(&["bash build.sh wrong", "bash build.sh right"]);
    world.file("build.sh", "[ $1 = right ] && echo built > built.txt\n");
    let args = ["-p", "go. Always build before lunch.", "--permission-mode", "bypassPermissions"];
    assert_eq!(world.run(&args).code, Some(0));
    let all = remembered(&world);
    assert_eq!(all, ["Always build before lunch.", learnt]);
    let session = world.run(&["sessions", "--json"]).result()["id"].as_str().unwrap().to_owned();
    assert!(offered(&world, "how does build.sh right work?").contains("worked."));
    let undo = |more: &str| {
        let args = ["undo", "--session", &session, "--json", more];
        let args: Vec<&str> = args.into_iter().filter(|arg| !arg.is_empty()).collect();
        assert_eq!(world.run(&args).code, Some(0));
    };
    undo("");
    assert_eq!(sh(&world, "ls"), "build.sh\n");
    assert_eq!(remembered(&world), ["Always build before lunch."], "your words are no change");
    assert!(!offered(&world, "how does build.sh right work?").contains("worked."));
    assert_eq!(world.run(&["memory", "search", "build.sh right"]).stdout.trim(), "Nothing fits.");
    undo("--redo");
    assert_eq!(remembered(&world), all);
    assert!(offered(&world, "how does build.sh right work?").contains("worked."));
}

#[test]
fn what_was_said_in_a_rewound_turn_is_not_offered() {
    let script = Script::new().by(|_: &Recorded| -> Reply { text("ok") }).forever();
    let world = World::new(script);
    let say = |words: &str, on: bool| {
        let mut args = vec!["-p", words];
        args.extend(on.then_some("--continue"));
        assert_eq!(world.run(&args).code, Some(0));
    };
    say("Always use tabs in makefiles.", false);
    say("Always use spaces in scripts.", true);
    let (tabs, spaces) = ("Always use tabs in makefiles.", "Always use spaces in scripts.");
    assert_eq!(remembered(&world), [spaces, tabs]);
    assert_eq!(world.run(&["rewind", "--to", "2"]).code, Some(0));
    assert_eq!(remembered(&world), [tabs]);
    assert_eq!(world.run(&["undo", "--redo"]).code, Some(0));
    assert_eq!(remembered(&world), [spaces, tabs]);
    // Repeated in a turn of the same number it counts.
    assert_eq!(world.run(&["rewind", "--to", "2"]).code, Some(0));
    say(spaces, true);
    assert_eq!(remembered(&world), [spaces, tabs]);
}
