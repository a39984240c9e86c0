//! Directories beside the working directory: added ones, and those in which a session is resumed.

use super::undone;
use crate::repl::start;
use crate::support::{Ran, World, finish};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::fs;
use std::path::Path;

fn bash(command: &str) -> ostler_model_server::Reply {
    calls([("Bash", json!({ "command": command }))])
}

fn run_in(world: &World, cwd: &Path, args: &[&str]) -> Ran {
    finish(world.command(args).current_dir(cwd).spawn().unwrap())
}

/// The very first thing that a session does is an edit in an added directory; no snapshot was ever taken.
#[test]
fn an_added_directory_is_covered_from_the_first_edit() {
    let base = World::new(Script::new().answer(text("unused")).forever());
    let other = base.project().with_file_name("other");
    let file = |name: &str| other.join(name).display().to_string();
    let world = World::new(
        Script::new()
            .answer(calls([("Read", json!({"file_path": file("old")}))]))
            .answer(calls([(
                "Edit",
                json!({"file_path": file("old"), "old_string": "two", "new_string": "TWO"}),
            )]))
            .answer(calls([("Write", json!({"file_path": file("new"), "content": "x\n"}))]))
            .answer(text("done"))
            .forever(),
    );
    fs::create_dir(&other).unwrap();
    fs::write(other.join("old"), "one\ntwo\n").unwrap();
    let added = other.display().to_string();
    let go = ["-p", "go", "--permission-mode", "bypassPermissions", "--add-dir", added.as_str()];
    assert_eq!(world.run(&go).code, Some(0));
    assert_eq!(fs::read_to_string(other.join("old")).unwrap(), "one\nTWO\n");
    let (ran, said) = undone(&world, &["2"]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert_eq!(fs::read_to_string(other.join("old")).unwrap(), "one\ntwo\n", "{said:#}");
    assert!(!other.join("new").exists(), "{said:#}");
}

/// A session that was resumed elsewhere is undone there, and only there.
#[test]
fn what_was_done_elsewhere_is_undone_there() {
    for first in ["here", "there"] {
        let world = World::new(
            Script::new()
                .answer(bash("echo here > made"))
                .answer(text("done"))
                .answer(bash("echo there > made"))
                .answer(text("done"))
                .forever(),
        );
        let here = world.project();
        let there = here.with_file_name("elsewhere");
        fs::create_dir(&there).unwrap();
        world.go();
        let id = world.logs()[0].file_stem().unwrap().to_str().unwrap().to_owned();
        let resume = ["-p", "on", "--resume", &id, "--permission-mode", "bypassPermissions"];
        assert_eq!(run_in(&world, &there, &resume).code, Some(0));
        assert_eq!(fs::read_to_string(there.join("made")).unwrap(), "there\n");
        let (one, two) = if first == "here" { (&here, &there) } else { (&there, &here) };
        let ran = run_in(&world, one, &["undo"]);
        assert_eq!(ran.code, Some(0), "{first}: {} {}", ran.stdout, ran.stderr);
        assert!(!one.join("made").exists() && two.join("made").exists(), "{first}: {}", ran.stdout);
        let again = run_in(&world, one, &["undo"]);
        assert_eq!(again.code, Some(1), "{first}: {}", again.stdout);
        assert!(two.join("made").exists(), "{first}: {}", again.stdout);
        let ran = run_in(&world, two, &["undo"]);
        assert_eq!(ran.code, Some(0), "{first}: {} {}", ran.stdout, ran.stderr);
        assert!(!two.join("made").exists(), "{first}: {}", ran.stdout);
        // And redone there, although something else was undone elsewhere since.
        let ran = run_in(&world, one, &["undo", "--redo"]);
        assert_eq!(ran.code, Some(0), "{first}: {} {}", ran.stdout, ran.stderr);
        assert!(one.join("made").exists() && !two.join("made").exists(), "{first}: {}", ran.stdout);
    }
}

/// A directory is added to a line session, which is killed: the resumed one works there, and undo covers it.
#[test]
fn a_directory_that_was_added_to_a_killed_session_is_covered() {
    let base = World::new(Script::new().answer(text("unused")).forever());
    let other = base.project().with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("old"), "one\n").unwrap();
    let change = format!("echo two >> {}", other.join("old").display());
    let script = Script::new().answer(text("hello")).answer(bash(&change)).answer(text("done"));
    let world = World::new(script);
    let mut talk = start(&world, false, &["--permission-mode", "bypassPermissions"]);
    talk.expect("> ");
    talk.send_line("hi");
    talk.expect("hello");
    talk.expect("> ");
    talk.send_line("/add-dir /no/such/place");
    talk.expect("cannot work in /no/such/place: ");
    talk.send_line(&format!("/add-dir {}", other.display()));
    talk.expect(&format!("{}\n", other.display()));
    talk.kill();
    let resume = ["-p", "go", "--continue", "--permission-mode", "bypassPermissions"];
    let ran = world.run(&resume);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(other.join("old")).unwrap(), "one\ntwo\n", "{}", ran.stdout);
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert_eq!(fs::read_to_string(other.join("old")).unwrap(), "one\n", "{said:#}");
}
