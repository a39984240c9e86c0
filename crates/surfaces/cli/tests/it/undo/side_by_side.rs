//! Commands of one answer that write files of their own run at the same time, and are undone one by one or together.
//! Each waits at a gate that the test opens: that both have written before either was let go proves that they overlap.

use super::{tree, undone};
use crate::support::{World, finish, open_gate, signal, until, walk};
use ostler_model_server::{Script, calls, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

const RUN: [&str; 6] =
    ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];

/// A model that runs these commands in one answer, in a project with a gate for each of the first two.
fn at_once(commands: &[&str]) -> World {
    let bash = |command: &&str| ("Bash", json!({ "command": command }));
    let script = Script::new().answer(calls(commands.iter().map(bash))).answer(text("done"));
    let world = World::new(script.forever());
    for gate in ["gate1", "gate2"] {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let path = world.project().join(gate);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    world
}

const ONE: &str = "echo one > a; cat gate1";
const TWO: &str = "echo two >> b; cat gate2";

fn start(world: &World) -> Child {
    world.command(&RUN).spawn().unwrap()
}

fn holds(world: &World, name: &str, content: &str) -> bool {
    fs::read_to_string(world.project().join(name)).is_ok_and(|text| text == content)
}

fn both_wrote(world: &World) {
    until("both commands have written", || {
        holds(world, "a", "one\n") && holds(world, "b", "two\n")
    });
}

fn both_end(world: &World, child: Child) {
    both_wrote(world);
    // In the other order than they began in.
    open_gate(world, "gate2");
    open_gate(world, "gate1");
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
}

fn checkpoints(world: &World) -> Vec<Value> {
    world.entries().into_iter().filter(|entry| entry["fact"] == "checkpoint").collect()
}

fn result(world: &World, index: usize) -> String {
    let result = world.server.requests()[1].tool_results()[index]["content"].clone();
    result.as_str().map_or_else(|| result.to_string(), str::to_owned)
}

#[test]
fn commands_with_files_of_their_own_overlap_and_are_undone_one_by_one() {
    let world = at_once(&[ONE, TWO]);
    world.file("b", "");
    let before = tree(&world);
    both_end(&world, start(&world));
    let points = checkpoints(&world);
    assert_eq!(points.len(), 4, "{points:?}");
    let range = |point: &Value| (point["before"].clone(), point["after"].clone());
    assert_eq!(range(&points[2]), range(&points[3]), "one snapshot before and one after");

    // The second one alone, whoever ended first; what the first one wrote stays.
    let (ran, told) = undone(&world, &[]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert!(told.to_string().contains("echo two") && !told.to_string().contains("echo one"));
    assert!(holds(&world, "a", "one\n") && holds(&world, "b", ""), "{:?}", tree(&world));
    // Redo and undo of both.
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(0));
    assert!(holds(&world, "a", "one\n") && holds(&world, "b", "two\n"));
    assert_eq!(undone(&world, &["2"]).0.code, Some(0));
    assert_eq!(tree(&world), before);
    assert_eq!(undone(&world, &[]).0.code, Some(1), "nothing is left to undo");
}

#[test]
fn a_rewind_takes_back_the_whole_group_and_the_list_names_its_commands() {
    let world = at_once(&[ONE, TWO]);
    let before = tree(&world);
    both_end(&world, start(&world));
    let list = world.run(&["snapshots", "list"]);
    assert!(list.stdout.contains("echo one > a; cat gate1 & echo two >> b"), "{}", list.stdout);
    let ran = world.run(&["rewind", "--to", "1", "--files", "--yes"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(tree(&world), before);
}

/// What was made by nobody of the group is a person's, because the kernel kept all of them from it.
#[test]
fn what_a_person_changes_meanwhile_stays() {
    let world = at_once(&[ONE, TWO]);
    let child = start(&world);
    both_wrote(&world);
    world.file("mine", "precious\n");
    both_end(&world, child);
    assert_eq!(undone(&world, &["2"]).0.code, Some(0));
    assert!(holds(&world, "mine", "precious\n"));
    assert!(!world.project().join("a").exists() && !world.project().join("b").exists());
}

/// The proof was about another file than the one that the name leads to by now. The kernel goes by the file.
#[test]
fn a_command_that_writes_elsewhere_is_stopped() {
    let world = at_once(&["cat gate1; echo one > sub/a", TWO]);
    fs::create_dir(world.project().join("sub")).unwrap();
    world.file("elsewhere/a", "precious\n");
    let child = start(&world);
    until("the second one has written", || holds(&world, "b", "two\n"));
    fs::rename(world.project().join("sub"), world.project().join("old")).unwrap();
    std::os::unix::fs::symlink("elsewhere", world.project().join("sub")).unwrap();
    open_gate(&world, "gate1");
    open_gate(&world, "gate2");
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert!(holds(&world, "elsewhere/a", "precious\n"));
    let told = result(&world, 0);
    assert!(told.contains("Read-only file system"), "{told}");
    assert!(told.contains("only to the files that its text names"), "{told}");
}

/// A file that a command does not come to create is not there afterwards, nor while others look.
#[test]
fn a_file_that_was_not_created_is_not_left_behind() {
    let world = at_once(&["cat nothing && touch x", "false || true >> y", "false && touch z"]);
    let ran = finish(start(&world));
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    let exists = |name: &str| world.project().join(name).exists();
    assert!(!exists("x") && exists("y") && !exists("z"), "{:?}", tree(&world));
}

/// How many commands are known to have lived after these files were written.
fn signs_since(world: &World, files: &[&str]) -> usize {
    let changed = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).unwrap();
    let written = files.iter().map(|name| changed(&world.project().join(name))).max().unwrap();
    let all = walk(&world.home().join("snapshots"));
    let is_sign = |path: &&PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("alive-"))
    };
    all.iter().filter(is_sign).filter(|path| changed(path) > written).count()
}

