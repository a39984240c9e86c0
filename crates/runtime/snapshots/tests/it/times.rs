//! Whose change it was, and whether something changed at all: by the file system's clock, not by ours, and by the content
//! where times prove nothing.

use crate::support::{World, now, undo};
use ostler_snapshots::{Moment, Snapshots};
use std::fs;
use std::os::unix::fs::symlink;

type OurClock = fn() -> u64;

fn ahead() -> u64 {
    now() + 60_000_000_000
}

fn behind() -> u64 {
    now() - 60_000_000_000
}

fn open(world: &World, ours: OurClock, whole_seconds: bool) -> Snapshots {
    let snapshots =
        Snapshots::open(ostler_snapshots::Config { now: ours, ..world.config() }).unwrap();
    if whole_seconds {
        snapshots.use_whole_seconds();
    }
    snapshots
}

/// Until the file system's clock has moved on.
fn later(snapshots: &Snapshots) -> Moment {
    let begun = snapshots.moment().earliest();
    loop {
        let moment = snapshots.moment();
        if moment.earliest() > begun {
            return moment;
        }
    }
}

/// A command that begins at once, within the same tick or second as everything before it.
#[test]
fn a_commands_work_is_seen_whatever_the_clocks_say() {
    for (name, ours) in [("right", now as OurClock), ("ahead", ahead), ("behind", behind)] {
        for whole_seconds in [false, true] {
            let case = format!("our clock is {name}, whole seconds: {whole_seconds}");
            let world = World::new();
            world.put("same-size", "0000");
            world.put("removed", "x");
            world.put("d/closed", "x");
            world.put("moved/inside", "x");
            world.link("link", "aaaa");
            let before = world.tree();
            let snapshots = open(&world, ours, whole_seconds);
            for round in 0..20 {
                let first = snapshots.take("before").unwrap().id;
                let started = snapshots.moment();
                fs::write(world.root.join("same-size"), format!("{:04}", round + 1)).unwrap();
                fs::remove_file(world.root.join("removed")).unwrap();
                fs::remove_file(world.root.join("link")).unwrap();
                symlink("bbbb", world.root.join("link")).unwrap();
                world.put("made", "x");
                world.mode("d/closed", 0o600);
                fs::rename(world.root.join("moved"), world.root.join("away")).unwrap();
                let taken = snapshots.take_since("after", &started).unwrap();
                assert_eq!(taken.older, None, "{case}, round {round}");
                undo(&snapshots, first, taken.id);
                assert_eq!(world.tree(), before, "{case}, round {round}");
            }
        }
    }
}

#[test]
fn every_change_of_the_same_size_is_seen() {
    for whole_seconds in [false, true] {
        let world = World::new();
        let snapshots = open(&world, ahead, whole_seconds);
        world.put("a", "0000");
        world.link("l", "0000");
        let mut last = snapshots.take("start").unwrap().id;
        for n in 1..100 {
            // Same size, often the same inode and the same stamps.
            fs::write(world.root.join("a"), format!("{n:04}")).unwrap();
            let taken = snapshots.take("next").unwrap();
            assert_eq!(taken.id, last + 1, "change {n} was not seen");
            fs::remove_file(world.root.join("l")).unwrap();
            world.link("l", &format!("{n:04}"));
            let taken = snapshots.take("next").unwrap();
            assert_eq!(taken.id, last + 2, "link {n} was not seen");
            last = taken.id;
        }
    }
}

/// What a person changed between the look and the start of the command is not the command's, by the same clocks.
#[test]
fn what_was_changed_before_a_moment_is_not_the_commands() {
    for ours in [now, ahead, behind] {
        for whole_seconds in [false, true] {
            let world = World::new();
            world.put("a", "1");
            world.put("b", "1");
            let snapshots = open(&world, ours, whole_seconds);
            let first = snapshots.take("before").unwrap();
            world.put("a", "by a person");
            let started = later(&snapshots);
            world.put("b", "by the command");
            let taken = snapshots.take_since("after", &started).unwrap();
            let found = (taken.changed, taken.older, taken.id);
            assert_eq!(found, (1, Some(first.id + 1), first.id + 2), "seconds: {whole_seconds}");
            undo(&snapshots, first.id + 1, taken.id);
            assert_eq!(world.read("a").unwrap(), "by a person");
            assert_eq!(world.read("b").unwrap(), "1");
        }
    }
}

/// Files in a directory that is moved keep their times; they are moved all the same.
#[test]
fn what_is_moved_with_its_folder_is_the_commands() {
    let world = World::new();
    world.put("a/deep/old", "1");
    world.put("b/deep/old", "2");
    let before = world.tree();
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap();
    // Everything in the directories is older than the start of the command.
    let started = later(&snapshots);
    fs::rename(world.root.join("a"), world.root.join("c")).unwrap();
    fs::rename(world.root.join("b"), world.root.join("a")).unwrap();
    let taken = snapshots.take_since("after", &started).unwrap();
    assert_eq!(taken.older, None);
    undo(&snapshots, first.id, taken.id);
    assert_eq!(world.tree(), before);
}

/// Reading the clock leaves nothing behind, not even another time of the directory.
#[test]
fn asking_for_the_time_changes_nothing() {
    let world = World::new();
    world.put("a", "1");
    let snapshots = world.open();
    let first = snapshots.take("first").unwrap().id;
    for _ in 0..10 {
        snapshots.moment();
        assert_eq!(snapshots.take("again").unwrap().id, first);
    }
    assert_eq!(world.tree().len(), 1);
}

/// A command whose end nobody saw, on a file system that knows only whole seconds.
#[test]
fn a_life_is_told_by_the_clock_of_the_folders() {
    for whole_seconds in [false, true] {
        let world = World::new();
        world.put("own", "1");
        let snapshots = open(&world, ahead, whole_seconds);
        let before = snapshots.take("before").unwrap().id;
        world.put("early", "by a person");
        let started = later(&snapshots);
        let alive = snapshots.alive("call", before, "make", &started).unwrap();
        world.put("own", "by the command");
        world.put("made/by it", "by the command");
        alive.beat();
        let now = snapshots.take("now").unwrap().id;
        let lived = snapshots.lived("call", before);
        let (own, doubtful) = snapshots.part_by_life(snapshots.diff(before, now).unwrap(), lived);
        let names = |changes: &[ostler_snapshots::RecordedChange]| -> Vec<String> {
            let name = |path: &std::path::Path| path.strip_prefix(&world.root).unwrap().to_owned();
            changes.iter().map(|change| name(&change.path).display().to_string()).collect()
        };
        assert_eq!(names(&own), ["made", "made/by it", "own"], "seconds: {whole_seconds}");
        assert_eq!(names(&doubtful), ["early"], "seconds: {whole_seconds}");
    }
}
