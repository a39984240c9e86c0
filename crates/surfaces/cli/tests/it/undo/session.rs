//! Undo over a session: several calls, file tools and commands, redo, what is said.

use super::{running, sh, tree, undone};
use crate::support::{World, finish};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

fn bash(command: &str) -> ostler_model_server::Reply {
    calls([("Bash", json!({ "command": command }))])
}

fn work() -> World {
    let world = World::new(
        Script::new()
            .answer(calls([("Read", json!({"file_path": "old.txt"}))]))
            .answer(calls([("Write", json!({"file_path": "a.txt", "content": "written\n"}))]))
            .answer(bash("echo more >> a.txt; mkdir d; echo b > d/b"))
            .answer(calls([(
                "Edit",
                json!({"file_path": "old.txt", "old_string": "two", "new_string": "TWO"}),
            )]))
            .answer(text("done"))
            .forever(),
    );
    world.file("old.txt", "one\ntwo\nthree\nfour\n");
    world
}

#[test]
fn calls_are_undone_one_by_one_and_redone() {
    let world = work();
    let start = tree(&world);
    assert_eq!(world.go().code, Some(0));
    let end = tree(&world);
    let (dry, said) = undone(&world, &["3", "--dry-run"]);
    assert_eq!((dry.code, tree(&world)), (Some(0), end.clone()), "{}", dry.stderr);
    assert_eq!(said["calls"].as_array().unwrap().len(), 3);

    let (one, said) = undone(&world, &[]);
    assert_eq!(one.code, Some(0), "{}", one.stderr);
    assert_eq!(said["calls"][0]["tool"], "Edit");
    assert_eq!(world.read("old.txt"), "one\ntwo\nthree\nfour\n");
    assert_eq!(world.read("a.txt"), "written\nmore\n");
    let (_, said) = undone(&world, &["--redo"]);
    assert_eq!(said["calls"][0]["tool"], "Edit");
    assert_eq!(tree(&world), end);

    assert_eq!(undone(&world, &["2"]).0.code, Some(0));
    assert_eq!(world.read("a.txt"), "written\n");
    assert!(!world.project().join("d").exists());
    let (_, said) = undone(&world, &["5"]);
    assert_eq!(said["calls"].as_array().unwrap().len(), 1, "{said:#}");
    assert_eq!(tree(&world), start);
    let (nothing, _) = undone(&world, &[]);
    assert_eq!(nothing.code, Some(1), "{}", nothing.stdout);
    assert!(nothing.stderr.contains("nothing to undo"), "{}", nothing.stderr);
    // All of it again, in two steps back.
    undone(&world, &["--redo"]);
    undone(&world, &["--redo"]);
    assert_eq!(tree(&world), end);
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(1));
    assert_eq!(undone(&world, &["0"]).0.code, Some(2));
}

/// What a person changed between two calls is the person's, also when both are undone.
#[test]
fn a_persons_edit_stays_through_several_calls() {
    let world = work();
    assert_eq!(world.go().code, Some(0));
    world.file("old.txt", "one\nTWO\nthree\nfour\nmine\n");
    world.file("a.txt", "mine\nwritten\nmore\n");
    let (ran, said) = undone(&world, &["3"]);
    assert_eq!(world.read("old.txt"), "one\ntwo\nthree\nfour\nmine\n", "{said:#}");
    // The file was made by the model and changed by the person: it stays, without the command's line.
    assert_eq!(world.read("a.txt"), "mine\nwritten\n", "{said:#}");
    assert_eq!(ran.code, Some(1), "what was kept is said");
    let human = world.run(&["undo", "--redo"]);
    assert!(human.stdout.contains("Redone: "), "{}", human.stdout);
}

#[test]
fn the_log_and_the_events_tell_the_cost() {
    let world = running(&["echo x > x", "cat x"]);
    let ran = world.go();
    let entries = world.entries();
    let points: Vec<&Value> = entries.iter().filter(|e| e["fact"] == "checkpoint").collect();
    assert_eq!(points.len(), 2, "before and after one command; the harmless one has none");
    assert!(points[0]["after"].is_null());
    assert_eq!(points[1]["after"], json!(points[1]["before"].as_u64().unwrap() + 1));
    assert!(points[1]["cost"]["files"].as_u64().unwrap() >= 1, "{points:?}");
    let position = |fact: &str| entries.iter().position(|e| e["fact"] == fact).unwrap();
    assert!(position("call_started") < position("checkpoint"));
    assert!(position("checkpoint") < position("call_finished"));
    assert!(ran.stdout.contains("\"changed\":1"), "{}", ran.stdout);
}

#[test]
fn without_undo_nothing_is_kept() {
    let world = running(&["echo x > x"]);
    let args = ["-p", "go", "--permission-mode", "bypassPermissions", "--no-undo"];
    assert_eq!(world.run(&args).code, Some(0));
    assert_eq!(world.read("x"), "x\n");
    assert!(!world.home().join("snapshots").exists());
    assert_eq!(undone(&world, &[]).0.code, Some(1));
}

