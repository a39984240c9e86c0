//! The exit codes that docs/undo.md names, each produced by the real program.

use super::{running, sh};
use crate::support::{World, finish, open_gate, until, walk};
use crate::talk::Talk;
use std::collections::BTreeSet;
use std::path::PathBuf;

const DOC: &str = include_str!("../../../../../../docs/undo.md");

/// The codes that were seen, each with the words that promise it.
#[derive(Default)]
struct Seen(BTreeSet<(i32, &'static str)>);

impl Seen {
    #[track_caller]
    fn run(&mut self, world: &World, args: &[&str], code: i32, promise: &'static str) {
        let ran = world.run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {} {}", ran.stdout, ran.stderr);
        if code == 74 || code == 75 {
            assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {}", ran.stderr);
        }
        self.0.insert((code, promise));
    }

    /// At a terminal, to say no.
    #[track_caller]
    fn refuse(&mut self, world: &World, args: &[&str]) {
        let mut talk = Talk::on_terminal(&world.command(args));
        talk.expect("[y/N] ");
        talk.send_line("n");
        let left = talk.finish();
        assert_eq!(left.code, Some(1), "{args:?}: {}", left.said);
        self.0.insert((1, "you answered no"));
    }
}

/// The only store of snapshots.
fn store(world: &World) -> PathBuf {
    let all = walk(&world.home().join("snapshots"));
    let journal = all.into_iter().find(|path| path.ends_with("journal")).unwrap();
    journal.parent().unwrap().to_path_buf()
}

/// A file is changed by the only command of the only turn.
fn changed() -> World {
    let world = running(&["echo changed > old.txt; echo new > new.txt"]);
    world.file("old.txt", "old\n");
    assert_eq!(world.go().code, Some(0));
    world
}

fn all_is_as_before(seen: &mut Seen) {
    let world = changed();
    let all = "everything was restored";
    let apart = "apart from paths named with `--keep`";
    seen.run(&world, &["snapshots", "list"], 0, all);
    seen.run(&world, &["snapshots", "diff"], 0, all);
    seen.run(&world, &["snapshots", "prune"], 0, all);
    seen.run(&world, &["rewind"], 0, all);
    seen.run(&world, &["undo", "--dry-run"], 0, all);
    seen.run(&world, &["undo"], 0, all);
    seen.run(&world, &["undo", "--redo"], 0, all);
    seen.run(&world, &["rewind", "--to", "1", "--files"], 0, all);
    assert_eq!(sh(&world, "cat *"), "old\n");
    seen.run(&world, &["undo", "--redo", "--keep", "old.txt"], 0, apart);
    assert_eq!(sh(&world, "cat *"), "new\nold\n");
    let world = changed();
    seen.run(&world, &["undo", "--keep", "old.txt"], 0, apart);
    assert_eq!(sh(&world, "cat *"), "changed\n");
}

fn something_is_not_as_before(seen: &mut Seen) {
    let kept = "something was left as it is";
    for args in [&["undo"][..], &["undo", "--dry-run"], &["rewind", "--to", "1"]] {
        let world = changed();
        world.file("old.txt", "mine\n");
        seen.run(&world, args, 1, kept);
        assert_eq!(world.read("old.txt"), "mine\n");
    }
    let world = changed();
    seen.run(&world, &["undo"], 0, "everything was restored");
    world.file("old.txt", "mine\n");
    seen.run(&world, &["undo", "--redo"], 1, kept);
    let world = changed();
    std::fs::remove_dir_all(world.home().join("snapshots")).unwrap();
    let lost = "could not be restored";
    seen.run(&world, &["undo"], 1, lost);
    seen.run(&world, &["rewind", "--to", "1"], 1, lost);
    assert_eq!(world.read("old.txt"), "changed\n");
}

fn there_is_nothing(seen: &mut Seen) {
    let world = running(&[]);
    let nothing = "there is nothing to undo";
    let all = [&["undo"][..], &["undo", "--redo"], &["rewind"], &["rewind", "--to", "1"]];
    for args in all {
        seen.run(&world, args, 1, nothing);
    }
    assert_eq!(world.go().code, Some(0));
    for args in [&["undo"][..], &["undo", "--dry-run"], &["undo", "--redo"]] {
        seen.run(&world, args, 1, nothing);
    }
    let other = ["undo", "--session", "00000000-none"];
    seen.run(&world, &other, 1, nothing);
    seen.run(&world, &["snapshots", "list"], 0, "everything was restored");
}

fn somebody_says_no(seen: &mut Seen) {
    let world = changed();
    seen.refuse(&world, &["undo"]);
    seen.refuse(&world, &["rewind", "--to", "1"]);
    assert_eq!(sh(&world, "cat *"), "new\nchanged\n");
}

fn the_call_is_wrong(seen: &mut Seen) {
    let world = changed();
    for args in [
        &["undo", "0"][..],
        &["undo", "x"],
        &["undo", "2", "--redo"],
        &["undo", "--nonsense"],
        &["undo", "--keep", "od.txt"],
        &["undo", "--keep", ""],
        &["rewind", "--to", "0"],
        &["rewind", "--to", "2"],
        &["rewind", "--to", "1", "--files", "--conversation"],
        &["rewind", "--to", "1", "--keep", "od.txt"],
        &["snapshots"],
        &["snapshots", "diff", "x"],
        &["snapshots", "nonsense"],
    ] {
        seen.run(&world, args, 2, "2 usage");
    }
    assert_eq!(sh(&world, "cat *"), "new\nchanged\n");
}

fn the_store_cannot_be_used(seen: &mut Seen) {
    let world = changed();
    let unusable = "74 the snapshots cannot be used";
    seen.run(
        &world,
        &["snapshots", "diff", "99"],
        74,
        "or the snapshot that `diff` names no longer exists",
    );
    // As another undo holds it.
    let lock = std::fs::File::open(store(&world).join("commands")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let changing = [&["undo"][..], &["undo", "--redo"], &["rewind", "--to", "1"]];
    for args in changing {
        seen.run(&world, args, 74, "a second one exits at once with code 74");
    }
    drop(lock);
    let snapshots = world.home().join("snapshots");
    std::fs::remove_dir_all(&snapshots).unwrap();
    std::fs::write(&snapshots, "").unwrap();
    let looking = [&["snapshots", "list"][..], &["snapshots", "diff"], &["snapshots", "prune"]];
    for args in changing.into_iter().chain(looking) {
        seen.run(&world, args, 74, unusable);
    }
    assert_eq!(sh(&world, "cat *"), "new\nchanged\n");
}

fn a_command_is_running(seen: &mut Seen) {
    let world = running(&["echo begun > begun; cat gate > /dev/null"]);
    sh(&world, "mkfifo gate");
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let child = world.command(&args).spawn().unwrap();
    until("it runs", || world.read("begun") == "begun\n");
    for args in [&["undo"][..], &["undo", "--redo"], &["rewind", "--to", "1", "--files"]] {
        seen.run(&world, args, 75, "75 a command is running");
    }
    seen.run(&world, &["snapshots", "list"], 0, "everything was restored");
    open_gate(&world, "gate");
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn each_documented_exit_code_is_produced() {
    let mut seen = Seen::default();
    all_is_as_before(&mut seen);
    something_is_not_as_before(&mut seen);
    there_is_nothing(&mut seen);
    somebody_says_no(&mut seen);
    the_call_is_wrong(&mut seen);
    the_store_cannot_be_used(&mut seen);
    a_command_is_running(&mut seen);
    for (code, promise) in &seen.0 {
        assert!(DOC.contains(promise), "docs/undo.md does not promise {code}: {promise}");
    }
    let (_, codes) = DOC.split_once("\nExit codes: ").unwrap();
    let (codes, _) = codes.split_once("\n\n").unwrap();
    let documented = codes.split('·').map(|part| part.split_whitespace().next().unwrap());
    let documented: BTreeSet<i32> = documented.map(|code| code.parse().unwrap()).collect();
    let produced: BTreeSet<i32> = seen.0.iter().map(|(code, _)| *code).collect();
    assert_eq!(produced, documented);
}
