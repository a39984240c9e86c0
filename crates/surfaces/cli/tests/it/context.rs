//! What the model sees when a session grows beyond its window: checked in the bytes of the requests.

use crate::support::{Ran, World};
use ostler_model_server::{Recorded, Script, calls, text};
use serde_json::{Value, json};

const GO: [&str; 4] = ["--output-format", "stream-json", "--permission-mode", "bypassPermissions"];

fn go(world: &World, prompt: &str, more: &[&str]) -> Ran {
    let args: Vec<&str> = ["-p", prompt].iter().chain(&GO).chain(more).copied().collect();
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(0), "{prompt}: {ran:?}");
    ran
}

pub fn body(request: &Recorded) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

pub fn is_summary(request: &Recorded) -> bool {
    body(request).contains("is about to be replaced by a summary that you write now")
}

/// Instruction files stand before the first prompt, once; nested ones come with the first read below them; after a
/// summary they are repeated as they are then.
#[test]
fn instructions_are_said_where_they_count() {
    let script = Script::new()
        .by(|request| match request.messages().last().map(Value::to_string).unwrap_or_default() {
            _ if is_summary(request) => text("# Summary\nshort"),
            last if last.contains("tool_result") => text("read".repeat(300)),
            last if last.contains("look") => calls([("Read", json!({ "file_path": "sub/x.txt" }))]),
            _ => text("fine ".repeat(300)),
        })
        .forever();
    let world = World::new(script);
    world.file("AGENTS.md", "Always say please.");
    world.file("sub/CLAUDE.md", "Mind the gap.");
    world.file("sub/x.txt", "x");
    go(&world, "look", &[]);
    let requests = world.server.requests();
    let count = |body: &str, text: &str| body.matches(text).count();
    assert_eq!(count(&body(&requests[0]), "Always say please."), 1);
    assert_eq!(count(&body(&requests[0]), "Mind the gap."), 0);
    assert!(
        !requests[0].json()["system"].to_string().contains("Always say"),
        "not in the system text"
    );
    assert_eq!(count(&body(&requests[1]), "Mind the gap."), 1);
    go(&world, "again", &["--continue"]);
    let last = body(world.server.requests().last().unwrap());
    assert_eq!((count(&last, "Always say please."), count(&last, "Mind the gap.")), (1, 1));
    for _ in 0..3 {
        go(&world, "again", &["--continue"]);
    }
    world.file("AGENTS.md", "Always say thanks.");
    go(&world, "/compact", &["--continue"]);
    go(&world, "once more", &["--continue"]);
    let last = body(world.server.requests().last().unwrap());
    let told =
        ["Always say please.", "Always say thanks.", "Mind the gap."].map(|t| count(&last, t));
    assert_eq!(told, [0, 1, 1], "{last}");
    world.assert_never_rejected();
}

/// Notes of the user are brought along by a project that the user trusts, and 4 114 imports of nothing are few lines.
#[test]
fn a_project_does_not_read_notes_of_the_user() {
    let world = World::new(Script::new().answer(text("hi")).forever());
    let notes = world.project().parent().unwrap().join(".claude/notes.md");
    std::fs::create_dir_all(notes.parent().unwrap()).unwrap();
    std::fs::write(notes, "the key is under the mat").unwrap();
    let missing: String = (0..4_114).map(|n| format!("@n{n}.md ")).collect();
    world.file("CLAUDE.md", &format!("@~/.claude/notes.md\n{missing}"));
    world.file(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(x)"]}}"#);
    let ran = go(&world, "go", &[]);
    let told = |n: usize| body(&world.server.requests()[n]).contains("under the mat");
    assert!(!told(0));
    assert!(ran.stdout.contains("a file of yours"), "{}", ran.stdout);
    assert!(ran.stdout.matches("\"informational\"").count() < 15, "{}", ran.stdout);
    go(&world, "go", &["--trust"]);
    assert!(told(1));
}

#[test]
fn the_window_is_accounted_for() {
    let world = World::new(
        Script::new()
            .answer(calls([("Bash", json!({ "command": "seq 1 500" }))]))
            .answer(text("ok")),
    );
    world.file("CLAUDE.md", &"rule ".repeat(100));
    go(&world, "go", &[]);
    for args in
        [vec!["context", "--json"], vec!["-p", "/context", "--continue", "--output-format", "json"]]
    {
        let ran = world.run(&args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let shares = report["shares"].as_array().expect("shares");
        let tokens = |owner: &str| -> u64 {
            shares.iter().filter(|s| s["owner"] == owner).filter_map(|s| s["tokens"].as_u64()).sum()
        };
        for owner in
            ["system", "tools", "instructions", "environment", "prompts", "answers", "results"]
        {
            assert!(tokens(owner) > 0, "{owner}: {report}");
        }
        let sum: u64 = shares.iter().filter_map(|s| s["tokens"].as_u64()).sum();
        let all = report["tokens"].as_u64().unwrap();
        assert!(sum.abs_diff(all) * 10 < all, "{sum} of {all}");
        assert!(
            shares.iter().any(|s| s["name"].as_str().is_some_and(|n| n.ends_with("CLAUDE.md")))
        );
    }
    let ran = world.run(&["context"]);
    assert!(
        ran.stdout.contains("of 200 000 tokens") && ran.stdout.contains("CLAUDE.md"),
        "{}",
        ran.stdout
    );
    let none = World::new(Script::new());
    assert_eq!(none.run(&["context"]).code, Some(1));
}

/// Compacting a long session takes one request, and most of it is read from the provider's cache.
#[test]
fn a_summary_is_served_from_the_cache() {
    let script = Script::new()
        .by(|request| match is_summary(request) {
            true => text("# Summary\nshort"),
            false => {
                let answers =
                    request.messages().iter().filter(|m| m["role"] == "assistant").count();
                match answers {
                    12 => text("done"),
                    n => calls([("Bash", json!({ "command": format!("echo {n}; seq 1 2000") }))]),
                }
            }
        })
        .forever();
    let world = World::new(script);
    go(&world, "go", &[]);
    let before = world.server.requests().len();
    let ran = go(&world, "/compact", &["--continue"]);
    assert_eq!(world.server.requests().len(), before + 1);
    let usage = &ran.result()["usage"];
    let (read, written) =
        (&usage["cache_read_input_tokens"], &usage["cache_creation_input_tokens"]);
    let (read, written) = (read.as_u64().unwrap(), written.as_u64().unwrap());
    assert!(read > 9 * (written + usage["input_tokens"].as_u64().unwrap()), "{usage}");
    println!("summary: {read} tokens read from the cache, {written} written");
}

/// The system prompt is the file, whatever the directory, the day and the instructions; and it has a cap.
#[test]
fn the_system_text_is_the_same_everywhere() {
    let written = include_str!("../../../../../prompts/system.md").trim_ascii();
    assert!(written.len() < 6_000, "{} bytes", written.len());
    for instructions in [false, true] {
        let world = World::new(Script::new().answer(text("hi")));
        if instructions {
            world.file("CLAUDE.md", "Be quick.");
        }
        go(&world, "go", &[]);
        let request = world.server.requests().remove(0);
        let system = request.json()["system"].as_array().cloned().expect("a list");
        let texts: Vec<&str> = system.iter().filter_map(|part| part["text"].as_str()).collect();
        assert_eq!(texts, [written]);
    }
}
