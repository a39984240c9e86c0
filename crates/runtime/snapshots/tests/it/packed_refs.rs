//! Git tidies up after a call: branches that it packed are not taken for branches that nobody touched.

use crate::support::{World, undo};
use crate::world::git;
use ostler_snapshots::Fate;
use std::process::Command;

fn commit(world: &World, text: &str) {
    world.put("f", text);
    git(&world.root, &["add", "f"]);
    git(&world.root, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", text]);
}

fn head(world: &World) -> String {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&world.root).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn status(world: &World) -> String {
    let args = ["status", "--porcelain", "--untracked-files=no"];
    let output = Command::new("git").args(args).current_dir(&world.root).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

#[test]
fn a_commit_that_was_packed_since_stays_on_its_branch() {
    let world = World::new();
    git(&world.root, &["init", "-q", "-b", "main"]);
    commit(&world, "one");
    let snapshots = world.open();
    let before = snapshots.take("before").unwrap().id;
    git(&world.root, &["pack-refs", "--all"]);
    let after = snapshots.take("after").unwrap().id;
    commit(&world, "by the person");
    git(&world.root, &["pack-refs", "--all"]);
    let mine = head(&world);
    let said = undo(&snapshots, before, after);
    assert_eq!(head(&world), mine, "{said:?}");
    assert_eq!(status(&world), "", "{said:?}");
}

#[test]
fn a_branch_that_was_packed_since_is_not_said_to_be_back() {
    let world = World::new();
    git(&world.root, &["init", "-q", "-b", "main"]);
    commit(&world, "one");
    git(&world.root, &["pack-refs", "--all"]);
    let snapshots = world.open();
    let before = snapshots.take("before").unwrap().id;
    commit(&world, "two");
    let after = snapshots.take("after").unwrap().id;
    git(&world.root, &["pack-refs", "--all"]);
    let said = undo(&snapshots, before, after);
    let branch = world.root.join(".git/refs/heads/main");
    let fate = said.iter().find(|outcome| outcome.path == branch).map(|outcome| &outcome.fate);
    assert!(matches!(fate, Some(Fate::Kept(_))), "{said:?}");
    // The index goes with the branch: nothing is staged that nobody staged.
    assert_eq!(status(&world), " M f\n", "{said:?}");
}
