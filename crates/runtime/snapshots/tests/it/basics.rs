//! One thing after the other.

use crate::support::{World, undo};
use ostler_snapshots::{BUILD_FILES, Config, Error, Fate, PruneRule, Snapshots, Why};
use std::fs;

#[test]
fn what_a_change_destroyed_comes_back() {
    let world = World::new();
    world.put("src/a.txt", "one\n");
    world.put("src/deep/b.bin", [0, 1, 2, 255]);
    world.put("run.sh", "#!/bin/sh\n");
    world.mode("run.sh", 0o755);
    world.link("link", "src/a.txt");
    world.link("dangling", "/nowhere/else");
    fs::create_dir(world.root.join("empty")).unwrap();
    let before = world.tree();
    let snapshots = world.open();
    let first = snapshots.take("first").unwrap();
    assert_eq!(snapshots.take("again").unwrap().id, first.id, "nothing changed");

    fs::remove_dir_all(world.root.join("src")).unwrap();
    fs::remove_dir(world.root.join("empty")).unwrap();
    fs::remove_file(world.root.join("link")).unwrap();
    world.put("link", "now a file");
    world.mode("run.sh", 0o600);
    world.put("new/deep/c", "made");
    world.put("src", "now a file");
    let second = snapshots.take("second").unwrap();
    assert!(second.changed > 5, "{second:?}");
    undo(&snapshots, first.id, second.id);
    assert_eq!(world.tree(), before);
}

#[test]
fn a_change_within_the_grain_of_the_clock_is_seen() {
    let world = World::new();
    let snapshots = world.open();
    world.put("a", "0000");
    let mut last = snapshots.take("start").unwrap().id;
    for n in 1..200 {
        // Same size, same inode, and often the same stamps.
        fs::write(world.root.join("a"), format!("{n:04}")).unwrap();
        let taken = snapshots.take("next").unwrap();
        assert_eq!(taken.id, last + 1, "change {n} was not seen");
        last = taken.id;
    }
}

#[test]
fn what_a_person_changed_since_stays() {
    let world = World::new();
    world.put("both.txt", "1\n2\n3\n4\n5\n");
    world.put("clash.txt", "old\n");
    world.put("gone.txt", "old\n");
    world.put("plain.txt", "old\n");
    let snapshots = world.open();
    let a = snapshots.take("before").unwrap().id;
    world.put("both.txt", "one\n2\n3\n4\n5\n");
    world.put("clash.txt", "by the command\n");
    world.put("gone.txt", "by the command\n");
    world.put("plain.txt", "by the command\n");
    world.put("made.txt", "by the command\n");
    world.put("folder/made.txt", "by the command\n");
    let b = snapshots.take("after").unwrap().id;
    world.put("both.txt", "one\n2\n3\n4\nfive\n");
    world.put("clash.txt", "by the person\n");
    fs::remove_file(world.root.join("gone.txt")).unwrap();
    world.put("made.txt", "by both\n");
    world.put("folder/mine.txt", "by the person\n");
    let said = undo(&snapshots, a, b);
    let fate = |name: &str| {
        let path = world.root.join(name);
        said.iter().find(|outcome| outcome.path == path).map(|outcome| outcome.fate.clone())
    };
    assert_eq!(world.read("both.txt").unwrap(), "1\n2\n3\n4\nfive\n");
    assert_eq!(fate("both.txt"), Some(Fate::Merged));
    assert_eq!(world.read("clash.txt").unwrap(), "by the person\n");
    assert_eq!(world.read("clash.txt.before-undo").unwrap(), "old\n");
    assert!(matches!(fate("clash.txt"), Some(Fate::Beside(_))));
    assert_eq!(world.read("gone.txt"), None);
    assert!(matches!(fate("gone.txt"), Some(Fate::Kept(_))));
    assert_eq!(world.read("plain.txt").unwrap(), "old\n");
    assert_eq!(world.read("made.txt").unwrap(), "by both\n");
    assert_eq!(world.read("folder/made.txt"), None);
    assert_eq!(world.read("folder/mine.txt").unwrap(), "by the person\n");
    assert!(matches!(fate("folder"), Some(Fate::Kept(_))));
}

