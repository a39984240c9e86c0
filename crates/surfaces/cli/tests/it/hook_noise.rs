//! What a hook prints around its verdict, or instead of one, on every event whose hooks may object.

use crate::hooks::{command, hook, program, settings};
use crate::support::World;
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::json;

const EVENTS: [&str; 4] = ["PreToolUse", "UserPromptSubmit", "Stop", "PostToolUse"];
const DENY: &str = r#"{"decision":"block","reason":"the guard objects"}"#;

/// What is printed, and what comes of it on each of the events.
fn cases() -> Vec<(&'static str, String, [&'static str; 4])> {
    let denied = ["blocked", "blocked", "goes on", "told"];
    let passes = ["runs", "note", "ends", "nothing"];
    let unclear = ["blocked", "blocked", "goes on", "warns"];
    // Text for the model may hold brackets; an answer before a call may not.
    let text = ["blocked", "note", "ends", "nothing"];
    vec![
        ("plain text", "checked and fine".into(), passes),
        ("colours", "\u{1b}[32mchecked\u{1b}[0m".into(), passes),
        ("a log line", "[info] checked".into(), text),
        ("a list", "- [x] checked\n- [ ] open".into(), text),
        ("a page", "<style>a {b: c}</style> Bad Gateway".into(), text),
        ("a deny", DENY.into(), denied),
        ("a deny after a line", format!("loading profile\n{DENY}"), denied),
        ("a deny after a BOM", format!("\u{feff}{DENY}"), denied),
        ("a deny in an array", format!("[{DENY}]"), denied),
        ("a deny in a page", format!("<pre>{DENY}</pre>"), denied),
        ("a deny after an allow", format!("{{\"continue\":true}}\n{DENY}"), denied),
        ("half a deny", DENY[..DENY.len() - 1].into(), unclear),
        ("a deny in single quotes", DENY.replace('"', "'"), unclear),
    ]
}

/// Writes a file, and then is done, however often it is asked.
fn model(request: &Recorded) -> Reply {
    match request.tool_results().is_empty() {
        true => calls([("Write", json!({"file_path": "made", "content": "x"}))]),
        false => text("done"),
    }
}

fn happened(event: &str, printed: &str) -> &'static str {
    let world = World::new(Script::new().by(model).forever());
    let said = world.project().parent().unwrap().join("said");
    std::fs::write(&said, printed).unwrap();
    let line = program(&world, "noisy", "#!/bin/sh\ncat \"${0%/*}/said\"\n", 0o755);
    settings(&world, &json!({ "hooks": hook(event, "", command(line.to_str().unwrap())) }));
    let ran = world.go();
    world.assert_never_rejected();
    let requests = world.server.requests();
    let body = requests.last().map(|request| request.json()["messages"].to_string());
    let body = body.unwrap_or_default();
    match event {
        "PreToolUse" if world.project().join("made").exists() => "runs",
        "PreToolUse" => "blocked",
        "UserPromptSubmit" if requests.is_empty() => "blocked",
        "UserPromptSubmit" if body.contains("checked") || body.contains("Gateway") => "note",
        "Stop" if requests.len() > 2 => "goes on",
        "Stop" => "ends",
        _ if body.contains("the guard objects") => "told",
        _ if ran.stdout.contains("gave an unclear answer") => "warns",
        _ => "nothing",
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is part of the result")]
fn a_deny_is_never_lost_in_noise_and_text_is_a_note() {
    println!("{:24} {}", "printed", EVENTS.map(|event| format!("{event:18}")).concat());
    let mut wrong = Vec::new();
    for (name, printed, wanted) in cases() {
        let found = EVENTS.map(|event| happened(event, &printed));
        println!("{name:24} {}", found.map(|what| format!("{what:18}")).concat());
        if found != wanted {
            wrong.push(format!("{name}: {found:?}, not {wanted:?}"));
        }
    }
    assert_eq!(wrong, [] as [&str; 0]);
}