#[test]
fn what_cannot_be_kept_is_not_run() {
    let world = running(&["echo x > x", "cat old"]);
    world.file("old", "readable");
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("snapshots"), "in the way").unwrap();
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(world.read("x"), "", "it ran");
    let requests = world.server.requests();
    let refused = requests[1].tool_results()[0].to_string();
    assert!(refused.contains("Not run") && refused.contains("--no-undo"), "{refused}");
    let harmless = requests[2].tool_results();
    assert!(harmless.last().unwrap().to_string().contains("readable"), "{harmless:?}");
}

/// Revert knows what commands did to a file, in the same session and in a resumed one.
#[test]
fn revert_goes_back_over_commands() {
    let revert = || calls([("Revert", json!({"file_path": "a.txt"}))]);
    let world = World::new(
        Script::new()
            .answer(calls([("Write", json!({"file_path": "a.txt", "content": "one\n"}))]))
            .answer(bash("echo two > a.txt"))
            .answer(bash("echo three > a.txt"))
            .answer(revert())
            .answer(text("done"))
            .answer(revert())
            .answer(text("done"))
            .answer(revert())
            .answer(text("done")),
    );
    world.go();
    assert_eq!(world.read("a.txt"), "two\n");
    let on = ["-p", "on", "--continue", "--permission-mode", "bypassPermissions"];
    world.run(&on);
    assert_eq!(world.read("a.txt"), "one\n");
    world.run(&on);
    assert!(!world.project().join("a.txt").exists());
    world.assert_never_rejected();
}

#[test]
fn snapshots_can_be_looked_at() {
    let world = running(&["echo x > x", "rm old"]);
    world.file("old", "x");
    let none = world.run(&["snapshots", "list"]);
    assert!(none.stdout.contains("No snapshots"), "{}", none.stdout);
    world.go();
    let list = world.run(&["snapshots", "list", "--json"]);
    let ids: Vec<u64> = list.frames().iter().map(|line| line["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3], "{}", list.stdout);
    let diff = |args: &[&str]| {
        let args: Vec<&str> = [&["snapshots", "diff"], args].concat();
        world.run(&args).stdout
    };
    assert_eq!(diff(&["1", "3"]), "removed   old\nadded     x\n");
    assert_eq!(diff(&["3", "2"]), "added     old\n");
    world.file("x", "other");
    assert_eq!(diff(&[]), "modified  x\n");
    assert_eq!(world.run(&["snapshots", "diff", "77"]).code, Some(74));
    let pruned = world.run(&["snapshots", "prune", "--dry-run", "--json"]).result();
    assert_eq!((pruned["snapshots"].as_u64(), pruned["kept"].as_u64()), (Some(0), Some(4)));
    assert!(world.run(&["snapshots", "list"]).stdout.contains("after a command"));
}

/// Two sessions at once in one directory: each of them undoes its own.
#[test]
fn two_sessions_in_one_folder() {
    let one = running(&["echo 1 > one"]);
    let two = running(&["echo 2 > two"]);
    let go = |world: &World| {
        let mut command = world.command(&["-p", "go", "--permission-mode", "bypassPermissions"]);
        command.current_dir(one.project()).env("OSTLER_HOME", one.home());
        command.spawn().unwrap()
    };
    let (first, second) = (go(&one), go(&two));
    assert_eq!((finish(first).code, finish(second).code), (Some(0), Some(0)));
    assert_eq!((one.read("one"), one.read("two")), ("1\n".into(), "2\n".into()));
    let sessions = one.run(&["sessions", "--json"]).frames();
    for session in sessions {
        let id = session["id"].as_str().unwrap();
        let (ran, _) = undone(&one, &["--session", id]);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    }
    assert_eq!(sh(&one, "ls"), "");
}

/// A build directory that is too large to be kept is not removed without a question, though a rule allows `rm`.
#[test]
fn what_undo_does_not_keep_is_asked_about() {
    for command in ["rm -rf node_modules", "git clean -fdx", "rm -rf small"] {
        let world = running(&[command]);
        sh(
            &world,
            "git init -q . && echo node_modules > .gitignore && mkdir node_modules small && touch small/a",
        );
        sh(&world, "cd node_modules && for i in $(seq 2100); do : > f$i; done");
        let args = [
            "-p",
            "go",
            "--output-format",
            "stream-json",
            "--allowedTools",
            "Bash(rm:*),Bash(git clean:*)",
        ];
        let ran = world.run(&args);
        let is_kept = command == "rm -rf small";
        assert_eq!(ran.code, Some(if is_kept { 0 } else { 4 }), "{command}: {}", ran.stdout);
        assert!(world.project().join("node_modules/f1").exists());
        assert_eq!(world.project().join("small").exists(), !is_kept);
        assert_eq!(ran.stdout.contains("which undo does not cover"), !is_kept, "{}", ran.stdout);
    }
}
