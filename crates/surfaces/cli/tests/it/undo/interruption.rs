//! An undo, a redo and a rewind that were killed: finished by running them again.

use super::{sh, tree, undone};
use crate::support::{World, walk};
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

/// The journal of the only store.
fn journal(world: &World) -> PathBuf {
    let all = walk(&world.home().join("snapshots"));
    all.into_iter().find(|path| path.ends_with("journal")).unwrap()
}

/// As if the program had been killed after it had written down what it was about to do: what was recorded after that is cut
/// off.
fn kill_after_intent(world: &World) {
    let path = journal(world);
    let bytes = fs::read(&path).unwrap();
    let (mut at, mut end) = (0, None);
    while let Some(head) = bytes.get(at..at + 4) {
        let length = u32::from_le_bytes(head.try_into().unwrap()) as usize + 12;
        let record = &bytes[at..at + length];
        at += length;
        if record.windows(10).any(|window| window == b"\"intent\":{") {
            end = Some(at);
        }
    }
    fs::write(&path, &bytes[..end.expect("nothing was written down before the first write")])
        .unwrap();
    // The state it was in when it died is not in the index either.
    assert!(at > end.unwrap());
}

fn bash(command: &str) -> Reply {
    calls([("Bash", json!({ "command": command }))])
}

/// A directory that is closed to writing, so that it must be opened for the work; one file changed twice.
fn work() -> World {
    let world = World::new(
        Script::new()
            .answer(bash(
                "chmod 700 closed; rm closed/a; echo one > twice; rm -r gone; chmod 500 closed",
            ))
            .answer(bash("echo two > twice; echo made > made; ln -sf other link"))
            .answer(text("done"))
            .answer(bash("echo three > three"))
            .answer(text("done")),
    );
    for name in ["closed/a", "gone/deep/b", "twice"] {
        world.file(name, "precious\n");
    }
    sh(&world, "ln -s first link; chmod 500 closed");
    world
}

/// Half of it is done: the directory is open, one thing is back, one is not, and a temporary file is left.
fn half(world: &World) {
    sh(
        world,
        "chmod 700 closed; rm -r gone; mkdir gone; chmod 700 gone; rm -f link; ln -s other link; echo two > twice",
    );
    let store = journal(world).parent().unwrap().canonicalize().unwrap();
    let name = sh(world, &format!("printf %s '{}' | sha256sum", store.display()));
    world.file(&format!("closed/.ostler-{}00000007.tmp", &name[..8]), "half");
}

#[test]
fn a_killed_undo_is_finished() {
    let world = work();
    let before = tree(&world);
    assert_eq!(world.go().code, Some(0));
    let after = tree(&world);
    let (ran, said) = undone(&world, &["2"]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert_eq!(tree(&world), before);
    kill_after_intent(&world);
    half(&world);
    let dry = world.run(&["undo", "--dry-run"]);
    assert!(dry.stdout.contains("was interrupted"), "{}", dry.stdout);
    let (ran, said) = undone(&world, &[]);
    assert_eq!(tree(&world), before, "{said:#}");
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert_eq!(said["calls"].as_array().map(Vec::len), Some(2), "{said:#}");
    assert!(said["notices"].to_string().contains("Finished the undo"), "{said:#}");
    // It is done now, and can be redone as if nothing had happened.
    assert_eq!(undone(&world, &[]).0.code, Some(1));
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(0));
    assert_eq!(tree(&world), after);
}

#[test]
fn a_killed_redo_is_finished() {
    let world = work();
    assert_eq!(world.go().code, Some(0));
    let after = tree(&world);
    assert_eq!(undone(&world, &["2"]).0.code, Some(0));
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(0));
    assert_eq!(tree(&world), after);
    kill_after_intent(&world);
    sh(&world, "chmod 700 closed; echo precious > twice; rm made; rm link; ln -s first link");
    let (ran, said) = undone(&world, &["--redo"]);
    assert_eq!(tree(&world), after, "{said:#}");
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert!(said["notices"].to_string().contains("Finished the redo"), "{said:#}");
}

#[test]
fn a_killed_rewind_is_finished() {
    let world = work();
    let before = tree(&world);
    assert_eq!(world.go().code, Some(0));
    assert_eq!(world.run(&["rewind", "--to", "1", "--files"]).code, Some(0));
    kill_after_intent(&world);
    half(&world);
    let ran = world.run(&["rewind", "--to", "1"]);
    assert_eq!(tree(&world), before, "{}", ran.stdout);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains("Finished the undo"), "{}", ran.stdout);
    assert!(ran.stdout.contains("The conversation continues"), "{}", ran.stdout);
}

/// Who continued working from where it stopped does not have it finished behind their back.
#[test]
fn an_undo_that_was_left_alone_is_not_finished_later() {
    let world = work();
    assert_eq!(world.go().code, Some(0));
    assert_eq!(undone(&world, &["1"]).0.code, Some(0));
    kill_after_intent(&world);
    sh(&world, "echo two > twice");
    let on = ["-p", "on", "--continue", "--permission-mode", "bypassPermissions"];
    assert_eq!(world.run(&on).code, Some(0));
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert_eq!(said["calls"][0]["what"], "echo three > three", "{said:#}");
    assert_eq!(world.read("twice"), "two\n");
}

/// What is to be kept now is kept, also when the undo that is finished did not know of it.
#[test]
fn finishing_an_undo_keeps_what_is_asked_for() {
    let world = work();
    assert_eq!(world.go().code, Some(0));
    assert_eq!(undone(&world, &["2"]).0.code, Some(0));
    kill_after_intent(&world);
    sh(&world, "echo two > twice; echo made > made");
    let (ran, _) = undone(&world, &["--keep", "maed"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_eq!((world.read("twice"), world.read("made")), ("two\n".into(), "made\n".into()));
    let (ran, said) = undone(&world, &["--keep", "made"]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert!(said["notices"].to_string().contains("Finished the undo"), "{said:#}");
    assert_eq!((world.read("twice"), world.read("made")), ("precious\n".into(), "made\n".into()));
}

fn turns(world: &World) -> usize {
    world.run(&["rewind", "--json"]).stdout.lines().count()
}

/// The conversation belongs to a redo as the files do: killed between the two, it is finished with both.
#[test]
fn a_redo_that_was_killed_before_the_conversation_came_back_is_finished() {
    for is_written in [false, true] {
        let world = work();
        assert_eq!(world.go().code, Some(0));
        assert_eq!(world.run(&["rewind", "--to", "1"]).code, Some(0));
        assert_eq!(turns(&world), 0);
        let log = world.logs()[0].clone();
        let rewound = fs::read(&log).unwrap();
        let (ran, said) = undone(&world, &["--redo"]);
        assert_eq!((ran.code, turns(&world)), (Some(0), 1), "{said:#}");
        kill_after_intent(&world);
        if !is_written {
            fs::write(&log, rewound).unwrap();
            assert_eq!(turns(&world), 0);
        }
        let (ran, said) = undone(&world, &["--redo"]);
        assert_eq!((ran.code, turns(&world)), (Some(0), 1), "{said:#}");
        assert!(said["notices"].to_string().contains("Finished the redo"), "{said:#}");
        assert_eq!(undone(&world, &["--redo"]).0.code, Some(1), "there is nothing left to redo");
    }
}
