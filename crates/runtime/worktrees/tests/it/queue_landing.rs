//! F01, F09, F10: how the target moves, and how a checkout of it is left alone.

use crate::queue::Looking;
use crate::world::World;
use ostler_worktrees::{BranchOutcome, Landing, MergeQueue, QueueOptions, QueueReport, Verdict};
use std::fs;
use std::path::Path;
use std::time::Duration;

async fn merge(
    world: &World,
    branches: &[String],
    looks: impl FnMut(&Path) -> Verdict + Send,
) -> QueueReport {
    let trees = world.trees().await;
    let mut queue = MergeQueue::open(&trees, QueueOptions::new("main")).await.unwrap();
    let mut check = Looking { looks, runs: 0 };
    let report = queue.run(branches, Some(&mut check)).await.unwrap();
    queue.close().await.unwrap();
    report
}

/// The target was not moved, and the result is kept under a ref.
fn assert_held(world: &World, report: &QueueReport, words: &[&str]) {
    let Landing::Held { why, reference } = &report.landing else { panic!("{report:?}") };
    for word in words {
        assert!(why.contains(word), "{why}");
    }
    assert_eq!(report.before, report.after);
    let BranchOutcome::Ready { commit } = &report.branches[0].outcome else { panic!("{report:?}") };
    assert_eq!(world.git(&["rev-parse", reference]), commit.as_str());
}

#[tokio::test]
async fn a_dirty_checkout_of_the_target_is_never_touched() {
    for (name, dirty) in [("changed", "file"), ("staged", "new"), ("overwritten", "other")] {
        let world = World::new();
        let branch = world.branch("x", &[("file", "merged\n"), ("a", "x")]).await;
        world.write(dirty, "mine\n");
        if name == "staged" {
            world.git(&["add", dirty]);
        }
        if name == "overwritten" {
            // Not in the way of the branch, but untracked files alone make no checkout dirty.
            fs::remove_file(world.repo.join(dirty)).unwrap();
            world.write("a", "mine, and in the way\n");
        }
        let before = world.checkout_state();
        let report = merge(&world, std::slice::from_ref(&branch), |_| Verdict::Green).await;
        let words: &[&str] = if name == "overwritten" {
            &["untracked"]
        } else {
            &["has changes in 1 file;", "commit or stash"]
        };
        assert_held(&world, &report, words);
        assert_eq!(world.checkout_state(), before, "{name}");
        assert!(world.refs().contains(&branch));
        // Once it is clean, the same call does the rest.
        world.git(&["stash", "-q", "-u"]);
        let report = merge(&world, &[branch], |_| Verdict::Green).await;
        assert_eq!(report.landing, Landing::Moved { checkout: Some(world.repo.clone()) }, "{name}");
        assert_eq!(world.read("file"), "merged\n");
        assert!(!world.refs().contains("refs/ostler"));
    }
}

#[tokio::test]
async fn a_checkout_with_untracked_files_that_are_not_in_the_way_goes_along() {
    let world = World::new();
    let branch = world.branch("x", &[("a", "x")]).await;
    world.write("notes", "mine");
    let report = merge(&world, &[branch], |_| Verdict::Green).await;
    assert_eq!(report.landing, Landing::Moved { checkout: Some(world.repo.clone()) });
    assert_eq!((world.read("notes"), world.read("a")), ("mine".into(), "x".into()));
}

#[tokio::test]
async fn a_merge_or_rebase_in_progress_is_left_alone() {
    let world = World::new();
    let branch = world.branch("x", &[("a", "x")]).await;
    world.git(&["branch", "same"]);
    fs::write(world.repo.join(".git/MERGE_HEAD"), world.git(&["rev-parse", "same"])).unwrap();
    let report = merge(&world, &[branch], |_| Verdict::Green).await;
    assert_held(&world, &report, &["in the middle of a merge"]);
}

#[tokio::test]
async fn a_target_that_is_not_checked_out_moves_alone() {
    let world = World::new();
    let branch = world.branch("x", &[("a", "x")]).await;
    world.git(&["checkout", "-q", "-b", "work"]);
    world.write("file", "dirty\n");
    let before = world.checkout_state();
    let report = merge(&world, &[branch], |_| Verdict::Green).await;
    assert_eq!(report.landing, Landing::Moved { checkout: None });
    assert_eq!(world.checkout_state(), before);
    assert_eq!(world.git(&["cat-file", "-p", "main:a"]), "x");
}

