//! F04, F05, F18: what is listed, what may go, and what never goes by itself.

use crate::world::{World, assert_clear, new_tree, owner, write};
use ostler_worktrees::{Author, KeepReason, PruneOptions, TreeState, WorktreeError, Worktrees};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

async fn kept(trees: &Worktrees, options: PruneOptions) -> Vec<(String, KeepReason)> {
    let report = trees.prune(options, None).await.unwrap();
    report.kept.into_iter().map(|kept| (kept.name, kept.reason)).collect()
}

/// A tree whose owner was killed.
fn orphan(world: &World, name: &str) {
    let mut child = world
        .helper(&["create", name])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), name);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn f04_the_lock_of_a_dead_owner_is_released_and_a_foreign_one_is_respected() {
    let world = World::new();
    orphan(&world, "dead");
    let trees = world.trees().await;
    let listed = world.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("locked in use by Ostler, worktree dead"), "{listed}");
    assert_eq!(trees.find("dead").await.unwrap().state, TreeState::Idle);

    let live = trees.create(new_tree("live")).await.unwrap();
    let foreign = trees.create(new_tree("foreign")).await.unwrap();
    let place = foreign.path().to_path_buf();
    trees.release(foreign).await.unwrap();
    world.git(&["worktree", "lock", "--reason", "on a USB stick", place.to_str().unwrap()]);

    let kept = kept(&trees, PruneOptions::default()).await;
    let locked = KeepReason::Locked { reason: "on a USB stick".into() };
    assert_eq!(kept, [("foreign".to_owned(), locked), ("live".to_owned(), KeepReason::InUse)]);
    let error = trees.discard("foreign", None).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Locked { .. }));
    assert_clear(&error, &["on a USB stick", "git worktree unlock"]);
    let error = trees.discard("live", None).await.unwrap_err();
    assert!(matches!(error, WorktreeError::InUse { .. }));
    assert_clear(&error, &["worker w1", "stop it first"]);
    assert!(place.is_dir() && live.path().is_dir() && !world.refs().contains("dead"));
}

