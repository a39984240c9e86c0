//! A store whose process dies at any of its writes can be read, goes on, and loses no snapshot it has given out.

use crate::support::{World, undo};
use ostler_snapshots::Rule;
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
        let died = snapshots.prune(Rule { newest: 2, ..Rule::default() }, false).is_err();
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

/// Without its index a store begins anew, and says that what was before cannot be compared.
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
