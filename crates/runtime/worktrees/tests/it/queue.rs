//! The merge queue: order, conflicts, checks, and the search for the branch that breaks them.

use crate::world::World;
use ostler_worktrees::{
    BranchOutcome, Check, CheckFuture, Landing, MergeQueue, ObjectId, QueueOptions, QueueReport,
    Verdict, WorktreeError,
};
use std::path::{Path, PathBuf};

/// A check that looks at the merged files and remembers how often it ran.
pub struct Looking<F> {
    pub looks: F,
    pub runs: u32,
}

impl<F: FnMut(&Path) -> Verdict + Send> Check for Looking<F> {
    fn check<'a>(&'a mut self, files: &'a Path, _commit: &'a ObjectId) -> CheckFuture<'a> {
        self.runs += 1;
        let verdict = (self.looks)(files);
        Box::pin(std::future::ready(verdict))
    }
}

/// Red if all of these files are there.
pub fn red_with(names: &'static [&'static str]) -> impl FnMut(&Path) -> Verdict + Send {
    move |files| match names.iter().all(|name| files.join(name).exists()) {
        true => Verdict::Red { report: format!("{} together", names.join(" and ")) },
        false => Verdict::Green,
    }
}

pub async fn merge(
    world: &World,
    branches: &[String],
    looks: impl FnMut(&Path) -> Verdict + Send,
) -> QueueReport {
    let trees = world.trees().await;
    let mut queue = MergeQueue::open(&trees, QueueOptions::new("main")).await.unwrap();
    let mut check = Looking { looks, runs: 0 };
    let report = queue.run(branches, Some(&mut check)).await.unwrap();
    assert_eq!(report.checks, check.runs);
    queue.close().await.unwrap();
    assert!(!world.git(&["worktree", "list"]).contains(".queue"));
    assert!(!world.refs().contains("refs/ostler"), "{}", world.refs());
    report
}

fn outcomes(report: &QueueReport) -> Vec<&BranchOutcome> {
    report.branches.iter().map(|branch| &branch.outcome).collect()
}

#[tokio::test]
async fn green_branches_are_merged_in_order_with_one_check() {
    let world = World::new();
    let mut branches = Vec::new();
    for name in ["a", "b", "c"] {
        branches.push(world.branch(name, &[(name, name)]).await);
    }
    let tips: Vec<String> =
        branches.iter().map(|branch| world.git(&["rev-parse", branch])).collect();
    let report = merge(&world, &branches, |files| {
        assert!(
            ["a", "b", "c", "file"].iter().all(|name| files.join(name).exists()),
            "the merged files"
        );
        Verdict::Green
    })
    .await;
    assert_eq!(report.checks, 1);
    assert!(
        outcomes(&report).iter().all(|outcome| matches!(outcome, BranchOutcome::Merged { .. }))
    );
    assert_eq!(report.landing, Landing::Moved { checkout: Some(world.repo.clone()) });
    assert_eq!(world.git(&["rev-parse", "main"]), report.after.as_str());
    let log = world.git(&["log", "--first-parent", "--format=%s", "main"]);
    assert_eq!(
        log,
        "Merge branch 'ostler/c' into main\nMerge branch 'ostler/b' into main\nWork on a\nfirst"
    );
    // The checkout was clean, so its files went along; the branches of the workers are as they were.
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!((world.read("a"), world.read("c")), ("a".into(), "c".into()));
    for (branch, tip) in branches.iter().zip(&tips) {
        assert_eq!(world.git(&["rev-parse", branch]), *tip);
    }
    // The same call again does nothing.
    let again = merge(&world, &branches, |_| panic!("nothing to check")).await;
    assert!(outcomes(&again).iter().all(|outcome| **outcome == BranchOutcome::AlreadyMerged));
    assert_eq!((again.before, again.landing), (report.after, Landing::Unchanged));
}

