//! What a person is shown and asked before something is taken back, and what refuses to begin.

use super::{running, sh, tree, undone};
use crate::support::{World, finish, open_gate, until};
use crate::talk::Talk;
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn changed() -> World {
    let world = running(&["echo new > new.txt; echo changed > old.txt; mkdir d; echo x > d/x"]);
    world.file("old.txt", "old\n");
    assert_eq!(world.go().code, Some(0));
    world
}

#[test]
fn every_path_is_listed_before_it_is_taken_back() {
    let world = changed();
    let before = tree(&world);
    let dry = world.run(&["undo", "--dry-run"]);
    assert_eq!((dry.code, tree(&world)), (Some(0), before), "{}", dry.stderr);
    let lines =
        ["  remove   d\n", "  remove   d/x\n", "  remove   new.txt\n", "  restore  old.txt\n"];
    for line in lines {
        assert!(dry.stdout.contains(line), "{line:?} in {}", dry.stdout);
    }
    assert!(dry.stdout.contains("--keep PATH") && !dry.stdout.contains("Undone"), "{}", dry.stdout);
    // Nobody is there to be asked: the same list, and it is done.
    let done = world.run(&["undo"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let (list, rest) = done.stdout.split_once("Undone: ").unwrap();
    assert!(lines.iter().all(|line| list.contains(line)), "{}", done.stdout);
    assert!(rest.contains("1 restored, 3 removed"), "{rest}");
    assert_eq!(sh(&world, "ls; cat old.txt"), "old.txt\nold\n");
}

#[test]
fn what_is_to_stay_stays_and_is_said() {
    let world = changed();
    let (typo, _) = undone(&world, &["--keep", "od.txt"]);
    assert_eq!(typo.code, Some(2), "{}", typo.stderr);
    assert!(typo.stderr.contains("\"od.txt\"") && typo.stderr.contains("nothing was changed"));
    assert_eq!(world.read("old.txt"), "changed\n");
    let args = ["undo", "--keep", "old.txt", "--keep", "d/*"];
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(0), "as asked: {} {}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("keep     old.txt: --keep asks for it"), "{}", ran.stdout);
    assert_eq!(sh(&world, "ls; cat old.txt d/x"), "d\nold.txt\nchanged\nx\n");
    // The rest comes back with a redo, and what stayed is not touched by it.
    assert_eq!(world.run(&["undo", "--redo"]).code, Some(0));
    assert_eq!(sh(&world, "ls; cat old.txt"), "d\nnew.txt\nold.txt\nchanged\n");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let world = changed();
    let before = tree(&world);
    for answer in ["n", "", "yikes"] {
        let mut talk = Talk::on_terminal(&world.command(&["undo"]));
        let list = talk.expect("[y/N] ");
        assert!(list.contains("remove   new.txt"), "{list}");
        talk.send_line(answer);
        let left = talk.finish();
        assert_eq!(left.code, Some(1), "{answer}: {}", left.said);
        assert!(left.said.contains("Nothing was changed."), "{}", left.said);
        assert_eq!(tree(&world), before, "{answer}");
    }
    let mut talk = Talk::on_terminal(&world.command(&["undo"]));
    talk.expect("[y/N] ");
    talk.send_line("y");
    let left = talk.finish();
    assert_eq!(left.code, Some(0), "{}", left.said);
    assert_eq!(sh(&world, "ls"), "old.txt\n");
    // Nobody is asked for a redo, nor with --yes.
    for args in [["undo", "--redo"], ["undo", "--yes"]] {
        let left = Talk::on_terminal(&world.command(&args)).finish();
        assert_eq!(left.code, Some(0), "{}", left.said);
        assert!(!left.said.contains("[y/N]"), "{}", left.said);
    }
    assert_eq!(sh(&world, "ls"), "old.txt\n");
}

/// A yes is for what was shown.
#[test]
fn what_changes_while_a_person_decides_is_not_taken_back() {
    let world = changed();
    let mut talk = Talk::on_terminal(&world.command(&["undo"]));
    talk.expect("[y/N] ");
    world.file("new.txt", "mine\n");
    talk.send_line("y");
    let left = talk.finish();
    assert_eq!(left.code, Some(1), "{}", left.said);
    assert!(left.said.contains("while you were deciding"), "{}", left.said);
    assert_eq!(
        (world.read("new.txt"), world.read("old.txt")),
        ("mine\n".into(), "changed\n".into())
    );
}

/// What a single file tool did is known exactly; several calls are asked about whatever they are.
#[test]
fn one_edit_is_taken_back_unasked() {
    let write = |name: &str| calls([("Write", json!({"file_path": name, "content": "x\n"}))]);
    let script = Script::new().answer(write("a")).answer(write("b")).answer(write("c"));
    let world = World::new(script.answer(text("done")));
    assert_eq!(world.go().code, Some(0));
    let left = Talk::on_terminal(&world.command(&["undo"])).finish();
    assert_eq!(left.code, Some(0), "{}", left.said);
    assert_eq!(sh(&world, "ls"), "a\nb\n");
    let mut talk = Talk::on_terminal(&world.command(&["undo", "2"]));
    talk.expect("[y/N] ");
    talk.send_line("yes");
    assert_eq!(talk.finish().code, Some(0));
    assert_eq!(sh(&world, "ls"), "");
}

/// Neither the session whose command runs nor another one of the directory can be undone meanwhile.
#[test]
fn nothing_is_undone_while_a_command_runs() {
    let world = running(&["echo 1 > one"]);
    assert_eq!(world.go().code, Some(0));
    let other = running(&["echo begun > begun; cat gate > /dev/null; echo 2 > two"]);
    sh(&world, "mkfifo gate");
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let mut command = other.command(&args);
    command.current_dir(world.project()).env("OSTLER_HOME", world.home());
    let child = command.spawn().unwrap();
    until("it runs", || world.read("begun") == "begun\n");
    let sessions = world.run(&["sessions", "--json"]).frames();
    for session in &sessions {
        let id = session["id"].as_str().unwrap();
        for args in [
            vec!["undo", "--session", id],
            vec!["undo", "--dry-run", "--session", id],
            vec!["undo", "--redo", "--session", id],
            vec!["rewind", "--to", "1", "--files", "--session", id],
        ] {
            let ran = world.run(&args);
            assert_eq!(ran.code, Some(75), "{args:?}: {} {}", ran.stdout, ran.stderr);
            assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
            let named = ran.stderr.contains("a command is running in this directory")
                && ran.stderr.contains("\"echo begun > begun; cat gate");
            assert!(named, "{}", ran.stderr);
        }
    }
    assert_eq!(sessions.len(), 2);
    // Looking is no undoing.
    assert_eq!(world.run(&["rewind"]).code, Some(0));
    assert_eq!(world.run(&["snapshots", "list"]).code, Some(0));
    assert_eq!((world.read("one"), world.read("begun")), ("1\n".into(), "begun\n".into()));
    open_gate(&world, "gate");
    assert_eq!(finish(child).code, Some(0));
    assert_eq!(undone(&world, &[]).0.code, Some(0));
    assert_eq!((world.read("one"), world.read("two")), ("1\n".into(), String::new()));
}