#[test]
fn large_build_folders_are_left_out_and_known() {
    let world = World::new();
    world.put("target/small", "kept");
    for n in 0..=BUILD_FILES {
        world.put(&format!("node_modules/{n}"), "x");
    }
    let snapshots = world.open();
    let taken = snapshots.take("first").unwrap();
    let modules = world.root.join("node_modules");
    assert_eq!(taken.left_out, [(modules.clone(), Why::Build)]);
    let only = std::slice::from_ref(&modules);
    assert_eq!(snapshots.left_out(), only);
    assert_eq!(world.open().left_out(), only, "without a walk");
    // A small one is kept like anything else; the large one cannot come back, and that is said.
    fs::remove_dir_all(world.root.join("target")).unwrap();
    fs::remove_dir_all(&modules).unwrap();
    let after = snapshots.take("after").unwrap();
    let said = undo(&snapshots, taken.id, after.id);
    assert_eq!(world.read("target/small").unwrap(), "kept");
    let lost = said.iter().find(|outcome| outcome.path == modules).unwrap();
    assert!(matches!(lost.fate, Fate::Lost(_)), "{lost:?}");
}

/// What grew too large is not taken for removed, and what becomes small again is not taken for made.
#[test]
fn growing_and_shrinking_build_folders_lose_nothing() {
    let world = World::new();
    world.put("build/mine", "kept");
    let snapshots = world.open();
    let a = snapshots.take("small").unwrap().id;
    for n in 0..=BUILD_FILES {
        world.put(&format!("build/{n}"), "x");
    }
    let b = snapshots.take("large").unwrap().id;
    undo(&snapshots, a, b);
    assert_eq!(world.read("build/mine").unwrap(), "kept");
    fs::rename(world.root.join("build"), world.root.join("kept")).unwrap();
    world.put("build/other", "x");
    let c = snapshots.take("another").unwrap().id;
    undo(&snapshots, b, c);
    assert_eq!(world.read("build/other").unwrap(), "x", "nobody knows who made it");
}

#[test]
fn a_further_root_is_taken_over_as_it_is() {
    let world = World::new();
    let snapshots = world.open();
    let a = snapshots.take("one root").unwrap().id;
    drop(snapshots);
    let other = world.root.with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("precious"), "x").unwrap();
    let mut config = world.config();
    config.roots.push(other.clone());
    let snapshots = Snapshots::open(config).unwrap();
    let b = snapshots.take("two roots").unwrap().id;
    assert_eq!(snapshots.diff(a, b).unwrap(), []);
    fs::remove_file(other.join("precious")).unwrap();
    let c = snapshots.take("gone").unwrap().id;
    undo(&snapshots, b, c);
    assert!(other.join("precious").exists());
    let known = world.open().with_known_roots().unwrap().roots();
    assert_eq!(*known, [other, world.root.clone()]);
}

/// The same while the store is open: one beside the root, and one around it.
#[test]
fn a_root_that_is_added_later_is_taken_over_as_it_is() {
    let world = World::new();
    let (other, deep) = (world.root.with_file_name("other"), world.root.join("deep"));
    fs::create_dir(&other).unwrap();
    fs::write(other.join("precious"), "x").unwrap();
    world.put("deep/inside", "x");
    let snapshots = Snapshots::open(Config { roots: vec![deep], ..world.config() }).unwrap();
    let a = snapshots.take("one root").unwrap().id;
    snapshots.add_roots(std::slice::from_ref(&other)).unwrap();
    let b = snapshots.take("two roots").unwrap().id;
    assert_eq!(snapshots.diff(a, b).unwrap(), []);
    fs::remove_file(other.join("precious")).unwrap();
    let c = snapshots.take("gone").unwrap().id;
    undo(&snapshots, b, c);
    assert!(other.join("precious").exists());
    let beside = world.put("beside", "x");
    snapshots.add_roots(std::slice::from_ref(&world.root)).unwrap();
    assert_eq!(*snapshots.roots(), [other, world.root.clone()]);
    let d = snapshots.take("above").unwrap().id;
    fs::remove_file(&beside).unwrap();
    fs::remove_file(world.root.join("deep/inside")).unwrap();
    let e = snapshots.take("gone").unwrap().id;
    undo(&snapshots, d, e);
    assert!(beside.exists() && world.root.join("deep/inside").exists());
    assert!(snapshots.add_roots(&["/".into()]).is_err());
}

