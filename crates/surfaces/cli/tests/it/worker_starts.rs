//! What a worker's worktree starts from, what its check sees, and what rules cover in it.

use crate::support::World;
use crate::tasks::add;
use crate::worker_trees::at;
use crate::workers::{bash, event, events, git, is_about, once, task, world};
use ostler_model_server::{calls, text};
use serde_json::json;

fn builders() -> World {
    world(|request, answers| {
        let one = |title: &str, command: &str| is_about(request, title).then(|| bash(command));
        match answers {
            0 => one("Make the door", "echo door > door")
                .or_else(|| one("Paint the door", "sed s/door/red/ door > painted"))
                .or_else(|| one("Left", "echo left > file"))
                .or_else(|| one("Right", "echo right > file"))
                .unwrap_or_else(|| bash("cat file > seen")),
            _ => text("Done."),
        }
    })
}

fn branch(world: &World, id: &str) -> String {
    let found =
        git(world, &["branch", "--list", &format!("ostler/{id}-*"), "--format=%(refname:short)"]);
    assert_eq!(found.lines().count(), 1, "{found}");
    found
}

/// Nobody has merged the first one when the second one begins.
#[test]
fn a_task_starts_from_what_it_depends_on() {
    let world = builders();
    let door = add(&world, &["Make the door"]);
    let paint = add(&world, &["Paint the door", "--depends-on", &door]);
    let ran = once(&world, &["--check", "test -e door"]);
    assert_eq!((ran.code, events(&ran, "finished").len()), (Some(0), 2), "{ran:?}");
    let painted = branch(&world, &paint);
    assert_eq!(git(&world, &["show", &format!("{painted}:painted")]), "red");
    let own = branch(&world, &door);
    assert_eq!(git(&world, &["merge-base", &painted, &own]), git(&world, &["rev-parse", &own]));
    assert_eq!(git(&world, &["log", "--format=%s", "main"]), "first", "nothing was merged");
    let merged = world.run(&["worktrees", "merge", "--all"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let names = git(&world, &["ls-tree", "--name-only", "main"]);
    assert_eq!(names, ".gitignore\ndoor\nfile\npainted");
}

/// As on another machine: the branch of the door is only on the remote.
fn with_a_door_elsewhere() -> (World, String, String) {
    let world = builders();
    let place = world.home().parent().unwrap().to_owned();
    at(&place, &["init", "-q", "--bare", "-b", "main", "origin.git"]);
    git(&world, &["remote", "add", "origin", place.join("origin.git").to_str().unwrap()]);
    git(&world, &["push", "-q", "origin", "main"]);
    let door = add(&world, &["Make the door"]);
    let ran = once(&world, &["--push", "origin"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let branch = branch(&world, &door);
    let name = branch.strip_prefix("ostler/").unwrap();
    let discarded = world.run(&["worktrees", "discard", name, "--yes"]);
    assert_eq!(discarded.code, Some(0), "{discarded:?}");
    (world, door, branch)
}

/// A commit that somebody pushes to the remote, under this name.
fn push_a_stranger(world: &World, branch: &str) {
    let empty = git(world, &["commit-tree", "-m", "strange", "-p", "main", "main^{tree}"]);
    git(world, &["push", "-q", "--force", "origin", &format!("{empty}:refs/heads/{branch}")]);
}

/// The commit that the board has counts, not every branch whose name fits.
#[test]
fn a_task_starts_from_the_commit_that_is_recorded() {
    let (world, door, branch_of_door) = with_a_door_elsewhere();
    push_a_stranger(&world, &format!("ostler/{door}-1-stranger"));
    let paint = add(&world, &["Paint the door", "--depends-on", &door]);
    let ran = once(&world, &["--push", "origin"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let painted = branch(&world, &paint);
    assert_eq!(git(&world, &["show", &format!("{painted}:painted")]), "red");
    let history = git(&world, &["log", "--format=%s", &painted]);
    assert!(!history.contains("strange"), "{history}");
    // Nobody has that commit any more: something else has its name.
    push_a_stranger(&world, &branch_of_door);
    for name in git(&world, &["for-each-ref", "--format=%(refname)", "refs/ostler"]).lines() {
        git(&world, &["update-ref", "-d", name]);
    }
    let name = painted.strip_prefix("ostler/").unwrap();
    assert_eq!(world.run(&["worktrees", "discard", name, "--yes"]).code, Some(0));
    git(&world, &["push", "-q", "origin", "--delete", &painted]);
    git(&world, &["reflog", "expire", "--expire=now", "--all"]);
    git(&world, &["prune", "--expire=now"]);
    let paint = add(&world, &["Paint the door", "--depends-on", &door]);
    let ran = once(&world, &["--push", "origin"]);
    let failed = task(&world, &paint);
    assert_eq!(failed["status"], "failed", "{failed} {ran:?}");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("the remote does not have the commit"), "{error}");
}

#[test]
fn a_task_starts_from_what_was_done_elsewhere() {
    let (world, door, _) = with_a_door_elsewhere();
    let paint = add(&world, &["Paint the door", "--depends-on", &door]);
    let ran = once(&world, &["--push", "origin"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(event(&ran, "started")["earlier"], json!([]), "another task is no attempt");
    assert_eq!(git(&world, &["show", &format!("{}:painted", branch(&world, &paint))]), "red");
}

#[test]
fn work_that_cannot_be_put_together_fails_what_depends_on_it() {
    let world = builders();
    let [left, right] = ["Left", "Right"].map(|title| add(&world, &[title]));
    let last = add(&world, &["Last", "--depends-on", &left, "--depends-on", &right]);
    let ran = once(&world, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let failed = task(&world, &last);
    assert_eq!(failed["status"], "failed", "{failed}");
    let error = failed["error"].as_str().unwrap();
    assert!(
        error.starts_with("it was not begun, because what it depends on cannot be put together: ")
    );
    let [one, other] = [&left, &right].map(|id| branch(&world, id));
    assert!(
        error.contains("conflicts in file. Merge the branches (") && error.contains(&one),
        "{error}"
    );
    assert!(git(&world, &["branch", "--list", &format!("ostler/{last}-*")]).is_empty());
    // Once the person has chosen, it can be done.
    let name = |branch: &str| branch.strip_prefix("ostler/").unwrap().to_owned();
    assert_eq!(world.run(&["worktrees", "merge", &name(&one)]).code, Some(0));
    assert_eq!(world.run(&["worktrees", "discard", &name(&other), "--yes"]).code, Some(0));
    world.run(&["tasks", "retry", &last]);
    let ran = once(&world, &[]);
    assert_eq!(event(&ran, "finished")["task"], json!(last), "{ran:?}");
    assert_eq!(git(&world, &["show", &format!("{}:seen", branch(&world, &last))]), "left");
}

/// An ignored file that makes a check pass is not part of the work.
#[test]
fn a_check_sees_what_was_committed_and_nothing_else() {
    let world = world(|_, answers| match answers {
        0 => bash("mkdir -p target && echo x > target/helper && git init -q sub && echo x > new"),
        _ => text("Done."),
    });
    let id = add(&world, &["Cheat"]);
    let ran = once(&world, &["--check", "cat new; git status --short; cat target/helper"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let failed = task(&world, &id);
    let error = failed["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("the check failed: exit code 1\nx\ncat: target/helper"), "{failed}");
    let id = add(&world, &["Cheat"]);
    let ran = once(
        &world,
        &["--check", "echo $(git rev-parse HEAD) $OSTLER_WORKTREE; test ! -e sub; exit 9"],
    );
    let error = task(&world, &id)["error"].as_str().unwrap().to_owned();
    let commit = git(&world, &["rev-parse", &branch(&world, &id)]);
    assert!(error.contains(&format!("{commit} {id}-1-cheat")), "{error} {ran:?}");
    assert!(!git(&world, &["worktree", "list"]).contains("check-"), "nothing is left of it");
}

/// All that a command can change can be thrown away with the branch, so rules cover what they cover where undo is on.
#[test]
fn rules_for_interpreters_count_in_a_worktree() {
    let world = world(|_, answers| match answers {
        0 => bash("python3 make.py"),
        1 => bash("sed -i s/one/two/ file"),
        2 => bash("git branch mine"),
        3 => calls([("Write", json!({"file_path": "other", "content": "x\n"}))]),
        _ => text("Done."),
    });
    world.file("make.py", "open('made', 'w').write('by python')\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "script"]);
    world.has_chosen();
    let id = add(&world, &["Make"]);
    let rules = "Bash(python3:*),Bash(sed:*),Bash(git branch:*)";
    let ran = world.run(&["worker", "--once", "--json", "--allowedTools", rules]);
    assert_eq!(task(&world, &id)["status"], "done", "{ran:?}");
    let branch = branch(&world, &id);
    assert_eq!(git(&world, &["show", &format!("{branch}:made")]), "by python");
    assert_eq!(git(&world, &["show", &format!("{branch}:file")]), "two\ntwo\nthree");
    let names = git(&world, &["ls-tree", "--name-only", &branch]);
    assert!(!names.contains("other"), "nothing else is allowed: {names}");
    assert!(git(&world, &["branch", "--list", "mine"]).is_empty());
    assert!(!world.project().join("made").exists());
}