#[test]
fn a_group_that_was_killed_is_known_and_undone() {
    for how_many in ["1", "2"] {
        let world = at_once(&[ONE, TWO]);
        let before = tree(&world);
        let mut child = start(&world);
        both_wrote(&world);
        until("both have shown a sign of life since", || signs_since(&world, &["a", "b"]) == 2);
        signal(&child, Signal::KILL);
        child.wait().unwrap();
        until("the commands have ended", || undone(&world, &["--dry-run"]).0.code != Some(75));
        let (ran, told) = undone(&world, &[how_many]);
        assert_eq!(ran.code, Some(0), "{how_many}: {} {}", ran.stdout, ran.stderr);
        if how_many == "1" {
            assert!(holds(&world, "a", "one\n"), "{told} {:?}", tree(&world));
            assert!(!world.project().join("b").exists(), "{told}");
            assert_eq!(undone(&world, &[]).0.code, Some(0));
        }
        assert_eq!(tree(&world), before, "{how_many}");

        let resumed = world.run(&[&RUN[..], &["--continue"]].concat());
        assert_eq!(resumed.code, Some(0), "{} {}", resumed.stdout, resumed.stderr);
        let asked = world.server.requests().pop().unwrap().json().to_string();
        assert_eq!(asked.matches("It may have taken effect").count(), 2, "{asked}");
    }
}

#[test]
fn an_interrupted_group_is_kept_before_the_program_ends() {
    let world = at_once(&[ONE, TWO]);
    let before = tree(&world);
    let child = start(&world);
    both_wrote(&world);
    signal(&child, Signal::INT);
    finish(child);
    let closed = checkpoints(&world).into_iter().filter(|point| !point["after"].is_null());
    assert_eq!(closed.count(), 2);
    assert_eq!(undone(&world, &["2"]).0.code, Some(0));
    assert_eq!(tree(&world), before);
}

/// One that cannot be held to single files waits for the others and runs alone.
#[test]
fn a_command_that_replaces_its_file_runs_alone() {
    let world = at_once(&[ONE, "sed -i s/x/y/ c", TWO]);
    world.file("c", "x\n");
    let child = start(&world);
    both_end(&world, child);
    assert!(holds(&world, "c", "y\n"));
    let points = checkpoints(&world);
    let alone = points.iter().filter(|point| point["only"].is_null()).count();
    assert_eq!((points.len(), alone), (6, 2), "{points:?}");
}