#[tokio::test]
async fn three_green_branches_whose_combination_is_red_the_culprit_is_found() {
    let world = World::new();
    let mut branches = Vec::new();
    for name in ["a", "b", "c", "d"] {
        branches.push(world.branch(name, &[(name, name)]).await);
    }
    // Each of them is green alone, and so are all pairs of a, b and c but one.
    let report = merge(&world, &branches, red_with(&["a", "c"])).await;
    let red = BranchOutcome::Red {
        report: "a and c together".into(),
        alone: false,
        with: vec!["ostler/a".into()],
    };
    let found = outcomes(&report);
    assert!(
        matches!(found[0], BranchOutcome::Merged { .. })
            && matches!(found[1], BranchOutcome::Merged { .. })
    );
    assert_eq!(found[2], &red);
    assert!(matches!(found[3], BranchOutcome::Merged { .. }), "the rest is merged without it");
    let names = world.git(&["ls-tree", "--name-only", "main"]);
    assert_eq!(names, ".gitignore\na\nb\nd\nfile");
    assert!(world.refs().contains("refs/heads/ostler/c"), "its branch is kept");
}

#[tokio::test]
async fn a_branch_that_takes_all_the_others_to_fail_is_found_too() {
    let world = World::new();
    let mut branches = Vec::new();
    for name in ["a", "b", "c"] {
        branches.push(world.branch(name, &[(name, name)]).await);
    }
    let report = merge(&world, &branches, red_with(&["a", "b", "c"])).await;
    let [
        BranchOutcome::Merged { .. },
        BranchOutcome::Merged { .. },
        BranchOutcome::Red { alone: false, with, .. },
    ] = outcomes(&report)[..]
    else {
        panic!("{report:?}")
    };
    assert_eq!(with, &["ostler/a"], "without this one the other two pass");
    assert_eq!(world.git(&["rev-parse", "main"]), report.after.as_str());
}

#[tokio::test]
async fn a_branch_that_fails_alone_is_returned_and_the_others_are_merged() {
    let world = World::new();
    let mut branches = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        branches.push(world.branch(name, &[(name, name)]).await);
    }
    let report = merge(&world, &branches, red_with(&["f"])).await;
    for (branch, outcome) in branches.iter().zip(outcomes(&report)) {
        match branch.as_str() {
            "ostler/f" => {
                assert!(matches!(outcome, BranchOutcome::Red { alone: true, .. }), "{outcome:?}")
            }
            _ => assert!(matches!(outcome, BranchOutcome::Merged { .. }), "{branch}: {outcome:?}"),
        }
    }
    // 8 together, the target, 3 halves, the culprit alone, then the rest.
    assert!(report.checks <= 7, "{}", report.checks);
}

#[tokio::test]
async fn f10_a_conflict_goes_back_with_its_files_and_nothing_is_lost() {
    let world = World::new();
    let one = world.branch("one", &[("file", "one\nONE\nthree\n")]).await;
    let two = world.branch("two", &[("file", "one\nTWO\nthree\n"), ("more", "x")]).await;
    let three = world.branch("three", &[("new", "x")]).await;
    let tip = world.git(&["rev-parse", &two]);
    let report = merge(&world, &[one.clone(), two.clone(), three], |_| Verdict::Green).await;
    let found = outcomes(&report);
    assert!(
        matches!(found[0], BranchOutcome::Merged { .. })
            && matches!(found[2], BranchOutcome::Merged { .. })
    );
    let conflict = BranchOutcome::Conflict { files: vec![PathBuf::from("file")], with: vec![one] };
    assert_eq!(found[1], &conflict);
    assert_eq!(world.git(&["rev-parse", &two]), tip, "the branch is as it was");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the main checkout is clean");
    assert_eq!(world.read("file"), "one\nONE\nthree\n");
    assert!(!world.repo.join(".git/MERGE_HEAD").exists());
}

#[tokio::test]
async fn a_branch_that_conflicts_with_a_red_one_is_merged() {
    let world = World::new();
    let red = world.branch("red", &[("file", "red\n"), ("red", "x")]).await;
    let good = world.branch("good", &[("file", "good\n")]).await;
    let report = merge(&world, &[red, good], red_with(&["red"])).await;
    assert!(matches!(outcomes(&report)[0], BranchOutcome::Red { alone: true, .. }));
    assert!(matches!(outcomes(&report)[1], BranchOutcome::Merged { .. }), "{report:?}");
    assert_eq!(world.read("file"), "good\n");
}

