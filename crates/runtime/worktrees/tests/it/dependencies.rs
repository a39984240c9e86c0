//! Trees that start with the work of others, and commits that are checked as they are.

use crate::world::{World, new_tree, write};
use ostler_worktrees::{Author, ObjectId, PruneOptions, Start};
use std::fs;
use std::path::PathBuf;

fn author() -> Author {
    Author::default()
}

#[tokio::test]
async fn a_start_has_what_it_depends_on_and_no_branch_moves() {
    let world = World::new();
    let one = world.branch("3f2a-1-one", &[("one", "1")]).await;
    let two = world.branch("77ab-2-two", &[("two", "2")]).await;
    let trees = world.trees().await;
    let before = world.refs();
    let named = trees.branches_named("3f2a-1").await.unwrap();
    assert_eq!(named, ["ostler/3f2a-1-one"]);
    assert_eq!(trees.branches_named("3f2a").await.unwrap(), named);
    assert_eq!(trees.branches_named("3f").await.unwrap(), [] as [&str; 0]);
    let all = [one.clone(), two, "ostler/gone".to_owned()];
    let Start::At(commit) = trees.start_with(None, &all, &author()).await.unwrap() else {
        panic!("no conflict")
    };
    assert_eq!(world.refs(), before, "only objects are written");
    let tree = trees.create_at(new_tree("next"), commit.clone()).await.unwrap();
    let names = ["file", "one", "two"].map(|name| tree.path().join(name).exists());
    assert_eq!(names, [true; 3]);
    // One that is ahead is taken as it is, and one that is merged adds nothing.
    let alone = trees.start_with(None, std::slice::from_ref(&one), &author()).await.unwrap();
    assert_eq!(alone, Start::At(trees.find("3f2a-1-one").await.unwrap().tip.unwrap()));
    let again = trees.start_with(Some(commit.clone()), &all, &author()).await.unwrap();
    assert_eq!(again, Start::At(commit));
    // Nothing was done in it, so it goes, although what it began with is not merged.
    trees.leave(tree, None).await.unwrap();
    assert_eq!(world.refs(), before);
}

#[tokio::test]
async fn work_that_conflicts_is_named_and_nothing_is_made() {
    let world = World::new();
    let one = world.branch("a-1", &[("file", "one")]).await;
    let two = world.branch("b-1", &[("file", "two")]).await;
    let trees = world.trees().await;
    let before = world.refs();
    let start = trees.start_with(None, &[one, two.clone()], &author()).await.unwrap();
    assert_eq!(start, Start::Conflict { branch: two, files: vec![PathBuf::from("file")] });
    assert_eq!(world.refs(), before);
}

#[tokio::test]
async fn a_conflict_can_be_resolved_with_both_histories() {
    let world = World::new();
    let one = world.branch("a-1", &[("file", "one\n"), ("beside", "1")]).await;
    let two = world.branch("b-1", &[("file", "two\n")]).await;
    let trees = world.trees().await;
    let before = world.refs();
    let tips = [&one, &two].map(|name| world.git(&["rev-parse", name]));
    let [at, tip] = tips.clone().map(|tip| ObjectId::parse(&tip).unwrap());
    let found = trees.start_in_conflict(Some(at), &two, &author()).await.unwrap();
    let (commit, files) = found.unwrap();
    assert_eq!(files, [PathBuf::from("file")]);
    assert_eq!(world.refs(), before, "only objects are written");
    let parents = world.git(&["log", "-1", "--format=%P", commit.as_str()]);
    assert_eq!(parents, tips.join(" "));

    let tree = trees.create_at(new_tree("merge"), commit).await.unwrap();
    let text = fs::read_to_string(tree.path().join("file")).unwrap();
    assert!(
        text.contains("<<<<<<< ") && text.contains("one\n") && text.contains("two\n"),
        "{text}"
    );
    assert!(tree.path().join("beside").exists());
    let marked = || trees.still_marked(tree.record(), &files);
    assert_eq!(marked(), files);
    write(tree.path(), "file", "one\n=======\ntwo\n");
    assert_eq!(marked(), [] as [PathBuf; 0], "a line of its own is no conflict");
    fs::remove_file(tree.path().join("file")).unwrap();
    assert_eq!(marked(), [] as [PathBuf; 0]);

    // Nothing to resolve.
    for (at, branch) in [(Some(tip), &two[..]), (None, &two), (None, "ostler/gone")] {
        assert_eq!(trees.start_in_conflict(at, branch, &author()).await.unwrap(), None);
    }
}

/// What an agent left beside its work does not help it to pass.
#[tokio::test]
async fn a_clean_checkout_has_what_was_committed_and_nothing_else() {
    let world = World::new();
    world.write("keys.env", "secret");
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(tree.path(), "new", "1");
    write(tree.path(), "target/helper", "x");
    let committed = trees.commit(&tree, "Work", &author()).await.unwrap();
    let commit = committed.commit.unwrap().to_string();
    // It goes on after the commit.
    write(tree.path(), "new", "2");
    write(tree.path(), "late", "x");
    let clean = trees.check_out(tree.branch(), Some(&commit), Some("*.env\n")).await.unwrap();
    let read = |name: &str| fs::read_to_string(clean.path().join(name)).ok();
    assert_eq!((read("new").as_deref(), read("keys.env").as_deref()), (Some("1"), Some("secret")));
    assert_eq!((read("late"), read("target/helper")), (None, None));
    let head = world.git_in(clean.path(), &["rev-parse", "HEAD"]);
    assert_eq!(head, commit);
    // Another one at the same time has a place of its own, and sees nothing of the first.
    write(clean.path(), "made", "x");
    let other = trees.check_out(tree.branch(), None, None).await.unwrap();
    assert!(other.path() != clean.path() && !other.path().join("made").exists());
    let places = [clean.path().to_owned(), other.path().to_owned()];
    clean.remove(&trees).await.unwrap();
    other.remove(&trees).await.unwrap();
    assert!(places.iter().all(|place| !place.exists()));
    // What a killed process leaves goes with the next prune.
    let left = trees.check_out(tree.branch(), None, None).await.unwrap();
    let place = left.path().to_owned();
    drop(left);
    assert!(place.exists());
    trees.prune(PruneOptions::default(), None).await.unwrap();
    assert!(!place.exists());
}