#[tokio::test]
async fn f04_an_owner_in_another_process_is_seen_while_it_lives() {
    let world = World::new();
    let mut child = world
        .helper(&["create", "x"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let trees = world.trees().await;
    assert_eq!(trees.find("x").await.unwrap().state, TreeState::InUse);
    assert!(matches!(trees.adopt("x", owner("w2")).await, Err(WorktreeError::InUse { .. })));
    child.kill().unwrap();
    child.wait().unwrap();
    // Its session is continued elsewhere.
    let tree = trees.adopt("x", owner("w2")).await.unwrap();
    assert_eq!(tree.record().owner.id, "w2");
    write(tree.path(), "new", "x");
    assert!(trees.commit(&tree, "Work", &Author::default()).await.unwrap().commit.is_some());
}

#[tokio::test]
async fn f05_leftovers_are_listed_and_go_only_if_they_are_ours_and_hold_nothing() {
    let world = World::new();
    for name in ["missing", "missing-work", "unregistered", "idle"] {
        orphan(&world, name);
    }
    let trees = world.trees().await;
    let work = trees.adopt("missing-work", owner("w2")).await.unwrap();
    write(work.path(), "new", "x");
    trees.commit(&work, "Work", &Author::default()).await.unwrap();
    trees.release(work).await.unwrap();
    let project = world.state.join("project");
    fs::remove_dir_all(project.join("missing")).unwrap();
    fs::remove_dir_all(project.join("missing-work")).unwrap();
    fs::remove_dir_all(world.repo.join(".git/worktrees/unregistered")).unwrap();
    write(&project, "stranger/file", "x");
    world.git(&["branch", "ostler/only"]);

    let states: Vec<(String, TreeState)> =
        trees.list().await.unwrap().into_iter().map(|entry| (entry.name, entry.state)).collect();
    let expected = [
        ("idle", TreeState::Idle),
        ("missing", TreeState::DirectoryMissing),
        ("missing-work", TreeState::DirectoryMissing),
        ("unregistered", TreeState::Unregistered),
        ("stranger", TreeState::DirectoryOnly),
        ("only", TreeState::BranchOnly),
    ];
    assert_eq!(states, expected.map(|(name, state)| (name.to_owned(), state)));

    let dry =
        trees.prune(PruneOptions { dry_run: true, ..PruneOptions::default() }, None).await.unwrap();
    let report = trees.prune(PruneOptions::default(), None).await.unwrap();
    assert_eq!((&dry.removed, &dry.kept), (&report.removed, &report.kept));
    assert_eq!(report.removed, ["idle", "missing"]);
    let kept: Vec<(&str, &KeepReason)> =
        report.kept.iter().map(|kept| (&*kept.name, &kept.reason)).collect();
    assert_eq!(kept[0], ("missing-work", &KeepReason::Unmerged { commits: 1 }));
    assert!(matches!(kept[1], ("unregistered", KeepReason::Unclear { .. })));
    assert_eq!(kept[2..], [("stranger", &KeepReason::NoRecord), ("only", &KeepReason::NoRecord)]);
    assert!(project.join("stranger/file").exists() && project.join("unregistered/file").exists());
    let refs = world.refs();
    assert!(
        refs.contains("ostler/only")
            && refs.contains("ostler/missing-work")
            && !refs.contains("ostler/idle")
    );

    // On purpose, and recoverable as long as git keeps the commit.
    let gone = trees.discard("missing-work", None).await.unwrap();
    let tip = gone.tip.unwrap();
    assert_eq!(world.git(&["cat-file", "-p", &format!("{tip}:new")]), "x");
    trees.discard("ostler/only", None).await.unwrap();
    let error = trees.discard("stranger", None).await.unwrap_err();
    assert_clear(&error, &["no record", "delete it yourself"]);
    assert!(matches!(trees.discard("nothing", None).await, Err(WorktreeError::Unknown { .. })));
}

#[tokio::test]
async fn f18_the_only_copy_of_a_file_is_never_removed_by_itself() {
    let world = World::new();
    let trees = world.trees().await;
    for (name, file) in
        [("changed", "file"), ("untracked", "notes"), ("ignored", "target/build"), ("nothing", "")]
    {
        let tree = trees.create(new_tree(name)).await.unwrap();
        if !file.is_empty() {
            write(tree.path(), file, "the only copy");
        }
        trees.release(tree).await.unwrap();
    }
    let found = kept(&trees, PruneOptions::default()).await;
    let expected = [
        ("changed", KeepReason::Uncommitted { files: 1 }),
        ("ignored", KeepReason::Ignored { names: 1 }),
        ("untracked", KeepReason::Uncommitted { files: 1 }),
    ];
    assert_eq!(found, expected.map(|(name, reason)| (name.to_owned(), reason)));
    let project = world.state.join("project");
    assert!(project.join("ignored/target/build").exists() && !project.join("nothing").exists());

    let found = kept(&trees, PruneOptions { ignored: true, ..PruneOptions::default() }).await;
    assert_eq!(found.len(), 2, "ignored files go if that is asked for: {found:?}");
    // Even on purpose, what was not committed can be had back.
    let content = trees.discard("untracked", None).await.unwrap().content.unwrap();
    assert_eq!(world.git(&["cat-file", "-p", &format!("{content}:notes")]), "the only copy");
}

#[tokio::test]
async fn commits_that_another_branch_has_are_merged() {
    let world = World::new();
    let branch = world.branch("x", &[("new", "x")]).await;
    let trees = world.trees().await;
    let found = kept(&trees, PruneOptions::default()).await;
    assert_eq!(found, [("x".to_owned(), KeepReason::Unmerged { commits: 1 })]);
    world.git(&["merge", "-q", &branch]);
    assert_eq!(kept(&trees, PruneOptions::default()).await, []);
    assert_eq!(world.leftovers(), Vec::<String>::new());
    assert_eq!(world.read("new"), "x");
}

#[tokio::test]
async fn a_directory_in_the_place_of_a_tree_stays() {
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let path = tree.path().to_path_buf();
    trees.release(tree).await.unwrap();
    fs::rename(&path, world.base.join("moved")).unwrap();
    write(&path, "mine", "x");
    assert_eq!(
        kept(&trees, PruneOptions::default()).await,
        [("x".to_owned(), KeepReason::Replaced)]
    );
    trees.discard("x", None).await.unwrap();
    assert!(path.join("mine").exists() && world.base.join("moved/file").exists());
}

#[tokio::test]
async fn directories_without_permissions_are_removed() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let path = tree.path().to_path_buf();
    write(&path, "target/deep/file", "x");
    for name in ["target/deep", "target"] {
        fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    trees.release(tree).await.unwrap();
    trees.discard("x", None).await.unwrap();
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// Git registers a worktree in steps; if it is killed between two of them, no git can list the worktrees any more.
#[tokio::test]
async fn f05_a_registration_that_was_cut_short_is_repaired_if_it_is_ours() {
    let mut world = World::new();
    let torn = |world: &World, name: &str, reason: Option<&str>| {
        let folder = world.repo.join(".git/worktrees").join(name);
        write(&folder, "gitdir", "/nowhere/.git\n");
        write(&folder, "HEAD", "ref: refs/heads/main\n");
        write(&folder, "commondir", "");
        if let Some(reason) = reason {
            write(&folder, "locked", reason);
        }
        folder
    };
    let ours = torn(&world, "ours", Some("in use by Ostler, worktree ours"));
    assert_eq!(world.trees().await.list().await.unwrap().len(), 0);
    assert!(!ours.exists());

    let foreign = torn(&world, "foreign", None);
    let error = world.trees().await.list().await.unwrap_err();
    assert_clear(&error, &["list the worktrees", "foreign/commondir"]);
    assert!(foreign.exists(), "it may be a git that is busy");
    // It was busy: the second attempt succeeds.
    world.git_limits.patience = std::time::Duration::from_secs(60);
    let (base, path) = (world.base.display(), foreign.display());
    world.shim(&format!(
        "if [ \"$3 $4\" = 'worktree list' ]; then if [ -e {base}/tried ]; then echo ../.. > {path}/commondir; fi; touch {base}/tried; fi"
    ));
    assert_eq!(world.trees().await.list().await.unwrap().len(), 0);
    assert!(world.base.join("tried").exists());
}
