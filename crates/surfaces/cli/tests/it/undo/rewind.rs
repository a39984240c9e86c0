//! Back to before a turn: files, conversation, both.

use super::tree;
use crate::support::World;
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::json;

/// Each prompt appends a line to a file by a command, and is then answered.
fn appending() -> World {
    World::new(
        Script::new()
            .by(|request: &Recorded| -> Reply {
                let messages = request.messages();
                let last = messages.last().unwrap();
                match last["content"].to_string().contains("tool_result") {
                    true => text("ok"),
                    false => calls([("Bash", json!({"command": "echo line >> log.txt"}))]),
                }
            })
            .forever(),
    )
}

fn three_turns(world: &World) {
    for (n, prompt) in ["first", "second", "third"].into_iter().enumerate() {
        let mut args = vec!["-p", prompt, "--permission-mode", "bypassPermissions"];
        if n > 0 {
            args.push("--continue");
        }
        assert_eq!(world.run(&args).code, Some(0));
    }
    assert_eq!(world.read("log.txt"), "line\nline\nline\n");
}

/// What the model is told next.
fn told(world: &World) -> String {
    let ran = world.run(&["-p", "fourth", "--continue", "--permission-mode", "bypassPermissions"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    world.assert_never_rejected();
    let requests = world.server.requests();
    requests[requests.len() - 2].json()["messages"].to_string()
}

#[test]
fn both_go_back() {
    let world = appending();
    three_turns(&world);
    let ran = world.run(&["rewind", "--to", "2"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(world.read("log.txt"), "line\n");
    let told = told(&world);
    assert!(told.contains(r#""text":"first""#) && told.contains(r#""text":"fourth""#), "{told}");
    assert!(!told.contains(r#""text":"second""#) && !told.contains(r#""text":"third""#), "{told}");
    assert_eq!(world.read("log.txt"), "line\nline\n");
    // The turn that was taken back and its successor have the same number: only the newest goes.
    assert_eq!(world.run(&["rewind", "--to", "2", "--files"]).code, Some(0));
    assert_eq!(world.read("log.txt"), "line\n");
    assert_eq!(world.run(&["rewind", "--to", "1"]).code, Some(0));
    assert!(tree(&world).is_empty());
}

#[test]
fn files_alone_go_back() {
    let world = appending();
    three_turns(&world);
    assert_eq!(world.run(&["rewind", "--to", "3", "--files"]).code, Some(0));
    assert_eq!(world.read("log.txt"), "line\nline\n");
    assert!(told(&world).contains("third"));
}

#[test]
fn the_conversation_alone_goes_back() {
    let world = appending();
    three_turns(&world);
    let lines = world.entries().len();
    let dry = world.run(&["rewind", "--to", "1", "--dry-run", "--json"]);
    assert_eq!((dry.code, world.entries().len()), (Some(0), lines), "{}", dry.stderr);
    assert_eq!(world.run(&["rewind", "--to", "1", "--conversation"]).code, Some(0));
    assert_eq!(world.entries().len(), lines + 1, "appended, nothing rewritten");
    assert_eq!(world.read("log.txt"), "line\nline\nline\n");
    let told = told(&world);
    assert!(!told.contains(r#""text":"first""#) && told.contains(r#""text":"fourth""#), "{told}");
}

#[test]
fn there_must_be_such_a_turn() {
    let world = appending();
    three_turns(&world);
    for turn in ["0", "4", "x"] {
        assert_eq!(world.run(&["rewind", "--to", turn]).code, Some(2), "{turn}");
    }
    assert_eq!(world.read("log.txt"), "line\nline\nline\n");
    assert_eq!(world.run(&["rewind", "--to", "1", "--session", "12345678"]).code, Some(1));
}

/// A mistyped `--keep` is refused, also where no file would change.
#[test]
fn what_is_to_stay_must_be_part_of_it() {
    let world = appending();
    three_turns(&world);
    assert_eq!(world.run(&["undo"]).code, Some(0), "the third turn has no change left");
    let lines = world.entries().len();
    for args in [
        &["rewind", "--to", "3", "--keep", "lgo.txt"][..],
        &["rewind", "--to", "2", "--keep", "lgo.txt"],
        &["rewind", "--to", "2", "--keep", "lgo.txt", "--dry-run"],
        &["rewind", "--to", "2", "--keep", "log.txt", "--keep", "lgo.txt"],
        &["rewind", "--to", "2", "--keep", "lgo.txt", "--json"],
        &["rewind", "--to", "2", "--conversation", "--keep", "log.txt"],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("--keep \"") && ran.stderr.contains("nothing was changed"));
        assert_eq!(world.read("log.txt"), "line\nline\n", "{args:?}");
        assert_eq!(world.entries().len(), lines, "{args:?}: the conversation stays");
    }
    let kept = world.run(&["rewind", "--to", "2", "--keep", "log.txt"]);
    assert_eq!(kept.code, Some(0), "{} {}", kept.stdout, kept.stderr);
    assert_eq!((world.read("log.txt"), world.entries().len()), ("line\nline\n".into(), lines + 1));
}

/// The redo of a rewind brings back what the rewind took: files, conversation or both.
#[test]
fn a_redo_brings_the_conversation_back() {
    for (how, files) in [("--both", true), ("--conversation", false), ("--files", true)] {
        let world = appending();
        three_turns(&world);
        assert_eq!(world.run(&["rewind", "--to", "2", how]).code, Some(0));
        assert_eq!(world.read("log.txt"), if files { "line\n" } else { "line\nline\nline\n" });
        let redone = world.run(&["undo", "--redo"]);
        assert_eq!(redone.code, Some(0), "{how}: {} {}", redone.stdout, redone.stderr);
        assert_eq!(
            redone.stdout.contains("The conversation was restored"),
            how != "--files",
            "{how}"
        );
        assert_eq!(world.read("log.txt"), "line\nline\nline\n", "{how}");
        let told = told(&world);
        for prompt in ["first", "second", "third", "fourth"] {
            assert!(told.contains(&format!(r#""text":"{prompt}""#)), "{how} {prompt}: {told}");
        }
        assert_eq!(world.run(&["undo", "--redo"]).code, Some(1), "only once");
        // As if nothing had been: turns have their numbers, and go back again.
        assert_eq!(world.run(&["rewind", "--to", "3"]).code, Some(0), "{how}");
        assert_eq!(world.read("log.txt"), "line\nline\n", "{how}");
    }
}

/// What was said since the rewind is not discarded; the files come back all the same.
#[test]
fn a_conversation_that_went_on_stays() {
    let world = appending();
    three_turns(&world);
    assert_eq!(world.run(&["rewind", "--to", "3"]).code, Some(0));
    let ran = world.run(&["-p", "other", "--continue"]);
    assert_eq!(ran.code, Some(4), "it may change nothing: {}", ran.stderr);
    let redone = world.run(&["undo", "--redo"]);
    assert!(redone.stdout.contains("has continued since"), "{}", redone.stdout);
    assert_eq!(world.read("log.txt"), "line\nline\nline\n");
    let told = told(&world);
    assert!(told.contains(r#""text":"other""#) && !told.contains(r#""text":"third""#), "{told}");
}
