//! `ostler mcp serve` as clients see it: what it offers, what it refuses, and what it leaves behind.

mod agent;
mod client;
mod official_client;
mod questions;

use crate::support::{World, processes_with, signal, unique_sleep, until};
use client::{Client, text};
use ostler_model_server::Script;
use rustix::process::Signal;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};

const ALL: [&str; 2] = ["--tools", "Read,Grep,Glob,Write,Edit,Bash"];

fn world() -> World {
    let world = World::new(Script::new());
    world.file("notes.txt", "alpha\nbeta\n");
    world
}

#[test]
fn only_tools_that_read_are_on_offer_and_they_stay_in_the_project() {
    let world = world();
    let outside = world.home().parent().unwrap().join("secret.txt");
    std::fs::write(&outside, "the secret").unwrap();
    symlink(&outside, world.project().join("link.txt")).unwrap();
    let mut client = Client::start(&world, &[]);
    client.hello(json!({}));
    assert_eq!(client.tools(), ["Glob", "Grep", "Read"]);
    let read = client.call("Read", json!({"file_path": "notes.txt"}));
    assert!(text(&read).contains("alpha"), "{read}");
    assert_eq!(read["result"]["isError"], false);
    for path in ["../secret.txt", "link.txt", outside.to_str().unwrap(), "/etc/shadow"] {
        let read = client.call("Read", json!({"file_path": path}));
        assert_eq!(read["result"]["isError"], true, "{path}: {read}");
        assert!(!read.to_string().contains("the secret"), "{path}: {read}");
        assert!(text(&read).contains("nobody is there to ask"), "{path}: {read}");
    }
    for tool in ["Write", "Bash", "ostler_agent", "Nonsense"] {
        let refused = client.call(tool, json!({"file_path": "new.txt", "content": "x"}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert_eq!(client.end(), Some(0));
    assert!(!world.project().join("new.txt").exists());
}

#[test]
fn rules_of_the_command_line_decide_what_is_on_offer() {
    let world = world();
    let args = ["--allowedTools", "Bash(touch:*)", "--disallowedTools", "Grep"];
    let mut client = Client::start(&world, &args);
    client.hello(json!({}));
    assert_eq!(client.tools(), ["Bash", "Glob", "Read"]);
    assert_eq!(client.call("Bash", json!({"command": "touch a.txt"}))["result"]["isError"], false);
    assert_eq!(client.call("Bash", json!({"command": "rm a.txt"}))["result"]["isError"], true);
    client.end();
    assert!(world.project().join("a.txt").exists());
}

#[test]
fn what_needs_approval_is_denied_if_nobody_can_be_asked() {
    let world = world();
    let mut client = Client::start(&world, &ALL);
    client.hello(json!({}));
    assert_eq!(client.tools(), ["Bash", "Edit", "Glob", "Grep", "Read", "Write"]);
    for (tool, input) in [
        ("Write", json!({"file_path": "new.txt", "content": "x"})),
        ("Bash", json!({"command": "touch new.txt"})),
    ] {
        let denied = client.call(tool, input);
        assert_eq!(denied["result"]["isError"], true, "{denied}");
        assert!(text(&denied).contains("nobody is there to ask"), "{denied}");
    }
    // What provably changes nothing needs no approval.
    assert!(text(&client.call("Bash", json!({"command": "cat notes.txt"}))).contains("beta"));
    assert_eq!(client.end(), Some(0));
    assert!(!world.project().join("new.txt").exists());
}

#[test]
fn changes_are_recorded_and_can_be_undone() {
    let world = world();
    let mut client = Client::start(&world, &[ALL[0], ALL[1], "--permission-mode", "acceptEdits"]);
    client.hello(json!({}));
    let edit = json!({"file_path": "notes.txt", "old_string": "alpha", "new_string": "gamma"});
    let unread = client.call("Edit", edit.clone());
    assert_eq!(unread["result"]["isError"], true, "{unread}");
    client.call("Read", json!({"file_path": "notes.txt"}));
    assert_eq!(client.call("Edit", edit)["result"]["isError"], false);
    client.call("Write", json!({"file_path": "new.txt", "content": "x"}));
    assert_eq!(client.end(), Some(0));
    assert_eq!(world.read("notes.txt"), "gamma\nbeta\n");
    let listed = world.run(&["undo", "--list"]).stdout;
    assert!(listed.contains("Write") && listed.contains("new.txt"), "{listed}");
    assert_eq!(world.run(&["undo", "2", "--yes"]).code, Some(0));
    assert_eq!(world.read("notes.txt"), "alpha\nbeta\n");
    assert!(!world.project().join("new.txt").exists());
}

#[test]
fn hooks_and_deny_rules_apply_to_every_call() {
    let world = world();
    let hook = json!({"type": "command", "command": "echo not today >&2; exit 2"});
    let settings = json!({
        "hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]},
        "permissions": {"deny": ["Read(./notes.txt)"]},
    });
    let settings = settings.to_string();
    let args = [ALL[0], ALL[1], "--permission-mode", "acceptEdits", "--settings", &settings];
    let mut client = Client::start(&world, &args);
    client.hello(json!({}));
    let stopped = client.call("Write", json!({"file_path": "new.txt", "content": "x"}));
    assert!(text(&stopped).contains("not today"), "{stopped}");
    let denied = client.call("Read", json!({"file_path": "notes.txt"}));
    assert!(!denied.to_string().contains("alpha"), "{denied}");
    let denied = client.call("Bash", json!({"command": "cat notes.txt"}));
    assert!(!denied.to_string().contains("alpha"), "{denied}");
    client.end();
    assert!(!world.project().join("new.txt").exists());
}

#[test]
fn a_cancelled_call_is_stopped_and_the_server_goes_on() {
    let world = world();
    let mut client = Client::start(&world, &[ALL[0], ALL[1], "--allowedTools", "Bash"]);
    client.hello(json!({}));
    let mark = unique_sleep();
    let id = client.begin(
        "Bash",
        json!({"command": format!("sleep {mark}; touch over.txt")}),
        json!({}),
    );
    until("the command runs", || !processes_with(&mark).is_empty());
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    until("the command is gone", || processes_with(&mark).is_empty());
    let read = client.call("Read", json!({"file_path": "notes.txt"}));
    assert!(text(&read).contains("alpha"), "{read}");
    // Other changes are not held up either.
    let after = client.call("Bash", json!({"command": "touch after.txt"}));
    assert_eq!(after["result"]["isError"], false, "{after}");
    client.end();
    assert!(!world.project().join("over.txt").exists());
    assert!(world.project().join("after.txt").exists());
}

#[test]
fn a_running_call_reports_its_progress() {
    let world = world();
    let mut client = Client::start(&world, &[ALL[0], ALL[1], "--allowedTools", "Bash"]);
    client.hello(json!({}));
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        world.project().join("gate"),
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let command = json!({"command": "echo first step; read line < gate; echo done"});
    let id = client.begin("Bash", command, json!({"progressToken": "p1"}));
    let note = client.next_where(|message| message["method"] == "notifications/progress");
    assert_eq!(note["params"]["progressToken"], "p1");
    assert_eq!(note["params"]["message"], "first step", "{note}");
    std::fs::write(world.project().join("gate"), "go\n").unwrap();
    let done = client.answer(id);
    assert!(text(&done).contains("done"), "{done}");
    client.end();
}

#[test]
fn nothing_survives_kill_9() {
    let world = world();
    let mut client = Client::start(&world, &[ALL[0], ALL[1], "--allowedTools", "Bash"]);
    client.hello(json!({}));
    let mark = unique_sleep();
    let command = format!("setsid sleep {mark} & sleep {mark}");
    client.begin("Bash", json!({"command": command}), json!({}));
    until("both run", || processes_with(&format!("sleep\0{mark}")).len() >= 2);
    signal(&client.child, Signal::KILL);
    client.child.wait().unwrap();
    until("everything is gone", || processes_with(&mark).is_empty());
}

#[test]
fn a_signal_ends_the_server_while_its_client_is_silent() {
    let world = world();
    let mut client = Client::start(&world, &[]);
    client.hello(json!({}));
    signal(&client.child, Signal::TERM);
    assert_eq!(client.wait(), Some(143));
}

#[test]
fn a_line_of_10_megabytes_is_dropped_and_the_next_one_is_answered() {
    let world = world();
    let mut client = Client::start(&world, &[]);
    client.hello(json!({}));
    client.raw(&[b'x'; 10 * 1024 * 1024]);
    client.raw(b"\nnot json\n");
    assert_eq!(client.tools(), ["Glob", "Grep", "Read"]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_of_the_stateless_revision_needs_no_handshake() {
    let world = world();
    let mut client = Client::stateless(&world, &[], json!({}));
    let found = client.request("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert!(listed["result"]["ttlMs"].as_u64().unwrap() > 0, "{listed}");
    let read = client.call("Read", json!({"file_path": "notes.txt"}));
    assert!(text(&read).contains("alpha"), "{read}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn http_needs_the_token_that_is_printed_once() {
    let world = world();
    let served = client::Http::start(&world, &[]);
    let token = served.token.clone().unwrap();
    let hello = served.hello(Some(&token));
    assert!(hello.starts_with("HTTP/1.1 200"), "{hello}");
    assert!(served.hello(None).starts_with("HTTP/1.1 401"));
    assert!(served.hello(Some("wrong")).starts_with("HTTP/1.1 401"));
    assert_eq!(served.end(), Some(143));
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let world = world();
    let path = world.file("token", "0123456789abcdef0123456789abcdef");
    let path = path.to_str().unwrap();
    let mode = |mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    let refused = world.run(&["mcp", "serve", "--http", "0", "--token-file", path]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    mode(0o600);
    let served = client::Http::start(&world, &["--token-file", path]);
    assert_eq!(served.token, None, "it is not printed");
    assert!(served.hello(Some("0123456789abcdef0123456789abcdef")).starts_with("HTTP/1.1 200"));
    served.end();
}
