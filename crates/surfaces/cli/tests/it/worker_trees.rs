//! What the harness does in worktrees of workers: copies, commands of the project, and the remote.

use crate::redis_server::RedisServer;
use crate::support::{Ran, World, finish};
use crate::tasks::add;
use crate::workers::{bash, command, event, events, git, once, task, world};
use ostler_model_server::text;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn working() -> World {
    world(|_, answers| match answers {
        0 => bash("cat .env > seen; cat deps >> seen; true"),
        _ => text("Done."),
    })
}

fn configure(world: &World) {
    world.file(".gitignore", ".env\ndeps\n");
    world.file(".worktreeinclude", "# secrets for tests\n.env\n");
    let settings = json!({"worktrees": {
        "setup": "echo \"$OSTLER_PORT_BASE\" > deps; echo x > \"$HOME/escaped\"; true",
        "teardown": "exit 3",
        "check": "grep -q SECRET seen",
    }});
    world.file(".ostler/settings.json", &settings.to_string());
    git(world, &["add", "."]);
    git(world, &["commit", "-qm", "configured"]);
    world.file(".env", "SECRET=1\n");
}

fn seen(world: &World, ran: &Ran) -> String {
    let branch = event(ran, "finished")["branch"].as_str().unwrap().to_owned();
    git(world, &["show", &format!("{branch}:seen")])
}

/// Files to copy and commands count only after trust, by content, and the commands run in the sandbox.
#[test]
fn what_a_project_wants_in_worktrees_counts_after_trust() {
    let world = working();
    configure(&world);
    let id = add(&world, &["Look"]);
    let ran = once(&world, &[]);
    assert_eq!((ran.code, &task(&world, &id)["status"]), (Some(0), &json!("done")), "{ran:?}");
    assert_eq!(seen(&world, &ran), "", "nothing was copied, set up or checked");
    for wants in ["copies .env into worktrees", "runs in every new worktree: echo", "runs to check"]
    {
        assert!(ran.stderr.contains(wants), "{wants}: {}", ran.stderr);
    }
    add(&world, &["Look"]);
    let ran = once(&world, &["--trust"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = seen(&world, &ran);
    let port = found.strip_prefix("SECRET=1\n").unwrap_or_else(|| panic!("{found} {ran:?}"));
    assert!(port.parse::<u16>().is_ok_and(|port| port >= 20_000), "{found}");
    assert!(!world.home().parent().unwrap().join("escaped").exists(), "it has a sandbox");
    // Trust is about the content.
    world.file(".worktreeinclude", ".env\nother\n");
    add(&world, &["Look"]);
    let ran = once(&world, &[]);
    assert_eq!(seen(&world, &ran), "", "{ran:?}");
}

#[test]
fn a_check_and_a_teardown_of_settings_are_run() {
    let world = world(|_, _| text("Nothing to do."));
    configure(&world);
    let id = add(&world, &["Idle"]);
    let ran = once(&world, &["--trust"]);
    let failed = task(&world, &id);
    assert_eq!(failed["status"], "failed", "{ran:?}");
    assert!(
        failed["error"].as_str().unwrap().starts_with("the check failed: exit code "),
        "{failed}"
    );
    let notices: Vec<Value> = events(&ran, "notice");
    assert!(
        notices.iter().any(|it| it["text"].as_str().unwrap().contains("exit code 3")),
        "{ran:?}"
    );
    // The flag counts before the setting.
    let id = add(&world, &["Idle again"]);
    once(&world, &["--check", "true"]);
    assert_eq!(task(&world, &id)["status"], "done");
}

pub fn at(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(words).current_dir(folder);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Without the flag nothing is pushed; with it only the branch of the task, from the newest base, and never with force.
#[test]
fn only_the_branch_of_a_task_is_pushed() {
    let world = world(|_, answers| match answers {
        0 => bash("echo x > new; git push origin HEAD:refs/heads/by-the-agent; true"),
        _ => text("Done."),
    });
    let place = world.home().parent().unwrap().to_owned();
    at(&place, &["init", "-q", "--bare", "-b", "main", "origin.git"]);
    let origin = place.join("origin.git");
    git(&world, &["remote", "add", "origin", origin.to_str().unwrap()]);
    git(&world, &["push", "-q", "origin", "main"]);
    let heads = || at(&origin, &["for-each-ref", "--format=%(refname:short)"]);
    add(&world, &["Quiet"]);
    assert_eq!(once(&world, &[]).code, Some(0));
    assert_eq!(heads(), "main", "nothing is pushed without the flag");
    // Somebody else went on in the meantime.
    at(&place, &["clone", "-q", "origin.git", "other"]);
    std::fs::write(place.join("other/theirs"), "x").unwrap();
    at(&place.join("other"), &["add", "."]);
    at(&place.join("other"), &["commit", "-qm", "theirs"]);
    at(&place.join("other"), &["push", "-q", "origin", "main"]);
    let id = add(&world, &["Loud"]);
    let ran = once(&world, &["--push", "origin"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let branch = format!("ostler/{id}-1-loud");
    assert_eq!(heads(), format!("main\n{branch}"), "{ran:?}");
    assert_eq!(at(&origin, &["log", "--format=%s", &branch]), "Loud\ntheirs\nfirst");
    assert_eq!(git(&world, &["log", "--format=%s", "main"]), "first", "the checkout stays");
    // The name is taken by something else: that is kept, and the task goes back.
    let id = add(&world, &["Taken"]);
    let taken = format!("ostler/{id}-1-taken");
    at(&origin, &["branch", &taken, "main"]);
    at(&place.join("other"), &["checkout", "-q", "-b", "diverged"]);
    at(&place.join("other"), &["commit", "-q", "--allow-empty", "-m", "diverged"]);
    at(&place.join("other"), &["push", "-q", "origin", &format!("HEAD:refs/heads/{taken}")]);
    let before = at(&origin, &["rev-parse", &taken]);
    let ran = once(&world, &["--push", "origin"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(at(&origin, &["rev-parse", &taken]), before);
    assert_eq!(events(&ran, "returned").len(), 1, "{ran:?}");
    let started = events(&ran, "started");
    assert!(started[0]["earlier"].to_string().contains(&taken), "{started:?}");
    assert_eq!(task(&world, &id)["attempt"], 2, "the next attempt has another name");
    let ran = once(&world, &["--push", "nowhere"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("git has no remote called \"nowhere\""), "{ran:?}");
}

#[test]
fn workers_share_a_board_on_a_server() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let world = working();
    let url = format!("redis://127.0.0.1:{}?board=shared", server.port);
    let added = world.run(&["tasks", "add", "Look", "--board", &url, "--json"]);
    let added: Value = serde_json::from_str(&added.stdout).unwrap();
    let ran = finish(command(&world, &["--once", "--board", &url]).spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(event(&ran, "finished")["task"], added["id"], "{ran:?}");
    let id = added["id"].as_str().unwrap();
    let shown = world.run(&["tasks", "show", id, "--board", &url, "--json"]);
    assert!(shown.stdout.contains("\"done\""), "{shown:?}");
    let ran = finish(command(&world, &["--once", "--board", &url]).spawn().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
}
