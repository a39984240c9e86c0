//! F05 and the merge queue: a process that is killed at any call of git that changes something, before it and after it.
//! The next start finishes or undoes what is half done, and loses nothing.

use crate::world::World;
use ostler_worktrees::{KeepReason, PruneOptions, TreeState};
use std::fs::{self, File};
use std::process::Stdio;

const MODES: [&str; 2] = ["before", "after"];

/// Kills the client before or after its nth call that changes something. The lock file shows when nothing of it runs any
/// more. True: there were fewer calls.
fn run_and_kill(world: &World, words: &[&str], mode: &str, at: usize) -> bool {
    let base = world.base.display();
    fs::write(world.base.join("count"), "").unwrap();
    world.shim(&format!(
        "exec 9>>{base}/running; flock -s 9
        kill_client() {{ kill -9 $(awk '/^PPid/ {{ print $2 }}' /proc/$PPID/status); exec sleep 1000; }}
        case \"$3 $4\" in
            'worktree list'*) ;;
            worktree*|update-ref*|commit-tree*|update-index*|read-tree*|write-tree*|checkout*|clean*|merge\\ *)
                echo >> {base}/count
                if [ $(wc -l < {base}/count) = {at} ]; then
                    if [ {mode} = after ]; then $real \"$@\" >/dev/null 2>&1; fi
                    kill_client
                fi ;;
        esac"
    ));
    let output = world.helper(words).stdout(Stdio::piped()).output().unwrap();
    fs::remove_file(world.bin.join("git")).unwrap();
    // Waits for the supervisor to end what the client has started.
    let running =
        File::options().create(true).append(true).open(world.base.join("running")).unwrap();
    running.lock().unwrap();
    if output.status.code().is_some() {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    output.status.code().is_some()
}

#[tokio::test]
async fn f05_a_worker_that_is_killed_anywhere_leaves_its_work_or_nothing() {
    let mut points = 0;
    for mode in MODES {
        for at in 1.. {
            let world = World::new();
            let before = world.checkout_state();
            let is_over = run_and_kill(&world, &["work", "x", "new", "the work"], mode, at);
            check_after_work(&world, &format!("{mode} {at}")).await;
            assert_eq!(world.checkout_state(), before, "{mode} {at}");
            if is_over {
                break;
            }
            points += 1;
        }
    }
    assert!(points >= 12, "{points} points");
}

async fn check_after_work(world: &World, point: &str) {
    let trees = world.trees().await;
    let found = trees.list().await.unwrap();
    assert!(found.len() <= 1, "{point}: {found:?}");
    let allowed = [TreeState::Incomplete, TreeState::Idle];
    assert!(found.iter().all(|entry| allowed.contains(&entry.state)), "{point}: {found:?}");
    let worked = world.state.join("project/x/new").exists();
    let report = trees.prune(PruneOptions::default(), None).await.unwrap();
    match report.kept.as_slice() {
        [] => {
            assert!(!worked, "{point}: work was lost");
            assert_eq!(world.leftovers(), Vec::<String>::new(), "{point}");
        }
        [kept] => {
            let expected =
                [KeepReason::Uncommitted { files: 1 }, KeepReason::Unmerged { commits: 1 }];
            assert!(worked && expected.contains(&kept.reason), "{point}: {kept:?}");
            assert_eq!(
                fs::read_to_string(world.state.join("project/x/new")).unwrap(),
                "the work",
                "{point}"
            );
            trees.discard("x", None).await.unwrap();
            assert_eq!(world.leftovers(), Vec::<String>::new(), "{point}");
        }
        more => panic!("{point}: {more:?}"),
    }
    // The name is free again.
    let tree = trees.create(crate::world::new_tree("x")).await.unwrap();
    assert_eq!(tree.name(), "x", "{point}");
}

