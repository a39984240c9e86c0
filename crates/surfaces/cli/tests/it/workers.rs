//! `ostler worker`: a task from the claim to the branch, and what it may not do.

use crate::support::{Ran, World, answers, finish};
use crate::tasks::{add, object};
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command};

pub fn git(world: &World, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(words);
    command.current_dir(world.project()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// A repository, and a model that answers every request by this function of the request and the number of answers that
/// went before it.
pub fn world(answer: impl Fn(&Recorded, usize) -> Reply + Send + Sync + 'static) -> World {
    let script = Script::new().by(move |request| answer(request, answers(request))).forever();
    let world = World::new(script);
    git(&world, &["init", "-q", "-b", "main", "."]);
    world.file("file", "one\ntwo\nthree\n");
    world.file(".gitignore", "target/\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "first"]);
    world
}

/// The task that a request is about: the first message holds its text.
pub fn is_about(request: &Recorded, title: &str) -> bool {
    request.json()["messages"].to_string().contains(title)
}

pub fn bash(command: &str) -> Reply {
    calls([("Bash", json!({ "command": command }))])
}

const ALLOWED: [&str; 2] = ["--permission-mode", "bypassPermissions"];

pub fn command(world: &World, args: &[&str]) -> Command {
    world.command(&[&["worker", "--json"], &ALLOWED[..], args].concat())
}

pub fn start(world: &World, args: &[&str]) -> Child {
    command(world, args).spawn().unwrap()
}

pub fn once(world: &World, args: &[&str]) -> Ran {
    finish(command(world, &[&["--once"], args].concat()).spawn().unwrap())
}

/// The events of this kind that a worker printed.
pub fn events(ran: &Ran, kind: &str) -> Vec<Value> {
    ran.frames().into_iter().filter(|event| event["event"] == kind).collect()
}

#[track_caller]
pub fn event(ran: &Ran, kind: &str) -> Value {
    let mut found = events(ran, kind);
    assert_eq!(found.len(), 1, "{kind}: {ran:?}");
    found.remove(0)
}

pub fn task(world: &World, id: &str) -> Value {
    object(world, &["show", id])
}

/// The directory of the only worktree.
pub fn tree(event: &Value) -> PathBuf {
    event["path"].as_str().unwrap().into()
}

#[test]
fn a_task_becomes_a_commit_on_a_branch_of_its_own() {
    let world = world(|_, answers| match answers {
        0 => calls([("Write", json!({"file_path": "poem.txt", "content": "roses\n"}))]),
        1 => bash("echo \"$OSTLER_WORKTREE $OSTLER_PORT_BASE\" > place && git status --short"),
        _ => text("The poem is written."),
    });
    let id = add(&world, &["Write the poem", "--description", "About horses."]);
    let ran = once(&world, &["--name", "w", "--check", "grep -q roses poem.txt"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (started, finished) = (event(&ran, "started"), event(&ran, "finished"));
    let branch = format!("ostler/{id}-1-write-the-poem");
    assert_eq!((&started["branch"], &finished["branch"]), (&json!(branch), &json!(branch)));
    let commit = git(&world, &["rev-parse", &branch]);
    let done = task(&world, &id);
    assert_eq!((&done["status"], &done["claimed_by"]), (&json!("done"), &json!("w")));
    let result = format!("The poem is written.\n\nBranch: {branch}\nCommit: {commit}");
    assert_eq!(done["result"], json!(result));
    assert_eq!(git(&world, &["show", &format!("{branch}:poem.txt")]), "roses");
    let place = git(&world, &["show", &format!("{branch}:place")]);
    assert_eq!(place, format!("{id}-1-write-the-poem 20000"));
    let message = git(&world, &["log", "-1", "--format=%B", &branch]);
    assert_eq!(message.trim(), format!("Write the poem\n\nTask: {id}\nAttempt: 1\nWorker: w"));
    // The checkout is as it was, and merging is somebody else's business.
    assert_eq!(git(&world, &["status", "--short"]), "");
    assert_eq!(git(&world, &["log", "--format=%s", "main"]), "first");
    assert_eq!(once(&world, &[]).code, Some(3), "nothing is left");
    world.assert_never_rejected();
}

/// What is not done is merged only by name.
#[test]
fn all_branches_are_merged_but_those_of_tasks_that_are_not_done() {
    let world = world(|request, answers| match (answers, is_about(request, "Good")) {
        (0, true) => bash("echo good > good"),
        (0, false) => bash("echo bad > bad"),
        _ => text("Done."),
    });
    add(&world, &["Good work"]);
    let bad = add(&world, &["Bad work"]);
    let ran = once(&world, &["--check", "test ! -e bad"]);
    assert_eq!((events(&ran, "finished").len(), events(&ran, "failed").len()), (1, 1), "{ran:?}");
    let merged = world.run(&["worktrees", "merge", "--all"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let told = format!("{bad}-1-bad-work was left out: its task is not done");
    assert!(merged.stderr.contains(&told), "{merged:?}");
    assert_eq!(git(&world, &["ls-tree", "--name-only", "main"]), ".gitignore\nfile\ngood");
    let named = world.run(&["worktrees", "merge", &format!("{bad}-1-bad-work")]);
    assert_eq!(named.code, Some(0), "{named:?}");
    assert!(git(&world, &["ls-tree", "--name-only", "main"]).contains("bad"));
}

/// Rules of flags are about the directory that the worker was started in, and about the same files in the worktree.
#[test]
fn rules_of_flags_hold_in_the_checkout_and_in_the_worktree() {
    let path = |request: &Recorded| {
        let told = request.messages()[0].to_string();
        let (_, after) = told.split_once("PATH=").unwrap();
        after
            .split(|c: char| !c.is_alphanumeric() && !"/.-_".contains(c))
            .next()
            .unwrap()
            .to_owned()
    };
    let world = world(move |request, answers| match answers {
        0 => calls([("Read", json!({ "file_path": path(request) }))]),
        1 => bash(&format!("cat {}", path(request))),
        _ => text("Done."),
    });
    for file in ["file".to_owned(), world.project().join("file").display().to_string()] {
        let id = add(&world, &["Read it", "--description", &format!("PATH={file} please")]);
        let before = world.server.requests().len();
        once(&world, &["--disallowedTools", "Read(./file)"]);
        let asked = world.server.requests().split_off(before);
        assert_eq!(asked.len(), 3, "{file}: {:?}", task(&world, &id));
        let seen: String = asked.iter().map(|it| it.json()["messages"].to_string()).collect();
        assert!(!seen.contains("three"), "{file}: {seen}");
    }
}

#[test]
fn a_failing_check_fails_the_task_and_keeps_the_branch() {
    let world = world(|_, answers| match answers {
        0 => bash("echo x > new"),
        _ => text("Done."),
    });
    let id = add(&world, &["Break it"]);
    let check = "echo 'assertion failed: left == right'; echo dropped > \"$HOME/x\"; exit 7";
    let ran = once(&world, &["--check", check]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let failed = task(&world, &id);
    assert_eq!(failed["status"], "failed", "{failed}");
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("the check failed: exit code 7\n"), "{error}");
    assert!(error.contains("assertion failed: left == right"), "{error}");
    let branch = format!("ostler/{id}-1-break-it");
    assert!(error.contains(&format!("Branch: {branch}\nCommit: ")), "{error}");
    assert_eq!(git(&world, &["show", &format!("{branch}:new")]), "x");
    assert!(!world.home().parent().unwrap().join("x").exists(), "the check has a sandbox");
}

#[test]
fn a_task_that_changes_nothing_leaves_no_branch() {
    let world = world(|_, answers| match answers {
        0 => bash("mkdir -p target && echo x > target/built"),
        _ => text("There are three lines."),
    });
    let id = add(&world, &["Count the lines"]);
    let ran = once(&world, &[]);
    assert_eq!((ran.code, &event(&ran, "finished")["commit"]), (Some(0), &Value::Null), "{ran:?}");
    let result = "There are three lines.\n\nNo files were changed.";
    assert_eq!(task(&world, &id)["result"], json!(result));
    assert_eq!(git(&world, &["branch", "--list", "ostler/*"]), "");
    assert!(!tree(&event(&ran, "started")).exists());
}

#[test]
fn several_workers_of_one_process_share_the_tasks() {
    let world = world(|request, answers| match answers {
        // Both have to be here before one of them goes on.
        0 => {
            let name = if is_about(request, "First") { "first" } else { "second" };
            bash(&format!("echo {name} > {name}")).due_at("both")
        }
        _ => text("Done."),
    });
    let ids = [add(&world, &["First"]), add(&world, &["Second"])];
    let last = add(&world, &["Third", "--depends-on", &ids[0], "--depends-on", &ids[1]]);
    let child = start(&world, &["--once", "--count", "2", "--name", "w"]);
    crate::support::until("both have asked", || world.server.requests().len() == 2);
    world.server.gate("both").open();
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(events(&ran, "finished").len(), 3, "{ran:?}");
    let workers: Vec<Value> = ids.iter().map(|id| task(&world, id)["claimed_by"].clone()).collect();
    assert!(workers.contains(&json!("w-1")) && workers.contains(&json!("w-2")), "{workers:?}");
    assert_eq!(task(&world, &last)["status"], "done", "it waited for both");
}

/// What the worktree does not have, and what its branch will not have, is on the board.
#[test]
fn repositories_that_are_left_out_are_reported() {
    let world = world(|_, answers| match answers {
        0 => bash("mkdir nested && git init -q nested && echo x > nested/a && echo y > beside"),
        _ => text("Made."),
    });
    git(&world, &["init", "-q", "vendor/library"]);
    world.file("vendor/library/a", "x\n");
    let id = add(&world, &["Nest"]);
    let ran = once(&world, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let notices = events(&ran, "notice");
    let is_about = |notice: &Value| {
        notice["text"].as_str().is_some_and(|text| text.ends_with("checkout: vendor/library"))
    };
    assert!(notices.iter().any(is_about), "{notices:?}");
    assert_eq!(event(&ran, "finished")["left_out"], json!(["nested"]), "{ran:?}");
    let result = task(&world, &id)["result"].as_str().unwrap().to_owned();
    let line = "Not committed (repositories or special files): nested";
    assert!(result.ends_with(line), "{result}");
}
