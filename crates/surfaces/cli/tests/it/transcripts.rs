//! Sessions of other coding agents: listed, resumed, imported, never changed.

use crate::support::World;
use ostler_model_server::{Script, text};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const ID: &str = "44444444-2222-4333-8444-555555555555";

fn line(kind: &str, n: u32, cwd: &Path, content: Value) -> String {
    let parent = (n > 1).then(|| format!("uuid-{}", n - 1));
    let line = json!({
        "type": kind, "uuid": format!("uuid-{n}"), "parentUuid": parent, "isSidechain": false,
        "cwd": cwd, "sessionId": ID, "version": "2.1.197", "gitBranch": "main",
        "timestamp": "2026-03-01T10:00:00.000Z", "permissionMode": "bypassPermissions",
        "message": { "role": kind, "id": format!("msg_{n}"), "model": "claude", "content": content },
    });
    line.to_string()
}

/// A session that Claude Code began in the project.
fn begun_elsewhere(world: &World) -> PathBuf {
    let cwd = world.project();
    let name: String = cwd
        .to_str()
        .unwrap()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let folder = world.home().parent().unwrap().join(".claude/projects").join(name);
    fs::create_dir_all(&folder).unwrap();
    let call =
        json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}]);
    let lines = [
        line("user", 1, &cwd, json!("How many horses\u{1b}[2J?")),
        line("assistant", 2, &cwd, call),
        line("user", 3, &cwd, result),
        line("assistant", 4, &cwd, json!([{"type": "text", "text": "Seven horses."}])),
        "{broken".into(),
    ];
    let path = folder.join(format!("{ID}.jsonl"));
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

fn world() -> (World, PathBuf) {
    let world = World::new(Script::new().answer(text("answer")).forever());
    let path = begun_elsewhere(&world);
    (world, path)
}

fn sent(world: &World) -> String {
    world.server.requests().last().unwrap().json()["messages"].to_string()
}

#[test]
fn a_session_of_claude_code_is_resumed_in_a_new_one() {
    let (world, path) = world();
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let ran = world.run(&["-p", "and cows?", "--resume", "44444444", "--output-format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let session = ran.result()["session_id"].as_str().unwrap().to_owned();
    assert_ne!(session, ID);
    let messages = sent(&world);
    for words in ["How many horses", "toolu_1", "a.txt", "Seven horses.", "and cows?"] {
        assert!(messages.contains(words), "{words}: {messages}");
    }
    assert!(ran.stderr.contains("1 broken line skipped"), "{}", ran.stderr);
    // From here on it is an ordinary session, under a name of its own.
    let again = world.run(&["-p", "and pigs?", "--continue", "--output-format", "json"]);
    assert_eq!(again.result()["session_id"], session.as_str());
    assert!(sent(&world).contains("Seven horses.") && sent(&world).contains("and cows?"));
    let after = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    assert_eq!(before, after, "the transcript was changed");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    world.assert_never_rejected();
}

#[test]
fn continue_finds_only_sessions_of_our_own() {
    let (world, _) = world();
    let ran = world.run(&["-p", "go on", "--continue"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("no session to continue"), "{}", ran.stderr);
}

#[test]
fn what_can_be_imported_is_listed_and_imported_once() {
    let (world, _) = world();
    let listed = world.run(&["import"]);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    for words in ["claude", ID, "4 messages", "[main]", "How many horses\\u{1b}[2J?"] {
        assert!(listed.stdout.contains(words), "{words}: {}", listed.stdout);
    }
    let same = world.run(&["sessions", "--claude", "--json"]).result();
    assert_eq!((&same["id"], &same["imported_as"]), (&json!(ID), &Value::Null));
    // A prefix is enough, and nothing of a mode or of rules comes along.
    let imported = world.run(&["import", "claude", "44444444", "--json"]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let session = imported.result()["session"].as_str().unwrap().to_owned();
    let facts = world.entries();
    assert_eq!(facts[0]["forked_from"]["session"], format!("claude:{ID}"));
    assert!(facts.iter().all(|fact| fact["fact"] != "control" && fact["fact"] != "decided"));
    assert!(!format!("{facts:?}").contains("bypassPermissions"));
    let shown = world.run(&["sessions"]).stdout;
    assert!(shown.contains(&session) && shown.contains("How many horses"), "{shown}");
    let all = world.run(&["import", "claude", "--all"]);
    assert_eq!((all.code, world.logs().len()), (Some(0), 1), "{}", all.stdout);
    assert_eq!(world.run(&["import", "--json"]).result()["imported_as"], session.as_str());
}

#[test]
fn a_transcript_can_be_shown_and_a_missing_one_is_an_error() {
    let (world, _) = world();
    let shown = world.run(&["import", "claude", ID, "--show"]);
    assert_eq!(
        shown.stdout,
        "> How many horses\\u{1b}[2J?\n● Bash {\"command\":\"ls\"}\n  ✓ a.txt\nSeven horses.\n"
    );
    let missing = world.run(&["import", "claude", "99999999"]);
    assert_eq!(missing.code, Some(1));
    assert_eq!(
        missing.stderr,
        "ostler: there is no session 99999999 of Claude Code here. `ostler import claude` lists those that can be imported\n"
    );
    let forked = world.run(&["-p", "x", "--resume", ID, "--fork-session", "--at", "1"]);
    assert_eq!(forked.code, Some(2), "{}", forked.stderr);
    assert!(forked.stderr.contains("import this one first"), "{}", forked.stderr);
    assert_eq!(world.logs().len(), 0, "nothing was imported");
}