#[tokio::test]
async fn a_target_that_is_red_itself_blames_no_branch() {
    let world = World::new();
    let branch = world.branch("a", &[("a", "x")]).await;
    let report = merge(&world, &[branch], red_with(&["file"])).await;
    let BranchOutcome::NotReached { why } = outcomes(&report)[0] else { panic!("{report:?}") };
    assert_eq!(why, "the check fails on main itself: file together");
    assert_eq!(report.before, report.after);
}

#[tokio::test]
async fn a_check_that_cannot_run_merges_nothing() {
    let world = World::new();
    let branch = world.branch("a", &[("a", "x")]).await;
    let report = merge(&world, &[branch], |_| Verdict::Unable { why: "no sandbox".into() }).await;
    assert_eq!(outcomes(&report)[0], &BranchOutcome::NotReached { why: "no sandbox".into() });
    assert_eq!(report.before, report.after);
}

#[tokio::test]
async fn checks_see_the_merged_files_and_nothing_of_each_other() {
    let world = World::new();
    let mut branches = Vec::new();
    for name in ["a", "b", "c"] {
        branches.push(world.branch(name, &[(name, name)]).await);
    }
    let mut red = red_with(&["c"]);
    let report = merge(&world, &branches, |files| {
        assert!(!files.join("made by a check").exists(), "new files are removed");
        assert_eq!(
            std::fs::read_to_string(files.join("file")).unwrap(),
            "one\ntwo\nthree\n",
            "changes are reverted"
        );
        std::fs::write(files.join("made by a check"), "x").unwrap();
        std::fs::write(files.join("file"), "changed by a check").unwrap();
        // Even if it breaks the worktree itself.
        std::fs::remove_file(files.join(".git")).unwrap();
        red(files)
    })
    .await;
    assert!(matches!(outcomes(&report)[2], BranchOutcome::Red { .. }));
    assert_eq!(world.git(&["ls-tree", "--name-only", "main"]), ".gitignore\na\nb\nfile");
}

#[tokio::test]
async fn missing_branches_and_targets_are_named_and_one_queue_runs_at_a_time() {
    let world = World::new();
    let report = merge(&world, &["ostler/nothing".into()], |_| Verdict::Green).await;
    assert_eq!(outcomes(&report)[0], &BranchOutcome::Missing);
    let trees = world.trees().await;
    let mut queue = MergeQueue::open(&trees, QueueOptions::new("elsewhere")).await.unwrap();
    assert!(
        matches!(queue.run(&[], None).await, Err(WorktreeError::NoBranch(name)) if name == "elsewhere")
    );
    let first = MergeQueue::open(&trees, QueueOptions::new("main")).await.unwrap();
    let second = MergeQueue::open(&trees, QueueOptions::new("main")).await;
    assert!(
        matches!(second.err().unwrap(), WorktreeError::QueueBusy { target } if target == "main")
    );
    drop(first);
    MergeQueue::open(&trees, QueueOptions::new("main")).await.unwrap();
}

#[tokio::test]
async fn merge_drivers_of_the_repository_do_not_run() {
    let world = World::new();
    world.write(".gitattributes", "file merge=evil\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "attributes"]);
    let trace = world.base.join("ran");
    world.git(&["config", "merge.evil.driver", &format!("touch {}; true", trace.display())]);
    let one = world.branch("one", &[("file", "ONE\ntwo\nthree\n")]).await;
    let two = world.branch("two", &[("file", "one\ntwo\nTHREE\n")]).await;
    let three = world.branch("three", &[("file", "other\ntwo\nthree\n")]).await;
    let report = merge(&world, &[one, two, three], |_| Verdict::Green).await;
    assert!(matches!(outcomes(&report)[2], BranchOutcome::Conflict { .. }), "{report:?}");
    assert_eq!(world.read("file"), "ONE\ntwo\nTHREE\n", "text is merged as usual");
    assert!(!trace.exists());
}
