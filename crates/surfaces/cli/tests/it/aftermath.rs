//! What commands leave for the user to run, what they may use up, and what they see of the environment.

use crate::support::{Ran, World, finish, signal, until};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::path::Path;
use std::process::Command;

fn bash(command: &str) -> Script {
    Script::new().answer(calls([("Bash", json!({ "command": command }))])).answer(text("Done."))
}

fn told(world: &World) -> String {
    let result = world.server.requests()[1].tool_results()[0]["content"].clone();
    result.as_str().map_or_else(|| result.to_string(), str::to_owned)
}

fn go(world: &World, more: &[&str]) -> Ran {
    let mut args = vec!["-p", "go", "--output-format", "stream-json"];
    args.extend(["--permission-mode", "bypassPermissions"]);
    args.extend(more);
    world.run(&args)
}

fn outside(folder: &Path, script: &str) -> String {
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(folder).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.env("HOME", "/nonexistent").output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A nested repository whose monitor leaves a canary beside the project.
const PLANT: &str = "git init -q sub && printf '#!/bin/sh\\ntouch %s/canary\\n' \"$PWD\" > sub/evil && \
    chmod +x sub/evil && git -C sub config core.fsmonitor ./evil\n";

/// The exploit: the user looks at the directory.
fn canary(world: &World) -> bool {
    outside(&world.project().join("sub"), "git status; git diff");
    world.project().join("canary").exists()
}

#[test]
fn a_planted_repository_runs_nothing_when_the_user_looks() {
    for (more, works) in [(&["--no-sandbox"][..], true), (&[], false), (&["--no-undo"], false)] {
        let world = World::new(bash("sh plant.sh"));
        world.file("plant.sh", PLANT);
        outside(&world.project(), "git init -q .");
        let ran = go(&world, more);
        assert!(world.project().join("sub/evil").exists(), "{}", told(&world));
        assert_eq!(canary(&world), works, "{more:?}: {}", told(&world));
        if !works {
            for said in [told(&world), ran.stdout] {
                let want =
                    "sub/.git would run programs for anyone who uses git there (core.fsmonitor)";
                assert!(said.contains(want) && said.contains("HEAD.quarantined-1"), "{said}");
            }
        }
    }
}

/// An interrupted command is looked at as well.
#[test]
fn a_planted_repository_is_found_after_an_interruption() {
    let world = World::new(bash("sh plant.sh; touch planted; sleep 1000"));
    world.file("plant.sh", PLANT);
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let child = world.command(&args).spawn().unwrap();
    until("it is planted", || world.project().join("planted").exists());
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(finish(child).code, Some(130));
    assert!(world.project().join("sub/.git/HEAD.quarantined-1").exists());
    assert!(!canary(&world));
}

#[test]
fn files_that_run_later_are_told_to_both() {
    for more in [&[][..], &["--no-undo"]] {
        let world = World::new(bash("sh work.sh"));
        world.file("work.sh", "echo evil > .envrc; echo x > notes.txt\n");
        world.file(".envrc", "export A=1\n");
        let ran = go(&world, more);
        let want = ".envrc changed: direnv runs it when you enter the directory";
        assert!(told(&world).contains(want), "{}", told(&world));
        assert!(ran.stdout.contains(want), "{}", ran.stdout);
        assert!(!told(&world).contains("notes.txt"));
    }
}

/// Two branches that conflict, in the middle of a rebase.
const CONFLICT: &str = "git init -q -b main . && git config user.name a && git config user.email a@example.invalid && \
    echo one > f && git add f && git commit -qm one && git checkout -qb side && echo side > f && git commit -qam side && \
    git checkout -q main && echo main > f && git commit -qam main && git checkout -q side";

#[test]
fn a_rebase_in_progress_gets_no_further_steps() {
    let go_on = "echo both > f; git add f; GIT_EDITOR=true git rebase --continue; git log --format=%s | head -1";
    let plant = "echo \"exec touch $PWD/canary\" >> .git/rebase-merge/git-rebase-todo";
    for (more, works) in [(&["--no-sandbox"][..], true), (&[], false)] {
        let world = World::new(bash("sh plant.sh"));
        world.file("plant.sh", plant);
        outside(&world.project(), &format!("{CONFLICT}; git rebase main"));
        assert!(world.project().join(".git/rebase-merge").exists());
        go(&world, more);
        let said = outside(&world.project(), go_on);
        assert_eq!(world.project().join("canary").exists(), works, "{said}");
        assert!(said.contains("side"), "{said}");
    }
    // Made from nothing.
    let world = World::new(bash("sh plant.sh"));
    let make = "mkdir .git/rebase-merge && cd .git/rebase-merge && echo \"exec touch ../../canary\" > git-rebase-todo";
    world.file("plant.sh", make);
    outside(&world.project(), CONFLICT);
    go(&world, &[]);
    assert!(!world.project().join(".git/rebase-merge").exists(), "{}", told(&world));
    assert!(
        told(&world).contains(".git/rebase-merge was created by the command"),
        "{}",
        told(&world)
    );
}

#[test]
fn a_rebase_by_git_itself_works() {
    let line = "git rebase main; echo both > f && git add f && GIT_EDITOR=true git rebase --continue && \
        git log --format=%s | tr '\\n' ' '";
    let world = World::new(bash(line));
    outside(&world.project(), CONFLICT);
    go(&world, &[]);
    assert!(told(&world).contains("side main one"), "{}", told(&world));
    assert!(!world.project().join(".git/rebase-merge").exists());
}

#[test]
fn a_command_that_uses_too_much_is_stopped_and_it_is_told() {
    let settings = json!({"sandbox": {"limits": {"memory": "100M", "fileSize": "1M"}}}).to_string();
    let world = World::new(bash("tail -n 1 /dev/zero"));
    // A project asks for more, and does not get it.
    world.file(".ostler/settings.json", r#"{"sandbox": {"limits": {"memory": "1T"}}}"#);
    let ran = go(&world, &["--settings", &settings]);
    let want = "The command was stopped: it used more than 100 MB of memory (sandbox.limits.memory";
    assert!(told(&world).contains(want), "{}", told(&world));
    assert!(ran.stdout.contains(want), "{}", ran.stdout);

    let world = World::new(bash("cat /dev/zero > endless"));
    go(&world, &["--settings", &settings]);
    assert!(told(&world).contains("a file can be at most 1 MB"), "{}", told(&world));
    assert_eq!(world.project().join("endless").metadata().unwrap().len(), 1 << 20);

    let world = World::new(Script::new());
    let wrong = json!({"sandbox": {"limits": {"memory": "lots"}}}).to_string();
    let ran = go(&world, &["--settings", &wrong]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("sandbox.limits.memory must be a size"), "{}", ran.stderr);
    // A project's file lowers them without trust.
    world.file(".ostler/settings.json", r#"{"sandbox": {"limits": {"memory": "50M"}}}"#);
    let ran = world.run(&["sandbox", "run", "--", "tail -n 1 /dev/zero"]);
    assert!(ran.stderr.contains("more than 50 MB of memory"), "{}", ran.stderr);
    let ran = world.run(&["doctor"]);
    assert!(ran.stdout.contains("limits: "), "{}", ran.stdout);
}

#[test]
fn credentials_of_proxies_and_odd_locales_stay_outside() {
    let settings = json!({
        "env": {"LC_TIME": "odd_FROM.SETTINGS", "ftp_proxy": "http://u:from-settings@proxy.example"},
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "env > hook.txt"}]}]},
    })
    .to_string();
    let world = World::new(bash("sh env.sh"));
    world.file("env.sh", "env | sort > command.txt\n");
    let set = |command: &mut Command| {
        command
            .env("HTTPS_PROXY", "http://user:hunter2@proxy.example:3128")
            .env("all_proxy", "user:hunter2@proxy.example")
            .env("NO_PROXY", "localhost")
            .env("LC_ALL", "odd_FROM.ENVIRONMENT")
            .env("LC_CTYPE", "odd_FROM.ENVIRONMENT")
            .env("LANG", "../../odd");
    };
    let args = ["-p", "go", "--permission-mode", "bypassPermissions", "--settings", &settings];
    let mut command = world.command(&args);
    set(&mut command);
    // The model is on this machine, so no proxy is asked for it.
    command.env("NO_PROXY", "127.0.0.1");
    assert_eq!(finish(command.spawn().unwrap()).code, Some(0));
    let mut command = world.command(&["sandbox", "run", "--", "env > run.txt"]);
    set(&mut command);
    assert_eq!(finish(command.spawn().unwrap()).code, Some(0));
    for file in ["command.txt", "run.txt", "hook.txt"] {
        let seen = world.read(file);
        assert!(seen.contains("HTTPS_PROXY=http://proxy.example:3128\n"), "{file}: {seen}");
        assert!(seen.contains("all_proxy=proxy.example\n"), "{file}: {seen}");
        for secret in ["hunter2", "odd_FROM", "../odd", "from-settings"] {
            assert!(!seen.contains(secret), "{file} {secret}: {seen}");
        }
    }
}
