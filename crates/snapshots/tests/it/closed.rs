//! Folders that a command closes to their owner. Root may look into them all the same, so somebody else runs these.

use crate::support::{World, as_ordinary_user, undo};
use ostler_snapshots::Unit;
use std::fs;

#[test]
fn a_closed_folder_is_the_commands_work() {
    if !as_ordinary_user("closed::a_closed_folder_is_the_commands_work") {
        return;
    }
    let world = World::new();
    world.put("d/deep/f", "precious");
    let before = world.tree();
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap().id;
    // Long after the folder was made: its own times would say that it was closed before.
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
    if !as_ordinary_user("closed::what_was_changed_inside_comes_back_as_well") {
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
    let plan = snapshots.plan(&[Unit { wanted, ..Unit::default() }]).unwrap();
    let (outcomes, undone) = snapshots.follow(&plan, now, "undone").unwrap();
    assert_eq!(world.tree(), before, "{outcomes:?}");
    assert_eq!(outcomes.len(), 7, "{outcomes:?}");
    assert_eq!(snapshots.diff(first, undone).unwrap(), []);
}
