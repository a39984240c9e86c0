//! An undo that is killed at any of its writes is finished by the next one.

use crate::support::{Tree, World};
use ostler_snapshots::{Error, Fate, Snapshots, UndoUnit};
use std::fs;

fn unit(snapshots: &Snapshots, before: u64, after: u64) -> UndoUnit {
    let wanted = snapshots.diff(before, after).unwrap().into_iter().map(Into::into).collect();
    UndoUnit { wanted, ..UndoUnit::default() }
}

/// Two calls with a person's edit after them: texts to be merged, a conflict, kinds that changed, modes, a directory
/// that is closed to its owner, links, directories that went and came.
struct Story {
    world: World,
    units: Vec<UndoUnit>,
}

fn story() -> Story {
    let world = World::new();
    for name in ["twice", "merged", "clash", "closed/a", "closed/deep/b", "gone/deep/c", "kind"] {
        world.put(name, "1\n2\n3\n4\n5\n");
    }
    world.put("other-kind/x", "x");
    world.link("link", "one");
    world.mode("closed", 0o500);
    world.mode("closed/deep", 0o550);
    let snapshots = world.open();
    let first = snapshots.take("first").unwrap().id;
    // As root nothing is closed; as anybody else it is opened first.
    for (name, mode) in [("closed", 0o700), ("closed/deep", 0o700)] {
        world.mode(name, mode);
    }
    world.put("twice", "by the first\n");
    world.put("merged", "one\n2\n3\n4\n5\n");
    world.put("clash", "by the first\n");
    fs::remove_file(world.root.join("closed/a")).unwrap();
    world.put("closed/deep/b", "by the first\n");
    fs::remove_dir_all(world.root.join("gone")).unwrap();
    fs::remove_file(world.root.join("kind")).unwrap();
    world.put("kind/now/a/folder", "x");
    fs::remove_dir_all(world.root.join("other-kind")).unwrap();
    world.put("other-kind", "now a file");
    fs::remove_file(world.root.join("link")).unwrap();
    world.link("link", "two");
    world.mode("closed/deep", 0o500);
    world.mode("closed", 0o500);
    let second = snapshots.take("second").unwrap().id;
    world.put("twice", "by the second\n");
    world.put("made/deep/d", "by the second\n");
    fs::remove_dir_all(world.root.join("kind")).unwrap();
    let third = snapshots.take("third").unwrap().id;
    world.put("merged", "one\n2\n3\n4\nfive\n");
    world.put("clash", "by the person\n");
    let units = vec![unit(&snapshots, second, third), unit(&snapshots, first, second)];
    Story { world, units }
}

fn went_back(tree: &Tree, world: &World) {
    assert_eq!(world.read("twice").unwrap(), "1\n2\n3\n4\n5\n");
    assert_eq!(world.read("merged").unwrap(), "1\n2\n3\n4\nfive\n");
    assert_eq!(world.read("clash").unwrap(), "by the person\n");
    assert_eq!(world.read("clash.before-undo").unwrap(), "1\n2\n3\n4\n5\n");
    assert_eq!(tree.len(), 15, "{tree:#?}");
}

#[test]
fn killed_at_any_write_of_an_undo() {
    let whole = story();
    let snapshots = whole.world.open();
    snapshots.take("before undo").unwrap();
    let plan = snapshots.plan(&whole.units).unwrap();
    let mut expected = snapshots.restore(&plan).unwrap();
    let wanted = whole.world.tree();
    went_back(&wanted, &whole.world);
    let root = |outcomes: &mut Vec<ostler_snapshots::PlanOutcome>, world: &World| {
        for outcome in outcomes.iter_mut() {
            outcome.path = outcome.path.strip_prefix(&world.root).unwrap().to_owned();
            if let Fate::Beside(path) = &mut outcome.fate {
                *path = path.strip_prefix(&world.root).unwrap().to_owned();
            }
        }
    };
    root(&mut expected, &whole.world);
    let mut points = 0;
    for writes in 0.. {
        let Story { world, units } = story();
        let snapshots = world.open();
        snapshots.be_alone().unwrap();
        let before = snapshots.take("before undo").unwrap().id;
        let plan = snapshots.plan(&units).unwrap();
        snapshots.stop_after(writes);
        let died = snapshots.restore(&plan).is_err();
        drop(snapshots);
        points += 1;
        // Killed once more on the way.
        let again = world.open();
        again.be_alone().unwrap();
        let now = again.take("rest").unwrap().id;
        let plan = again.plan_again(&units, before, now).unwrap();
        again.stop_after(writes / 2);
        let _ = again.restore(&plan);
        drop(again);
        let last = world.open();
        last.be_alone().unwrap();
        let now = last.take("rest").unwrap().id;
        let plan = last.plan_again(&units, before, now).unwrap();
        let mut said = last.restore(&plan).unwrap();
        assert_eq!(world.tree(), wanted, "killed at write {writes}");
        root(&mut said, &world);
        assert_eq!(said, expected, "killed at write {writes}");
        if !died {
            break;
        }
    }
    println!("kill points of an undo: {points}");
    assert!(points > 40, "{points}");
}

/// What a person did after the kill stays, and is said.
#[test]
fn what_was_changed_after_the_kill_stays() {
    let Story { world, units } = story();
    let snapshots = world.open();
    let before = snapshots.take("before undo").unwrap().id;
    let plan = snapshots.plan(&units).unwrap();
    snapshots.stop_after(6);
    assert!(snapshots.restore(&plan).is_err());
    drop(snapshots);
    world.put("twice", "by the person\n");
    let again = world.open();
    let now = again.take("rest").unwrap().id;
    let plan = again.plan_again(&units, before, now).unwrap();
    let said = again.restore(&plan).unwrap();
    assert_eq!(world.read("twice").unwrap(), "by the person\n");
    let fate = said.iter().find(|outcome| outcome.path == world.root.join("twice")).unwrap();
    assert!(matches!(fate.fate, Fate::Kept(_)), "{fate:?}");
    assert_eq!(world.read("gone/deep/c").unwrap(), "1\n2\n3\n4\n5\n");
}

/// Temporary files of an undo go with the next look, unless it is still at work.
#[test]
fn temporary_files_go_when_nobody_restores() {
    let names = |world: &World| {
        let is_ours = |path: &&std::path::PathBuf| path.to_string_lossy().contains(".ostler-");
        world.tree().keys().filter(is_ours).count()
    };
    let mut left = 0;
    for writes in 0..60 {
        let Story { world, units } = story();
        let snapshots = world.open();
        snapshots.be_alone().unwrap();
        snapshots.take("before undo").unwrap();
        let plan = snapshots.plan(&units).unwrap();
        snapshots.stop_after(writes);
        let died = snapshots.restore(&plan).is_err();
        let found = names(&world);
        left += found;
        let other = world.open();
        assert!(matches!(other.be_alone(), Err(Error::Undoing)));
        other.take("beside it").unwrap();
        assert_eq!(names(&world), found, "the undo is still at work");
        drop(snapshots);
        other.take("after it").unwrap();
        assert_eq!(names(&world), 0, "killed at write {writes}");
        if !died {
            break;
        }
    }
    assert!(left > 5, "no undo left a temporary file: {left}");
}
