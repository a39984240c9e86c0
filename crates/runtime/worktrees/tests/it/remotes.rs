//! What a remote, or somebody who can push to it, can do: nothing but offer commits.

use crate::world::{World, write};
use ostler_worktrees::WorktreeError;
use std::path::PathBuf;

/// A bare repository called `origin` that has `main`.
fn with_origin(world: &World) -> PathBuf {
    let origin = world.base.join("origin.git");
    world.git(&["init", "-q", "--bare", "-b", "main", origin.to_str().unwrap()]);
    world.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    world.git(&["push", "-q", "origin", "main"]);
    origin
}

/// `config.worktree` can be written by commands of other sessions, and names the programs that reach a remote.
#[tokio::test]
async fn settings_of_a_checkout_do_not_say_how_a_remote_is_reached() {
    let world = World::new();
    let origin = with_origin(&world);
    world.git(&["config", "extensions.worktreeConfig", "true"]);
    let ran = world.base.join("ran");
    let elsewhere = world.base.join("elsewhere.git");
    world.git(&["init", "-q", "--bare", elsewhere.to_str().unwrap()]);
    let evil = |program: &str| format!("touch {}; {program}", ran.display());
    for (key, value) in [
        ("core.sshCommand", evil("false")),
        ("remote.origin.uploadpack", evil("git-upload-pack")),
        ("remote.origin.receivepack", evil("git-receive-pack")),
        ("credential.helper", format!("!{}", evil("true"))),
        ("remote.origin.pushurl", elsewhere.display().to_string()),
        ("remote.planted.url", elsewhere.display().to_string()),
    ] {
        world.git(&["config", "--worktree", key, &value]);
    }
    let trees = world.trees().await;
    let tree = world.tree("3f2a-1-work").await;
    write(tree.path(), "new", "x");
    trees.commit(&tree, "Work", &ostler_worktrees::Author::default()).await.unwrap();
    trees.push(&tree, "origin").await.unwrap();
    let at = |folder: &PathBuf| world.git_in(folder, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(at(&origin), "refs/heads/main\nrefs/heads/ostler/3f2a-1-work");
    assert_eq!(at(&elsewhere), "", "nothing was pushed to where config.worktree points");
    let fetched = trees.fetch("origin", &["3f2a-".to_owned()]).await.unwrap();
    assert_eq!(fetched.branches, ["refs/ostler/remotes/origin/ostler/3f2a-1-work"]);
    assert!(fetched.base.is_some());
    let unknown = trees.check_remote("planted").await.unwrap_err();
    assert!(matches!(unknown, WorktreeError::NoRemote { .. }), "{unknown}");
    assert!(!ran.exists(), "a program of config.worktree ran");
    // Those of the clone count: this is how a person says how a remote is reached.
    world.git(&["config", "remote.origin.uploadpack", &evil("git-upload-pack")]);
    trees.fetch("origin", &[]).await.unwrap();
    assert!(ran.exists());
}
