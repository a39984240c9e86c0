//! What is not kept: it stops nobody, and is never said to be as it was.

use crate::support::{World, undo};
use ostler_snapshots::{Fate, PlanOutcome, Why};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::{self, OpenOptions};
use std::io::Write;

/// Above every bound, also where the file system can share blocks; without taking any room.
const HUGE: u64 = 5 << 30;

fn huge(world: &World, name: &str) {
    world.put(name, "");
    let file = OpenOptions::new().write(true).open(world.root.join(name)).unwrap();
    file.set_len(HUGE).unwrap();
}

fn fate(world: &World, said: &[PlanOutcome], name: &str) -> Option<Fate> {
    let path = world.root.join(name);
    said.iter().find(|outcome| outcome.path == path).map(|outcome| outcome.fate.clone())
}

#[test]
fn a_huge_file_stops_nobody_and_its_change_is_said() {
    let world = World::new();
    huge(&world, "huge");
    huge(&world, "same");
    world.put("small", "precious");
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap();
    let left_out = ["huge", "same"].map(|name| (world.root.join(name), Why::Large));
    assert_eq!(first.left_out, left_out);
    let mut file = OpenOptions::new().append(true).open(world.root.join("huge")).unwrap();
    file.write_all(b"x").unwrap();
    world.put("small", "by the command");
    let second = snapshots.take("after").unwrap().id;
    let said = undo(&snapshots, first.id, second);
    assert!(matches!(fate(&world, &said, "huge"), Some(Fate::Lost(_))), "{said:?}");
    assert_eq!((said.len(), world.read("small").as_deref()), (2, Some("precious")), "{said:?}");
}

#[test]
fn what_grew_too_large_gets_its_old_version_beside_it() {
    let world = World::new();
    world.put("f", "precious");
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap().id;
    huge(&world, "f");
    let second = snapshots.take("after").unwrap().id;
    let said = undo(&snapshots, first, second);
    assert!(matches!(fate(&world, &said, "f"), Some(Fate::Beside(_))), "{said:?}");
    assert_eq!(world.read("f.before-undo").as_deref(), Some("precious"));
    assert_eq!(fs::metadata(world.root.join("f")).unwrap().len(), HUGE);
}

#[test]
fn pipes_make_room_for_what_was_before() {
    let world = World::new();
    world.put("file", "precious");
    world.put("folder/file", "precious");
    let before = world.tree();
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap().id;
    fs::remove_file(world.root.join("file")).unwrap();
    fs::remove_dir_all(world.root.join("folder")).unwrap();
    fs::create_dir(world.root.join("made")).unwrap();
    let pipe = |name: &str| {
        let path = world.root.join(name);
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    };
    ["file", "folder", "made/pipe"].into_iter().for_each(pipe);
    let second = snapshots.take("after").unwrap().id;
    let said = undo(&snapshots, first, second);
    assert_eq!(world.tree(), before, "{said:?}");
    // And forth again: a pipe cannot be made again, which is said.
    let undone = snapshots.take("undone").unwrap().id;
    let said = undo(&snapshots, second, undone);
    assert!(matches!(fate(&world, &said, "made/pipe"), Some(Fate::Lost(_))), "{said:?}");
    // Another pipe than the call's is somebody else's.
    let before = snapshots.take("before").unwrap().id;
    pipe("other");
    let after = snapshots.take("after").unwrap().id;
    fs::rename(world.root.join("other"), world.root.join("kept")).unwrap();
    pipe("other");
    let said = undo(&snapshots, before, after);
    assert!(matches!(fate(&world, &said, "other"), Some(Fate::Kept(_))), "{said:?}");
    assert!(world.root.join("other").exists());
}
