//! Instruction files across the turns of a session: checked in what the model is told.

use crate::support::{World, finished, open, with};
use futures_util::StreamExt;
use ostler::{Event, InstructionPlaces, Options, Session, words};
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

fn options(world: &World) -> Options {
    let project = world.project().canonicalize().unwrap();
    let home = world.root().canonicalize().unwrap();
    let places = InstructionPlaces {
        cwd: project.clone(),
        project,
        user: vec![home.join("own")],
        home,
        trusted: false,
    };
    with(world.options(), |o| {
        o.session.instructions = Some(places);
        o.session.memory = false;
    })
}

fn file(world: &World, name: &str, text: &str) {
    let path = world.project().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// "read a/x b/y" reads these at once; a summary is short.
fn reads(request: &Recorded) -> Reply {
    let last = request.messages().last().map(Value::to_string).unwrap_or_default();
    if last.contains("is about to be replaced") {
        return text("# Summary\nshort");
    }
    if last.contains("tool_result") {
        return text("done ".repeat(400));
    }
    match last.rsplit_once("read ").map(|(_, files)| files.split('"').next().unwrap_or_default()) {
        Some(files) => {
            calls(files.split_whitespace().map(|name| ("Read", json!({ "file_path": name }))))
        }
        None => text("fine ".repeat(400)),
    }
}

fn world() -> World {
    World::new(Script::new().by(reads).forever())
}

/// The notices of a turn.
async fn said(session: &Session, prompt: &str) -> Vec<String> {
    let mut turn = session.ask(prompt).unwrap();
    let mut notices = Vec::new();
    while let Some(envelope) = turn.next().await {
        if let Event::Notice { notice, .. } = envelope.event.clone() {
            notices.push(words::notice(&notice));
        }
    }
    notices
}

fn last(world: &World) -> String {
    world.told(world.server.requests().len() - 1)
}

fn instructions(messages: &str) -> usize {
    let parts = messages.split("<instructions path=").skip(1);
    parts.map(|part| part.split("</instructions>").next().unwrap_or_default().len()).sum()
}

/// Six reads of 720 KB in a window of 200 000 tokens, and in a small one.
pub async fn nested_files_share_one_limit() {
    for (window, most) in [(200_000, 121_000), (40_000, 31_000)] {
        let world = world();
        for n in 0..18 {
            file(&world, &format!("d{n}/CLAUDE.md"), &format!("{n:02} ").repeat(13_000));
            file(&world, &format!("d{n}/x"), "x");
        }
        let mut options = options(&world);
        options.session.settings.context.window = Some(window);
        options.session.settings.context.auto = false;
        let session = open(options);
        let mut notices = Vec::new();
        for n in (0..18).step_by(3) {
            notices.extend(said(&session, &format!("read d{n}/x d{}/x d{}/x", n + 1, n + 2)).await);
        }
        // A stub for each file that had no room is not counted.
        let told = last(&world);
        let stubs = told.matches("There is not enough space to include this file here").count();
        let bytes = instructions(&told).saturating_sub(stubs * 300);
        assert!(bytes <= most, "{bytes} bytes of instructions in {window}");
        assert!(stubs >= 15 && told.matches("<instructions path=").count() == 18, "{stubs}");
        let full = notices.iter().filter(|text| text.contains("the rules fill the window"));
        assert_eq!(full.count(), stubs, "{notices:#?}");
        // Nothing is said twice.
        assert_eq!(said(&session, "read d1/x d17/x").await, [] as [&str; 0]);
        assert_eq!(last(&world).matches("<instructions path=").count(), 18);
        world.assert_never_rejected();
    }
}

pub async fn a_nested_link_that_leads_out_is_said() {
    let world = world();
    file(&world, "sub/x", "x");
    std::fs::write(world.root().join("secret.md"), "secret").unwrap();
    symlink(world.root().join("secret.md"), world.project().join("sub/CLAUDE.md")).unwrap();
    let session = open(options(&world));
    assert_eq!(session.announce().len(), 0);
    let notices = said(&session, "read sub/x").await;
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("sub/CLAUDE.md") && notices[0].contains("not read"), "{notices:?}");
    assert_eq!(said(&session, "read sub/x").await, [] as [&str; 0], "once");
    assert!(!last(&world).contains("secret"));
}

