//! Any tree, any change: what was before comes back, and what a person did elsewhere stays.

use crate::support::{World, undo};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Vec<u8>),
    Folder(usize),
    Link(usize, usize),
    Mode(usize, u32),
    Remove(usize),
    Move(usize, usize),
}

const NAMES: [&str; 12] =
    ["a", "b", "c", "d/a", "d/b", "d/e/a", "d/e", "d", "f/g/h", "f/g", "build/x", "f"];

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    let bytes = prop_oneof![
        vec(any::<u8>(), 0..4),
        "[a-c\n]{0,12}".prop_map(String::into_bytes),
        Just(vec![5; 20_000])
    ];
    let mode = prop_oneof![Just(0o644), Just(0o755), Just(0o600), Just(0o700), Just(0o400)];
    prop_oneof![
        4 => (name(), bytes).prop_map(|(n, bytes)| Step::Put(n, bytes)),
        1 => name().prop_map(Step::Folder),
        1 => (name(), name()).prop_map(|(n, to)| Step::Link(n, to)),
        2 => (name(), mode).prop_map(|(n, mode)| Step::Mode(n, mode)),
        3 => name().prop_map(Step::Remove),
        1 => (name(), name()).prop_map(|(from, to)| Step::Move(from, to)),
    ]
}

/// Does it if it can be done.
fn act(world: &World, step: &Step) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let at = |n: &usize| world.root.join(NAMES[*n]);
    let parent = |n: &usize| {
        let path = at(n);
        let _ = fs::create_dir_all(path.parent().unwrap());
        path
    };
    let is_link = |n: &usize| fs::symlink_metadata(at(n)).is_ok_and(|meta| meta.is_symlink());
    match step {
        Step::Put(n, _) | Step::Mode(n, _) if is_link(n) => {}
        Step::Put(n, bytes) => drop(fs::write(parent(n), bytes)),
        Step::Folder(n) => drop(fs::create_dir_all(at(n))),
        Step::Link(n, to) => drop(symlink(NAMES[*to], parent(n))),
        Step::Mode(n, mode) => {
            // A directory that its owner may not enter has a test of its own.
            let mode = if at(n).is_dir() { mode | 0o700 } else { *mode };
            let _ = fs::set_permissions(at(n), fs::Permissions::from_mode(mode));
        }
        Step::Remove(n) => drop(fs::remove_dir_all(at(n)).or_else(|_| fs::remove_file(at(n)))),
        Step::Move(from, to) => drop(fs::rename(at(from), parent(to))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_was_before_comes_back(
        start in vec(step(), 0..15),
        more in vec(vec(step(), 0..8), 1..4),
        reopen in any::<bool>(),
    ) {
        let world = World::new();
        start.iter().for_each(|step| act(&world, step));
        let before = world.tree();
        let mut snapshots = world.open();
        let first = snapshots.take("first").unwrap().id;
        let mut last = first;
        for steps in &more {
            steps.iter().for_each(|step| act(&world, step));
            last = snapshots.take("next").unwrap().id;
            if reopen {
                snapshots = world.open();
            }
        }
        let after = world.tree();
        undo(&snapshots, first, last);
        prop_assert_eq!(&world.tree(), &before);
        // And forth again: undoing can be undone.
        let undone = snapshots.take("undone").unwrap().id;
        undo(&snapshots, last, undone);
        prop_assert_eq!(&world.tree(), &after);
    }

    #[test]
    fn what_a_person_did_elsewhere_stays(
        start in vec(step(), 0..12),
        command in vec(step(), 0..8),
        person in vec((0..6usize, "[a-z]{0,5}"), 1..4),
    ) {
        let world = World::new();
        for n in 0..3 {
            world.put(&format!("mine/{n}"), "before");
        }
        start.iter().for_each(|step| act(&world, step));
        let mut expected = world.tree();
        let snapshots = world.open();
        let first = snapshots.take("first").unwrap().id;
        command.iter().for_each(|step| act(&world, step));
        let last = snapshots.take("next").unwrap().id;
        for (n, text) in &person {
            world.put(&format!("mine/{n}"), text);
        }
        for (path, line) in world.tree() {
            if path.starts_with("mine") {
                expected.insert(path, line);
            }
        }
        undo(&snapshots, first, last);
        prop_assert_eq!(world.tree(), expected);
    }
}
