//! A store whose process dies at any of its writes can be read, continues, and loses no snapshot it has given out.

use crate::support::{World, undo};
use ostler_snapshots::PruneRule;
use std::fs;

#[test]
fn killed_at_any_write_of_a_snapshot() {
    let mut points = 0;
    for writes in 0.. {
        let world = World::new();
        world.put("a", "first");
        world.put("large", vec![7; 3 << 20]);
        let before = world.tree();
        let snapshots = world.open();
        let first = snapshots.take("first").unwrap().id;
        world.put("a", "second");
        world.put("b/c", "new");
        world.put("large", vec![8; 3 << 20]);
        snapshots.stop_after(writes);
        let died = snapshots.take("second").is_err();
        // Whatever its memory holds is gone with it.
        std::mem::forget(snapshots);
        points += 1;
        let again = world.open();
        assert_eq!(again.list().unwrap()[0].id, first, "{writes}");
        let second = again.take("again").unwrap().id;
        undo(&again, first, second);
        assert_eq!(world.tree(), before, "killed at write {writes}");
        if !died {
            break;
        }
    }
    println!("kill points of a snapshot: {points}");
    assert!(points > 8, "{points}");
}

#[test]
fn killed_at_any_write_of_the_first_snapshot() {
    for writes in 0.. {
        let world = World::new();
        world.put("a", "first");
        world.put("b/c", "first");
        let before = world.tree();
        let snapshots = world.open();
        snapshots.stop_after(writes);
        let died = snapshots.take("first").is_err();
        std::mem::forget(snapshots);
        let again = world.open();
        let first = again.take("again").unwrap().id;
        fs::remove_dir_all(world.root.join("b")).unwrap();
        let second = again.take("gone").unwrap().id;
        undo(&again, first, second);
        assert_eq!(world.tree(), before, "killed at write {writes}");
        if !died {
            break;
        }
    }
}

#[test]
fn killed_at_any_write_of_pruning() {
    for writes in 0.. {
        let world = World::new();
        world.put("a", "0");
        let snapshots = world.open();
        let mut ids = vec![snapshots.take("start").unwrap().id];
        for n in 1..6 {
            world.put("a", format!("content {n}"));
            ids.push(snapshots.take("next").unwrap().id);
        }
        snapshots.stop_after(writes);
        let died = snapshots.prune(PruneRule { newest: 2, ..PruneRule::default() }, false).is_err();
        std::mem::forget(snapshots);
        let again = world.open();
        let last = again.take("again").unwrap().id;
        undo(&again, ids[4], last);
        assert_eq!(world.read("a").unwrap(), "content 4", "killed at write {writes}");
        if !died {
            break;
        }
    }
}

/// Without its index a store starts from scratch, and says that what was before cannot be compared.
#[test]
fn a_damaged_index_is_not_believed() {
    let world = World::new();
    world.put("a", "first");
    let snapshots = world.open();
    let first = snapshots.take("first").unwrap().id;
    drop(snapshots);
    let index = world.config().dir.join("index");
    let mut bytes = fs::read(&index).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&index, bytes).unwrap();
    world.put("a", "second");
    let again = world.open();
    let second = again.take("again").unwrap();
    assert_ne!(second.id, first);
    assert!(again.diff(first, second.id).is_err());
    world.put("a", "third");
    let third = again.take("third").unwrap().id;
    undo(&again, second.id, third);
    assert_eq!(world.read("a").unwrap(), "second");
}

#[test]
fn a_damaged_content_is_not_restored() {
    let world = World::new();
    world.put("a", "precious");
    let snapshots = world.open();
    let first = snapshots.take("first").unwrap().id;
    world.put("a", "other");
    let second = snapshots.take("second").unwrap().id;
    let objects = world.config().dir.join("objects");
    for folder in fs::read_dir(&objects).unwrap().flatten() {
        for object in fs::read_dir(folder.path()).unwrap().flatten() {
            fs::write(object.path(), "damaged!").unwrap();
        }
    }
    let said = undo(&snapshots, first, second);
    assert_eq!(world.read("a").unwrap(), "other");
    assert!(matches!(said[0].fate, ostler_snapshots::Fate::Lost(_)), "{said:?}");
}

/// The logs of sessions name snapshots by their numbers: those of damaged records are not given again.
#[test]
fn damaged_records_are_not_taken_for_others() {
    let world = World::new();
    world.put("a", "0");
    let snapshots = world.open();
    let mut ids = vec![snapshots.take("start").unwrap().id];
    for n in 1..6 {
        world.put("a", format!("content {n}"));
        ids.push(snapshots.take("next").unwrap().id);
    }
    drop(snapshots);
    let journal = world.config().dir.join("journal");
    let mut bytes = fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&journal, bytes).unwrap();
    world.put("a", "content 6");
    let again = world.open();
    let last = again.take("again").unwrap().id;
    assert!(last > ids[5], "{last} {ids:?}");
    world.put("a", "content 7");
    let newest = world.open().take("and on").unwrap().id;
    assert!(again.diff(ids[0], ids[1]).is_ok(), "what is whole can be compared");
    assert!(again.diff(ids[4], ids[5]).is_err());
    assert!(again.diff(ids[0], newest).is_err());
    undo(&again, last, newest);
    assert_eq!(world.read("a").unwrap(), "content 6");
}

/// Who only looks does not touch what another process is writing.
#[test]
fn a_look_repairs_nothing() {
    let world = World::new();
    world.put("a", "first");
    world.open().take("first").unwrap();
    let dir = world.config().dir;
    let written = dir.join("tmp-1-1");
    fs::write(&written, "being written").unwrap();
    let journal = dir.join("journal");
    let half = [fs::read(&journal).unwrap(), vec![200, 0, 0, 0, 1, 2, 3]].concat();
    fs::write(&journal, &half).unwrap();
    let looking = world.open();
    assert!(!looking.is_new() && looking.left_out().is_empty() && looking.denied().is_empty());
    assert_eq!(looking.list().unwrap().len(), 1);
    assert!(written.exists() && fs::read(&journal).unwrap() == half);
    // Whoever has the lock does.
    world.put("a", "second");
    assert_eq!(looking.take("second").unwrap().id, 2);
    assert!(!written.exists());
    assert_eq!(world.open().list().unwrap().len(), 2);
}
