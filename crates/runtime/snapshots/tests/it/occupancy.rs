//! Commands and undo keep out of each other's way; and what is known of who did what.

use crate::support::World;
use ostler_snapshots::{AFTER_COMMAND, Error, NotesRead, PruneRule};

#[test]
fn commands_run_together_and_an_undo_alone() {
    let world = World::new();
    let (one, two) = (world.open().of_session("one"), world.open().of_session("two"));
    let first = one.occupy().unwrap();
    let second = two.occupy().unwrap();
    let alive = one.alive("call", 1, "make\n all", &one.moment()).unwrap();
    for store in [&one, &two] {
        match store.alone() {
            Err(Error::Running(name)) => assert_eq!(name, " (\"make all\" of session one)"),
            other => panic!("{other:?}"),
        }
    }
    // The signs of life are read as before.
    assert!(one.lived("call", 1).is_some());
    alive.ended();
    drop(first);
    assert!(matches!(one.alone(), Err(Error::Running(name)) if name.is_empty()));
    drop(second);
    let alone = two.alone().unwrap();
    assert!(matches!(one.alone(), Err(Error::Undoing)), "one undo at a time, and it is no command");
    // A command waits for it.
    let waiting = std::thread::spawn(move || one.occupy().is_ok());
    drop(alone);
    assert!(waiting.join().unwrap());
    assert!(two.alone().is_ok());
}

#[test]
fn snapshots_say_for_whom_they_were_taken() {
    let world = World::new();
    world.put("a", "1");
    let (one, two) = (world.open().of_session("one"), world.open().of_session("two"));
    let before = one.take_around("before a command", "make", None).unwrap();
    assert!(one.is_newest(before.id) && !two.is_newest(before.id));
    world.put("a", "2");
    let theirs = two.take_around(AFTER_COMMAND, "test\tall", None).unwrap();
    assert!(!one.is_newest(before.id), "somebody else has looked since");
    world.put("a", "3");
    let after = one.take_around(AFTER_COMMAND, "make", None).unwrap();
    let parts = world.open().parts(before.id, after.id).unwrap();
    let who: Vec<_> = parts
        .iter()
        .map(|part| (part.label.session.as_deref(), part.label.command.as_deref()))
        .collect();
    assert_eq!(who, [(Some("two"), Some("test all")), (Some("one"), Some("make"))]);
    assert!(parts.iter().all(|part| part.changes.len() == 1 && part.since <= part.at));
    assert!(matches!(one.parts(before.id, 99), Err(Error::Unknown(99))));
    let listed = one.list().unwrap();
    assert_eq!(listed[1].label.session.as_deref(), Some("two"));
    assert_eq!(theirs.id, 2);
}

#[test]
fn edits_of_all_sessions_are_known() {
    let world = World::new();
    let (one, two) = (world.open().of_session("one"), world.open().of_session("two"));
    let path = world.root.join("a b");
    one.note_edit(&path, None, Some("ab")).unwrap();
    two.note_edit(&path, Some("ab"), None).unwrap();
    world.open().note_edit(&path, None, None).unwrap();
    let edits = one.edits_since(0);
    let who: Vec<&str> = edits.iter().map(|edit| edit.session.as_str()).collect();
    assert_eq!(who, ["one", "two"], "without a session nobody is named");
    assert!(edits.iter().all(|edit| edit.path == path));
    assert_eq!(one.edits_since(edits[1].at).len(), 1);
}

#[test]
fn notes_are_read_on_from_where_somebody_stopped() {
    let world = World::new();
    world.put("a", "1");
    let snapshots = world.open();
    let mut read = NotesRead::default();
    assert_eq!(snapshots.new_notes(&mut read).unwrap(), [] as [&str; 0]);
    snapshots.take("first").unwrap();
    snapshots.note("one").unwrap();
    assert_eq!(snapshots.new_notes(&mut read).unwrap(), ["one"]);
    assert_eq!(snapshots.new_notes(&mut read).unwrap(), [] as [&str; 0]);
    world.put("a", "2");
    world.open().take("second").unwrap();
    world.open().note("two").unwrap();
    assert_eq!(snapshots.new_notes(&mut read).unwrap(), ["two"]);
    assert_eq!(snapshots.notes().unwrap(), ["one", "two"]);
    // A journal that was rewritten is read from its beginning.
    let rule = ostler_snapshots::PruneRule { newest: 1, days: 14, bytes: 1 << 30 };
    snapshots.prune(rule, false).unwrap();
    assert_eq!(snapshots.new_notes(&mut read).unwrap(), snapshots.notes().unwrap());
}

/// What was undone would be undone once more if nobody knew of it.
#[test]
fn pruning_keeps_the_notes() {
    let world = World::new();
    world.put("a", "0");
    let snapshots = world.open();
    snapshots.take("start").unwrap();
    snapshots.note("undone").unwrap();
    for n in 1..4 {
        world.put("a", format!("content {n}"));
        snapshots.take("next").unwrap();
    }
    let rule = PruneRule { newest: 1, ..PruneRule::default() };
    assert_eq!(snapshots.prune(rule, false).unwrap().snapshots, 3);
    assert_eq!((snapshots.list().unwrap().len(), snapshots.notes().unwrap().len()), (1, 1));
    assert_eq!(world.open().prune(rule, false).unwrap().snapshots, 0);
}