#[test]
fn pruning_keeps_what_is_needed() {
    let world = World::new();
    world.put("a", "0");
    let snapshots = world.open();
    let mut ids = vec![snapshots.take("start").unwrap().id];
    for n in 1..10 {
        world.put("a", format!("content {n}"));
        world.put(&format!("f{n}"), "new");
        ids.push(snapshots.take("next").unwrap().id);
    }
    let rule = PruneRule { newest: 3, ..PruneRule::default() };
    let dry = snapshots.prune(rule, true).unwrap();
    assert_eq!(dry, snapshots.prune(rule, false).unwrap());
    assert_eq!(dry.kept, 3);
    assert!(dry.objects > 3, "{dry:?}");
    assert!(matches!(snapshots.diff(ids[1], ids[9]), Err(Error::Unknown(_))));
    undo(&snapshots, ids[6], ids[9]);
    assert_eq!(world.read("a").unwrap(), "content 6");
    assert_eq!(world.read("f7"), None);
    // Nothing at all to keep: what the directories hold is still held.
    world.put("a", "last");
    snapshots.take("one more").unwrap();
    snapshots.prune(PruneRule { newest: 1, days: 14, bytes: 0 }, false).unwrap();
    let before = snapshots.take("none").unwrap().id;
    fs::remove_file(world.root.join("a")).unwrap();
    let after = snapshots.take("gone").unwrap().id;
    undo(&snapshots, before, after);
    assert_eq!(world.read("a").unwrap(), "last");
}

/// Two processes, here two stores on the same directory.
#[test]
fn two_at_once_go_on_from_each_other() {
    let world = World::new();
    world.put("a", "0");
    let (one, two) = (world.open(), world.open());
    let first = one.take("one").unwrap().id;
    assert_eq!(two.take("two").unwrap().id, first);
    std::thread::scope(|scope| {
        for (name, store) in [("x", &one), ("y", &two)] {
            let world = &world;
            scope.spawn(move || {
                for n in 0..30 {
                    world.put(&format!("{name}{n}"), name);
                    store.take(name).unwrap();
                }
            });
        }
    });
    let list = world.open().list().unwrap();
    let ids: Vec<u64> = list.iter().map(|line| line.id).collect();
    assert!(ids.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{ids:?}");
    let last = one.take("end").unwrap().id;
    undo(&two, first, last);
    assert_eq!(world.tree().len(), 1);
}

#[test]
fn links_lead_nowhere() {
    let world = World::new();
    let outside = world.root.with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "x").unwrap();
    world.put("folder/file", "mine");
    let snapshots = world.open();
    let a = snapshots.take("before").unwrap().id;
    fs::remove_dir_all(world.root.join("folder")).unwrap();
    let b = snapshots.take("after").unwrap().id;
    // The person, or a trap: the directory is now a link to elsewhere.
    world.link("folder", "../outside");
    undo(&snapshots, a, b);
    assert!(!outside.join("file").exists(), "written through a link");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_folder_nobody_may_enter_comes_back() {
    let world = World::new();
    world.put("a/b/c", "x");
    world.put("f", "x");
    let before = world.tree();
    let snapshots = world.open();
    let a = snapshots.take("before").unwrap().id;
    for name in ["f", "a"] {
        world.mode(name, 0);
    }
    let b = snapshots.take("after").unwrap().id;
    undo(&snapshots, a, b);
    assert_eq!(world.tree(), before);
}

#[test]
fn the_whole_disk_is_refused() {
    let world = World::new();
    let config = ostler_snapshots::Config { roots: vec!["/".into()], ..world.config() };
    assert!(matches!(Snapshots::open(config), Err(Error::WholeDisk)));
}

/// Longer than the kernel takes in one piece.
#[test]
fn very_deep_folders_come_back() {
    let world = World::new();
    let name = "d".repeat(200);
    let step = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
    let (read_write, none) = (rustix::fs::Mode::RWXU, rustix::fs::Mode::empty());
    let leaf = || {
        let mut folder = rustix::fs::open(&world.root, step, none).unwrap();
        for _ in 0..30 {
            folder = rustix::fs::openat(&folder, &name, step, none).ok()?;
        }
        rustix::fs::statat(&folder, "leaf", rustix::fs::AtFlags::empty()).ok()
    };
    let mut folder = rustix::fs::open(&world.root, step, none).unwrap();
    for _ in 0..30 {
        rustix::fs::mkdirat(&folder, &name, read_write).unwrap();
        folder = rustix::fs::openat(&folder, &name, step, none).unwrap();
    }
    let made = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    drop(rustix::fs::openat(&folder, "leaf", made, read_write).unwrap());
    let snapshots = world.open();
    let first = snapshots.take("before").unwrap().id;
    fs::remove_dir_all(world.root.join(&name)).unwrap();
    assert!(leaf().is_none());
    let second = snapshots.take("after").unwrap().id;
    undo(&snapshots, first, second);
    assert!(leaf().is_some());
    fs::remove_dir_all(world.root.join(&name)).unwrap();
}