#[tokio::test]
async fn f05_a_worker_that_is_killed_in_the_middle_of_a_checkout_leaves_nothing() {
    let world = World::new();
    world.write(".gitattributes", "*.txt filter=slow\n");
    for number in 0..20 {
        world.write(&format!("{number:02}.txt"), "x");
    }
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "files"]);
    // The filter of a file in the middle: it finds the client above the supervisor, git and itself.
    let base = world.base.display();
    let filter = format!(
        "exec 9>>{base}/running; flock -s 9; if [ %f = 10.txt ]; then for pid in $(pgrep -f '^{} create {}'); do kill -9 $pid; done; sleep 1000; fi; cat",
        crate::world::HELPER,
        world.repo.display()
    );
    world.git(&["config", "--global", "filter.slow.smudge", &filter]);
    let output = world.helper(&["create", "x"]).stdin(Stdio::piped()).output().unwrap();
    assert!(output.status.code().is_none(), "it was killed");
    let running =
        File::options().create(true).append(true).open(world.base.join("running")).unwrap();
    running.lock().unwrap();
    let path = world.state.join("project/x");
    assert!(
        path.join("09.txt").exists() && !path.join("19.txt").exists(),
        "half of the files are there"
    );
    world.git(&["config", "--global", "--remove-section", "filter.slow"]);
    let trees = world.trees().await;
    assert_eq!(trees.find("x").await.unwrap().state, TreeState::Incomplete);
    assert_eq!(trees.prune(PruneOptions::default(), None).await.unwrap().removed, ["x"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[tokio::test]
async fn a_removal_that_is_killed_anywhere_is_finished_later() {
    let mut points = 0;
    for mode in MODES {
        for at in 1.. {
            let world = World::new();
            let tree = world.tree("x").await;
            crate::world::write(tree.path(), "target/build", "ignored");
            drop(tree);
            let is_over = run_and_kill(&world, &["prune"], mode, at);
            let options = PruneOptions { ignored: true, ..PruneOptions::default() };
            let report = world.trees().await.prune(options, None).await.unwrap();
            assert!(report.kept.is_empty(), "{mode} {at}: {report:?}");
            assert_eq!(world.leftovers(), Vec::<String>::new(), "{mode} {at}");
            if is_over {
                break;
            }
            points += 1;
        }
    }
    assert!(points >= 4, "{points} points");
}

#[test]
fn a_merge_queue_that_is_killed_before_any_step_is_finished_by_the_same_call() {
    kill_merges("before");
}

#[test]
fn a_merge_queue_that_is_killed_after_any_step_is_finished_by_the_same_call() {
    kill_merges("after");
}

fn kill_merges(mode: &str) {
    let branches = ["ostler/a", "ostler/red", "ostler/b", "ostler/conflict"];
    let words = [&["merge"][..], &branches].concat();
    for at in 1.. {
        let world = queued_world();
        let tips = branches.map(|branch| world.git(&["rev-parse", branch]));
        let is_over = run_and_kill(&world, &words, mode, at);
        let again = world.helper(&words).output().unwrap();
        let text = String::from_utf8_lossy(&again.stdout).into_owned();
        check_after_merge(&world, &text, &format!("{mode} {at}"));
        assert_eq!(branches.map(|branch| world.git(&["rev-parse", branch])), tips, "{mode} {at}");
        if is_over {
            assert!(at > 15, "{at} points");
            break;
        }
    }
}

/// Branches made by plain git: two good ones, one that is red, one that conflicts with the first.
fn queued_world() -> World {
    let world = World::new();
    for (name, file, text) in [
        ("a", "file", "a\n"),
        ("red", "red", "x"),
        ("b", "b", "x"),
        ("conflict", "file", "other\n"),
    ] {
        world.git(&["checkout", "-q", "-b", &format!("ostler/{name}"), "main"]);
        world.write(file, text);
        world.git(&["add", "."]);
        world.git(&["commit", "-qm", name]);
    }
    world.git(&["checkout", "-q", "main"]);
    world
}

fn check_after_merge(world: &World, text: &str, point: &str) {
    let report: serde_json::Value =
        serde_json::from_str(text).unwrap_or_else(|_| panic!("{point}: {text}"));
    let outcome =
        |number: usize| report["branches"][number]["outcome"].as_str().unwrap().to_owned();
    for number in [0, 2] {
        assert!(["merged", "already_merged"].contains(&&*outcome(number)), "{point}: {text}");
    }
    assert_eq!((outcome(1), outcome(3)), ("red".into(), "conflict".into()), "{point}: {text}");
    // Once each, with the files of the checkout.
    assert_eq!(
        world.git(&["log", "--no-merges", "--format=%s", "main"]).lines().count(),
        3,
        "{point}"
    );
    assert_eq!((world.read("file"), world.read("b")), ("a\n".into(), "x".into()), "{point}");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "{point}");
    assert!(!world.refs().contains("refs/ostler"), "{point}");
}