#[tokio::test]
async fn a_target_that_moves_during_the_check_is_never_overwritten() {
    let world = World::new();
    let branch = world.branch("x", &[("a", "x")]).await;
    world.git(&["checkout", "-q", "-b", "elsewhere"]);
    let mut pushes = 0;
    let report = merge(&world, &[branch], |files| {
        // Somebody else is faster, twice.
        if pushes < 2 {
            pushes += 1;
            faster(&world, pushes);
        } else {
            assert!(files.join("faster2").exists(), "what is merged is checked again");
        }
        Verdict::Green
    })
    .await;
    assert_eq!(report.checks, 3);
    assert!(matches!(report.branches[0].outcome, BranchOutcome::Merged { .. }));
    assert_eq!(
        world.git(&["ls-tree", "--name-only", "main"]),
        ".gitignore\na\nfaster1\nfaster2\nfile"
    );
    assert_eq!(world.git(&["rev-list", "--count", "--no-merges", "main"]), "4");
}

#[tokio::test]
async fn a_target_that_never_stands_still_is_given_up() {
    let world = World::new();
    let branch = world.branch("x", &[("a", "x")]).await;
    world.git(&["checkout", "-q", "-b", "elsewhere"]);
    let mut pushes = 0;
    let report = merge(&world, &[branch], |_| {
        pushes += 1;
        faster(&world, pushes);
        Verdict::Green
    })
    .await;
    let BranchOutcome::NotReached { why } = &report.branches[0].outcome else {
        panic!("{report:?}")
    };
    assert!(why.contains("moved by others"), "{why}");
    let names = world.git(&["ls-tree", "--name-only", "main"]);
    assert!(
        names.contains(&format!("faster{pushes}")) && !names.lines().any(|name| name == "a"),
        "{names}"
    );
    assert!(!world.refs().contains("refs/ostler"));
}

/// Somebody else commits to the target.
fn faster(world: &World, number: u32) {
    let parent = world.git(&["rev-parse", "main"]);
    world.write(&format!("faster{number}"), "x");
    world.git(&["add", "-A"]);
    let tree = world.git(&["write-tree"]);
    let commit = world.git(&["commit-tree", &tree, "-p", &parent, "-m", "faster"]);
    world.git(&["update-ref", "refs/heads/main", &commit]);
}

#[tokio::test]
async fn f09_an_index_lock_is_waited_for_and_never_deleted() {
    let mut world = World::new();
    let branch = world.branch("x", &[("a", "x")]).await;
    let lock = world.repo.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    // One that stays: reported with its name.
    let report = merge(&world, std::slice::from_ref(&branch), |_| Verdict::Green).await;
    assert_held(
        &world,
        &report,
        &[
            "another git process",
            lock.to_str().unwrap(),
            "delete the file if no git process is running",
        ],
    );
    assert!(lock.exists());
    // One that goes after the first attempt: the other process is done.
    world.git_limits.patience = Duration::from_secs(60);
    world.shim(&format!(
        "if [ \"$3\" = merge ]; then if [ -e {0}/tried ]; then rm -f {1}; fi; touch {0}/tried; fi",
        world.base.display(),
        lock.display()
    ));
    let report = merge(&world, &[branch], |_| Verdict::Green).await;
    assert_eq!(report.landing, Landing::Moved { checkout: Some(world.repo.clone()) });
    assert!(world.base.join("tried").exists());
    assert_eq!(world.read("a"), "x");
}

/// `includeIf` can name filters for one checkout only, and the target need not be checked out where Ostler was called.
#[tokio::test]
async fn filters_that_settings_name_for_another_checkout_do_not_run_there() {
    let world = World::new();
    let ran = world.base.join("ran");
    world.write(".gitattributes", "* filter=evil\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "attributes"]);
    let branch = world.branch("x", &[("new", "x\n")]).await;
    let other = world.base.join("other");
    world.git(&["worktree", "add", "-q", "-b", "release", other.to_str().unwrap()]);
    let settings = world.base.join("evil.inc");
    let evil = format!(
        "[filter \"evil\"]\n\tsmudge = \"touch {0}; cat\"\n\tclean = \"touch {0}; cat\"\n",
        ran.display()
    );
    fs::write(&settings, evil).unwrap();
    world.git(&["config", "includeIf.gitdir:**/worktrees/other.path", settings.to_str().unwrap()]);
    // It is read there, and only there.
    assert!(world.git_in(&other, &["config", "--list"]).contains("filter.evil.smudge"));
    assert!(!world.git(&["config", "--list"]).contains("filter.evil.smudge"));
    // Git looks at the content of files whose time it does not know.
    fs::write(other.join("file"), "one\ntwo\nthree\n").unwrap();
    let trees = world.trees().await;
    let mut queue = MergeQueue::open(&trees, QueueOptions::new("release")).await.unwrap();
    let report = queue.run(&[branch], None).await.unwrap();
    queue.close().await.unwrap();
    assert_eq!(report.landing, Landing::Moved { checkout: Some(other.clone()) }, "{report:?}");
    assert_eq!(fs::read_to_string(other.join("new")).unwrap(), "x\n");
    assert!(!ran.exists(), "a filter of the repository's settings ran");
}