/// A linked AGENTS.md is one file, and a rule is said as it was said before.
pub async fn after_a_summary_each_is_said_once_without_its_front_matter() {
    let world = world();
    file(&world, "docs/agents.md", "Always say please.");
    symlink("docs/agents.md", world.project().join("AGENTS.md")).unwrap();
    file(
        &world,
        ".claude/rules/sql.md",
        "---\npaths: \"**/*.sql\"\n---\nMind the quotes. @../../more.md",
    );
    file(&world, "more.md", "And the commas.");
    file(&world, "gone/CLAUDE.md", "Soon gone.");
    for name in ["docs/x", "a/b.sql", "gone/x"] {
        file(&world, name, "x");
    }
    let session = open(options(&world));
    finished(session.ask("read docs/x a/b.sql gone/x").unwrap()).await;
    let count = |text: &str, part: &str| text.matches(part).count();
    let told = last(&world);
    for part in ["Always say please.", "Mind the quotes.", "And the commas.", "Soon gone."] {
        assert_eq!(count(&told, part), 1, "{part}");
    }
    for _ in 0..4 {
        finished(session.ask("go on").unwrap()).await;
    }
    std::fs::remove_file(world.project().join("gone/CLAUDE.md")).unwrap();
    finished(session.compact(None).unwrap()).await;
    finished(session.ask("and now").unwrap()).await;
    let told = last(&world);
    assert!(told.contains("<summary>"), "{told}");
    for part in ["Always say please.", "Mind the quotes.", "And the commas."] {
        assert_eq!(count(&told, part), 1, "{part}: {told}");
    }
    assert_eq!((count(&told, "paths:"), count(&told, "Soon gone.")), (0, 0), "{told}");
    // What is said is known.
    finished(session.ask("read docs/x a/b.sql").unwrap()).await;
    assert_eq!(count(&last(&world), "Mind the quotes."), 1);
    world.assert_never_rejected();
}

/// Nothing that was sent is edited: each request begins with the one before.
pub async fn what_changed_between_turns_is_told_with_the_prompt() {
    let world = world();
    file(&world, "CLAUDE.md", "Use tabs.");
    file(&world, "sub/CLAUDE.md", "Mind the gap.");
    file(&world, "sub/x", "one\ntwo\n");
    let session = open(options(&world));
    finished(session.ask("read sub/x").unwrap()).await;
    std::fs::remove_file(world.project().join("CLAUDE.md")).unwrap();
    std::fs::remove_file(world.project().join("sub/CLAUDE.md")).unwrap();
    file(&world, "sub/x", "one\nthree!\n");
    let before = world.server.requests().len();
    finished(session.ask("go on").unwrap()).await;
    let told = world.told(before);
    assert_eq!(told.matches("no longer applies").count(), 2, "{told}");
    assert_eq!(told.matches("<changed-file").count(), 1, "with the prompt: {told}");
    assert!(told.contains("three!"), "{told}");
    finished(session.ask("and on").unwrap()).await;
    assert_eq!(last(&world).matches("no longer applies").count(), 2, "once");
    assert_eq!(last(&world).matches("<changed-file").count(), 1, "once");
    // It comes back as it was: repeated, because it was withdrawn.
    file(&world, "CLAUDE.md", "Use tabs.");
    finished(session.ask("once more").unwrap()).await;
    assert_eq!(last(&world).matches("Use tabs.").count(), 2);
    let all: Vec<Vec<Value>> =
        world.server.requests().iter().map(|r| plain(r.messages())).collect();
    for (one, next) in all.iter().zip(all.iter().skip(1)) {
        assert_eq!(next.get(..one.len()), Some(one.as_slice()));
    }
    world.assert_never_rejected();
}

/// Without the marks of the cache.
fn plain(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for block in messages.iter_mut().filter_map(|m| m["content"].as_array_mut()).flatten() {
        block.as_object_mut().map(|block| block.remove("cache_control"));
    }
    messages
}
