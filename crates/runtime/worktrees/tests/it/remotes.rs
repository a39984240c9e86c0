//! What a remote, or somebody who can push to it, can do: nothing but offer commits.

use crate::queue::Looking;
use crate::world::{World, write};
use ostler_worktrees::{
    BranchOutcome, MergeQueue, ObjectId, QueueOptions, QueuedBranch, RemoteBranch, Verdict,
    WorktreeError,
};
use std::path::PathBuf;

/// A bare repository called `origin` that has `main`.
fn with_origin(world: &World) -> PathBuf {
    let origin = world.base.join("origin.git");
    world.git(&["init", "-q", "--bare", "-b", "main", origin.to_str().unwrap()]);
    world.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    world.git(&["push", "-q", "origin", "main"]);
    origin
}

/// Another clone pushes a branch with one file. Gives the commit.
fn pushed(world: &World, branch: &str, file: &str, text: &str) -> ObjectId {
    let clone = world.base.join("clone");
    if !clone.exists() {
        world.git(&[
            "clone",
            "-q",
            world.base.join("origin.git").to_str().unwrap(),
            clone.to_str().unwrap(),
        ]);
    }
    let git = |words: &[&str]| world.git_in(&clone, words);
    git(&["checkout", "-q", "--detach", "origin/main"]);
    write(&clone, file, text);
    git(&["add", "."]);
    git(&["commit", "-qm", branch]);
    git(&["push", "-q", "-f", "origin", &format!("HEAD:refs/heads/{branch}")]);
    ObjectId::parse(&git(&["rev-parse", "HEAD"])).unwrap()
}

fn remote_branch(name: &str, commit: &ObjectId) -> RemoteBranch {
    RemoteBranch { name: name.into(), commit: commit.clone() }
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
    let listed = trees.remote_branches("origin").await.unwrap();
    assert_eq!(trees.fetch_branches("origin", &listed.branches).await.unwrap().len(), 1);
    let unknown = trees.check_remote("planted").await.unwrap_err();
    assert!(matches!(unknown, WorktreeError::NoRemote { .. }), "{unknown}");
    assert!(!ran.exists(), "a program of config.worktree ran");
    // Those of the clone count: this is how a person says how a remote is reached.
    world.git(&["config", "remote.origin.uploadpack", &evil("git-upload-pack")]);
    trees.remote_branches("origin").await.unwrap();
    assert!(ran.exists());
}

/// Names and commits are those of the remote; nothing that is here is changed.
#[tokio::test]
async fn branches_of_a_remote_are_fetched_to_refs_of_their_own() {
    let world = World::new();
    let origin = with_origin(&world);
    let ours = world.branch("3f2a-1-work", &[("mine", "x")]).await;
    let theirs = pushed(&world, &ours, "theirs", "x");
    for name in ["refs/heads/ostler/UP", "refs/heads/ostler/a/b", "refs/heads/ostler/x--e;touch"] {
        world.git_in(&origin, &["update-ref", name, "main"]);
    }
    // A tag that is called like a branch, and one that is a branch of others.
    world.git_in(&origin, &["update-ref", "refs/tags/refs/heads/ostler/9-1-x", "main"]);
    world.git_in(&origin, &["update-ref", "refs/heads/other", "main"]);
    let before = world.refs();
    let trees = world.trees().await;
    let listed = trees.remote_branches("origin").await.unwrap();
    assert_eq!(listed.branches, [remote_branch("3f2a-1-work", &theirs)]);
    assert_eq!(listed.strange, ["ostler/UP", "ostler/a/b", "ostler/x--e;touch"]);
    let fetched = trees.fetch_branches("origin", &listed.branches).await.unwrap();
    assert_eq!(fetched, listed.branches);
    let kept = format!("refs/ostler/incoming/origin/3f2a-1-work {theirs}");
    let added: Vec<String> =
        world.refs().lines().filter(|line| !before.contains(line)).map(str::to_owned).collect();
    assert_eq!(added, [kept], "the local branch with the same name stays");
    trees.forget_fetched("origin").await.unwrap();
    trees.forget_fetched("origin").await.unwrap();
    assert_eq!(world.refs(), before);
    for name in ["nowhere", "-u", "--upload-pack=touch x", "../origin.git", ""] {
        let error = trees.remote_branches(name).await.unwrap_err();
        assert!(matches!(error, WorktreeError::NoRemote { .. }), "{name}: {error}");
    }
}

