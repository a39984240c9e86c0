//! Repositories around the working directory, and those that a command makes.

use super::undone;
use crate::support::{Ran, World, finish, until};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const REPOSITORY: &str = "git init -q -b main; git config user.name Ann; git config user.email a@example.org; \
                          mkdir sub; echo a > a; echo s > sub/s; git add -A; git commit -qm 1";
const COMMIT: &str =
    "echo agent > made; git add made; git commit -qm agent; git branch -q extra; git tag mark";
const LOOK: &str = "git log --all --format=%s; git branch --format='%(refname:short)'; git tag; \
                    git status --porcelain; git reflog --format=%gs; git fsck --no-progress --no-dangling";

fn world(command: &str) -> World {
    let call = calls([("Bash", json!({ "command": command }))]);
    World::new(Script::new().answer(call).answer(text("done")).forever())
}

fn sh(world: &World, cwd: &Path, script: &str) -> String {
    let mut command = Command::new("bash");
    command.args(["-euc", script]).current_dir(cwd).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", world.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn run_in(world: &World, cwd: &Path, args: &[&str]) -> Ran {
    finish(world.command(args).current_dir(cwd).spawn().unwrap())
}

fn go_in(world: &World, cwd: &Path) {
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    assert_eq!(run_in(world, cwd, &args).code, Some(0));
}

/// A commit, a branch and a tag made in `cwd`, a part of a repository elsewhere, are taken back and brought again.
fn goes_back_and_forth(world: &World, cwd: &Path) {
    let before = sh(world, cwd, LOOK);
    go_in(world, cwd);
    let after = sh(world, cwd, LOOK);
    assert!(
        after.contains("agent") && after.contains("extra") && after.contains("mark"),
        "{after}"
    );
    let ran = run_in(world, cwd, &["undo", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, said["complete"].as_bool()), (Some(0), Some(true)), "{said:#}");
    assert_eq!(sh(world, cwd, LOOK), before, "{said:#}");
    assert!(!cwd.join("made").exists());
    assert_eq!(run_in(world, cwd, &["undo", "--redo"]).code, Some(0));
    assert_eq!(sh(world, cwd, LOOK), after);
    assert!(cwd.join("made").exists());
}

#[test]
fn a_commit_in_a_subdirectory_is_undone() {
    let world = world(COMMIT);
    sh(&world, &world.project(), REPOSITORY);
    goes_back_and_forth(&world, &world.project().join("sub"));
}

#[test]
fn a_commit_in_a_linked_worktree_is_undone() {
    let world = world(COMMIT);
    sh(&world, &world.project(), REPOSITORY);
    sh(&world, &world.project(), "git worktree add -q ../linked -b side");
    let linked: PathBuf = world.project().with_file_name("linked");
    let main = "git rev-parse HEAD; git status --porcelain; cat .git/HEAD";
    let before = sh(&world, &world.project(), main);
    goes_back_and_forth(&world, &linked);
    assert_eq!(sh(&world, &world.project(), main), before, "the main worktree");
    // What is done in the other worktree since stays.
    sh(&world, &world.project(), "echo person > p; git add p; git commit -qm person");
    let ran = run_in(&world, &linked, &["undo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(
        sh(&world, &world.project(), "git log --format=%s; git status --porcelain"),
        "person\n1\n"
    );
}

/// Who commits in the main worktree while a command runs in a linked one keeps the commit.
#[test]
fn other_worktrees_are_left_alone() {
    let wait = "touch started; until test -e go-on; do sleep 0.01; done";
    let world = world(&format!("{wait}; {COMMIT}"));
    sh(&world, &world.project(), REPOSITORY);
    sh(&world, &world.project(), "git worktree add -q ../linked -b side");
    let linked = world.project().with_file_name("linked");
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let child = world.command(&args).current_dir(&linked).spawn().unwrap();
    until("it has begun", || linked.join("started").exists());
    sh(&world, &world.project(), "echo person > p; git add p; git commit -qm person");
    std::fs::write(linked.join("go-on"), "").unwrap();
    assert_eq!(finish(child).code, Some(0));
    let ran = run_in(&world, &linked, &["undo"]);
    assert_eq!(ran.code, Some(1), "what stays is said: {}", ran.stdout);
    assert!(ran.stdout.contains("refs/heads/main: belongs to another worktree"), "{}", ran.stdout);
    let look =
        "git log --format=%s; git status --porcelain; git branch --format='%(refname:short)'";
    assert_eq!(sh(&world, &world.project(), look), "person\n1\nmain\nside\n");
    assert_eq!(sh(&world, &linked, "git log --format=%s; git status --porcelain"), "1\n");
}

/// A repository that a command made goes as a whole, unless somebody did something in it.
#[test]
fn a_repository_that_was_made_goes_with_its_objects() {
    let make = "mkdir new; cd new; git init -q -b main .; echo a > a; git add a; \
                git -c user.name=A -c user.email=a@example.org commit -qm agent";
    let all = world(make);
    go_in(&all, &all.project());
    let (ran, said) = undone(&all, &[]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert!(!all.project().join("new").exists(), "{said:#}");
    assert_eq!(undone(&all, &["--redo"]).0.code, Some(0));
    let look = "git log --format=%s; git status --porcelain; git fsck --no-progress --strict";
    assert_eq!(sh(&all, &all.project().join("new"), look), "agent\n");

    let used = world(make);
    go_in(&used, &used.project());
    sh(&used, &used.project().join("new"), "git branch kept; git update-ref refs/heads/kept HEAD");
    let (ran, said) = undone(&used, &[]);
    assert_eq!(ran.code, Some(1), "{said:#}");
    let kept = std::fs::read_to_string(used.project().join("new/.git/refs/heads/kept")).unwrap();
    let object = used.project().join("new/.git/objects").join(&kept[..2]).join(kept[2..].trim());
    assert!(object.exists(), "what the person's branch needs: {said:#}");
}
