//! Directories that a command closes to their owner. Root may look into them all the same, so somebody else runs these.

use crate::support::{World, as_ordinary_user, undo};
use ostler_snapshots::{Fate, UndoUnit};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_closed_folder_is_the_commands_work() {
    if !as_ordinary_user("closed_folders::a_closed_folder_is_the_commands_work") {
        return;
    }
    let world = World::new();
    world.put("d/deep/f", "precious");
    let before = world.tree();
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap().id;
    // Long after the directory was made: its own times would say that it was closed before.
    let begun = snapshots.moment().earliest();
    let mut started = snapshots.moment();
    while started.earliest() == begun {
        started = snapshots.moment();
    }
    world.mode("d", 0);
    let taken = snapshots.take_since("after", &started).unwrap();
    assert_eq!((taken.changed, taken.older), (1, None));
    undo(&snapshots, first, taken.id);
    assert_eq!(world.tree(), before);
}

#[test]
fn what_was_changed_inside_comes_back_as_well() {
    if !as_ordinary_user("closed_folders::what_was_changed_inside_comes_back_as_well") {
        return;
    }
    let world = World::new();
    for name in ["d/gone", "d/changed", "d/deep/gone", "d/same", "beside"] {
        world.put(name, "precious");
    }
    let before = world.tree();
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap().id;
    fs::remove_file(world.root.join("d/gone")).unwrap();
    fs::remove_dir_all(world.root.join("d/deep")).unwrap();
    world.put("d/changed", "by the command");
    world.put("d/made", "by the command");
    world.put("beside", "by the command");
    world.mode("d", 0);
    let second = snapshots.take("after").unwrap().id;
    let now = snapshots.take("before undo").unwrap().id;
    let wanted = snapshots.diff(first, second).unwrap().into_iter().map(Into::into).collect();
    let plan = snapshots.plan(&[UndoUnit { wanted, ..UndoUnit::default() }]).unwrap();
    let (outcomes, undone) = snapshots.follow(&plan, now, "undone").unwrap();
    assert_eq!(world.tree(), before, "{outcomes:?}");
    assert_eq!(outcomes.len(), 7, "{outcomes:?}");
    assert_eq!(snapshots.diff(first, undone).unwrap(), []);
}

/// Files, too: what their owner may not read is kept all the same, also if it was written and closed in one go.
#[test]
fn closed_files_are_kept() {
    if !as_ordinary_user("closed_folders::closed_files_are_kept") {
        return;
    }
    let world = World::new();
    for name in ["changed", "moved/f", "removed"] {
        world.put(name, "precious");
    }
    world.put("always", "closed");
    world.mode("always", 0);
    let modes = |world: &World| -> Vec<(String, u32)> {
        let mode = |name: &str| {
            let meta = fs::symlink_metadata(world.root.join(name)).unwrap();
            (name.to_owned(), meta.permissions().mode() & 0o777)
        };
        ["always", "changed", "made", "away/f"].map(mode).to_vec()
    };
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap();
    assert_eq!(first.left_out, []);
    world.put("changed", "by the command");
    world.put("made", "by the command");
    fs::rename(world.root.join("moved"), world.root.join("away")).unwrap();
    fs::remove_file(world.root.join("removed")).unwrap();
    fs::remove_file(world.root.join("always")).unwrap();
    world.put("always", "by the command");
    for name in ["always", "changed", "made", "away/f"] {
        world.mode(name, 0);
    }
    let closed = modes(&world);
    let second = snapshots.take("after").unwrap();
    assert_eq!((second.left_out, modes(&world)), (vec![], closed.clone()), "they are closed again");
    undo(&snapshots, first.id, second.id);
    for name in ["changed", "moved/f", "removed"] {
        assert_eq!(world.read(name).as_deref(), Some("precious"), "{name}");
    }
    assert!(!world.root.join("made").exists() && !world.root.join("away").exists());
    assert_eq!(world.read("always"), None, "still closed");
    world.mode("always", 0o600);
    assert_eq!(world.read("always").as_deref(), Some("closed"));
    world.mode("always", 0);
    // And forth again.
    let undone = snapshots.take("undone").unwrap().id;
    undo(&snapshots, second.id, undone);
    assert_eq!(modes(&world), closed);
    world.mode("made", 0o600);
    assert_eq!(world.read("made").as_deref(), Some("by the command"));
}

/// A directory that can be listed and not entered (`chmod 444`): what is in it is not gone.
#[test]
fn a_folder_that_can_only_be_listed_loses_nothing() {
    if !as_ordinary_user("closed_folders::a_folder_that_can_only_be_listed_loses_nothing") {
        return;
    }
    let world = World::new();
    for name in ["d/same", "d/changed", "d/deep/f"] {
        world.put(name, "precious");
    }
    let before = world.tree();
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap().id;
    world.put("d/changed", "by the command");
    world.mode("d", 0o444);
    let second = snapshots.take("after").unwrap();
    assert_eq!((second.changed, second.left_out.len()), (1, 1), "{second:?}");
    let now = snapshots.take("before undo").unwrap().id;
    let wanted = snapshots.diff(first, second.id).unwrap().into_iter().map(Into::into).collect();
    let plan = snapshots.plan(&[UndoUnit { wanted, ..UndoUnit::default() }]).unwrap();
    let (outcomes, _) = snapshots.follow(&plan, now, "undone").unwrap();
    assert_eq!(world.tree(), before, "{outcomes:?}");
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
}

/// What nobody could look into was not kept: if it goes, that is said, and what is found in it later stays.
#[test]
fn what_was_never_seen_is_never_taken_for_a_commands_work() {
    if !as_ordinary_user("closed_folders::what_was_never_seen_is_never_taken_for_a_commands_work") {
        return;
    }
    let world = World::new();
    for name in ["opened/f", "opened/deep/f", "above/removed/f"] {
        world.put(name, "precious");
    }
    world.mode("opened", 0);
    world.mode("above/removed", 0);
    let first = world.open().take("before").unwrap().id;
    world.mode("opened", 0o755);
    // By another name it is as new as what the command made.
    fs::rename(world.root.join("opened/f"), world.root.join("opened/moved")).unwrap();
    world.mode("above/removed", 0o755);
    fs::remove_dir_all(world.root.join("above")).unwrap();
    let snapshots = world.open();
    let second = snapshots.take("after").unwrap().id;
    let said = undo(&snapshots, first, second);
    let fate = |name: &str| {
        let path = world.root.join(name);
        said.iter().find(|outcome| outcome.path == path).map(|outcome| outcome.fate.clone())
    };
    assert!(matches!(fate("above/removed"), Some(Fate::Lost(_))), "{said:?}");
    assert!(matches!(fate("opened/moved"), Some(Fate::Lost(_))), "{said:?}");
    world.mode("opened", 0o755);
    assert_eq!(world.read("opened/moved").as_deref(), Some("precious"));
    assert_eq!(world.read("opened/deep/f").as_deref(), Some("precious"));
}