/// Somebody with write access to the settings of the clone may call a remote so; it is no option of git.
#[tokio::test]
async fn a_remote_with_the_name_of_an_option_is_not_used() {
    let world = World::new();
    with_origin(&world);
    let ran = world.base.join("ran");
    let name = format!("--upload-pack=touch${{IFS}}{}", ran.display());
    world.git(&[
        "config",
        &format!("remote.{name}.url"),
        world.base.join("origin.git").to_str().unwrap(),
    ]);
    let error = world.trees().await.remote_branches(&name).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoRemote { .. }), "{error}");
    assert!(!ran.exists());
}

/// Between the listing and the fetch, and between the fetch and the merge.
#[tokio::test]
async fn what_is_merged_is_what_was_listed_however_the_remote_changes() {
    let world = World::new();
    let origin = with_origin(&world);
    let good = pushed(&world, "ostler/1-1-good", "good", "x");
    let moved = pushed(&world, "ostler/2-1-moved", "before", "x");
    let gone = pushed(&world, "ostler/3-1-gone", "gone", "x");
    let trees = world.trees().await;
    let listed = trees.remote_branches("origin").await.unwrap().branches;
    assert_eq!(listed.len(), 3);
    let evil = pushed(&world, "ostler/2-1-moved", "evil", "x");
    world.git_in(&origin, &["update-ref", "-d", "refs/heads/ostler/3-1-gone"]);
    for listed in [&listed[..2], &listed] {
        let fetched = trees.fetch_branches("origin", listed).await.unwrap();
        assert_eq!(fetched, [remote_branch("1-1-good", &good)], "{moved} {gone}");
    }
    // Also the refs that were fetched are not asked any more.
    let kept = "refs/ostler/incoming/origin/1-1-good";
    world.git(&["fetch", "-q", "origin", &format!("+refs/heads/ostler/2-1-moved:{kept}")]);
    let mut queue = MergeQueue::open(&trees, QueueOptions::new("main")).await.unwrap();
    let mut check = Looking { looks: |_: &std::path::Path| Verdict::Green, runs: 0 };
    let queued = |branch: &str, commit: &ObjectId| QueuedBranch {
        branch: branch.into(),
        commit: Some(commit.clone()),
    };
    let missing = ObjectId::parse(&"a".repeat(40)).unwrap();
    let branches = [queued("ostler/1-1-good", &good), queued("ostler/4-1-x", &missing)];
    let report = queue.run_at(&branches, Some(&mut check)).await.unwrap();
    queue.close().await.unwrap();
    assert!(matches!(report.branches[0].outcome, BranchOutcome::Merged { .. }), "{report:?}");
    assert_eq!(report.branches[1].outcome, BranchOutcome::Missing);
    assert_eq!(world.git(&["ls-tree", "--name-only", "main"]), ".gitignore\nfile\ngood");
    assert!(trees.is_merged(&good, "main").await.unwrap());
    assert!(!trees.is_merged(&evil, "main").await.unwrap());
    assert!(!trees.is_merged(&missing, "main").await.unwrap());
    trees.forget_fetched("origin").await.unwrap();
    assert!(!world.refs().contains("refs/ostler"), "{}", world.refs());
}

#[tokio::test]
async fn too_many_branches_at_once_are_refused() {
    let world = World::new();
    with_origin(&world);
    let commit = ObjectId::parse(&world.git(&["rev-parse", "main"])).unwrap();
    let many: Vec<RemoteBranch> =
        (0..1_001).map(|number| remote_branch(&format!("{number}-1-x"), &commit)).collect();
    let error = world.trees().await.fetch_branches("origin", &many).await.unwrap_err();
    assert!(error.to_string().contains("more than 1000"), "{error}");
}
