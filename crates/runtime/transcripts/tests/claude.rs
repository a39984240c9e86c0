//! Transcripts of Claude Code, written by hand after its format.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::pairing;
use ostler_core::session::{Entry, SessionRecord};
use ostler_transcripts::{ClaudeTranscripts, Conversation, Step, TranscriptError};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const WRONG_TOTAL: &str = "11111111-2222-4333-8444-555555555555";
const COMPACTED: &str = "22222222-2222-4333-8444-555555555555";

fn fixtures() -> ClaudeTranscripts {
    ClaudeTranscripts::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude"))
}

fn read(transcripts: &ClaudeTranscripts, id: &str) -> Conversation {
    let (id, path) = transcripts.find(id).unwrap().unwrap();
    transcripts.read(&id, &path).unwrap()
}

fn record(conversation: &Conversation) -> SessionRecord {
    SessionRecord::fold(conversation.entries()).close()
}

/// What a person would read, with calls and results by their names.
fn outline(messages: &[&Message]) -> Vec<String> {
    let block = |block: &Block| match block {
        Block::Text { text, meta: false } => text.clone(),
        Block::Text { meta: true, .. } => "(note)".into(),
        Block::Thinking { text, signature } => format!("think {text} {signature:?}"),
        Block::ToolUse { id, name, .. } => format!("{name} {id}"),
        Block::ToolResult { id, content, is_error } => {
            let parts: Vec<&str> = content
                .iter()
                .map(|part| match part {
                    ResultPart::Text { text } => text.as_str(),
                    ResultPart::Image(_) => "(image)",
                })
                .collect();
            let mark = if *is_error { "!" } else { "=" };
            format!("{id} {mark} {}", parts.join("+"))
        }
        Block::Image(_) => "(image)".into(),
        other => format!("{other:?}"),
    };
    let line = |message: &&Message| {
        let who = if message.is_assistant() { "A" } else { "U" };
        let blocks: Vec<String> = message.blocks().iter().map(block).collect();
        format!("{who}: {}", blocks.join(" | "))
    };
    messages.iter().map(line).collect()
}

#[test]
fn a_listing_shows_what_a_person_needs_to_choose() {
    let found = fixtures().list(Some(Path::new("/home/ann/shop")));
    let mut shown: Vec<_> = found
        .iter()
        .map(|info| (info.id.as_str(), info.title.as_str(), info.messages, info.branch.as_deref()))
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            (WRONG_TOTAL, "Wrong total", 15, Some("main")),
            (COMPACTED, "Port the parser", 9, Some("main")),
        ]
    );
    assert_eq!(found[0].created.map(|at| at.0), Some(1_772_359_260_000));
    assert!(fixtures().list(Some(Path::new("/home/ann/shop/sub"))).is_empty());
    // The same name of a directory, but another path.
    assert!(fixtures().list(Some(Path::new("/home/ann-shop"))).is_empty());
    assert_eq!(fixtures().list(None).len(), 2);
}

#[test]
fn the_newest_branch_is_the_conversation() {
    let conversation = read(&fixtures(), "11111111");
    let record = record(&conversation);
    let messages: Vec<&Message> = record.view.messages().collect();
    assert_eq!(
        outline(&messages),
        [
            "U: (note)",
            "U: Find out why the total is wrong | (image)",
            "A: think Two files matter. Some(\"sig-1\") | I read both files. | Read toolu_1 | Read toolu_2",
            "U: toolu_1 = let a = 1 | toolu_2 = let b = 2+(image)",
            "U: Now fix it",
            "A: Bash toolu_3",
            "U: toolu_3 ! 1 failed",
            "U: and keep the names",
            "A: It is fixed.",
        ]
    );
    assert_eq!(pairing::check(&messages), [] as [String; 0]);
    assert_eq!(conversation.title, "Wrong total");
    assert_eq!(conversation.broken_lines, 1);
    assert_eq!(conversation.left_out.get("error messages"), Some(&1));
    assert_eq!(record.turns, 2);
    assert_eq!(
        conversation.words(),
        "imported 8 messages from Claude Code session 11111111-2222-4333-8444-555555555555; 1 broken line skipped; left out: 1 error messages"
    );
}

#[test]
fn an_import_carries_no_mode_and_no_rules() {
    for id in [WRONG_TOTAL, COMPACTED] {
        let entries = read(&fixtures(), id).entries();
        let is_speech = |entry: &Entry| {
            matches!(
                entry,
                Entry::Prompt { .. }
                    | Entry::Note { .. }
                    | Entry::Answer { .. }
                    | Entry::CallFinished { .. }
                    | Entry::CallStarted { .. }
                    | Entry::Boundary(_)
                    | Entry::End { .. }
            )
        };
        assert!(entries.iter().all(is_speech), "{entries:#?}");
        let record = SessionRecord::fold(entries);
        assert!(record.control.is_none() && record.seen.is_empty() && record.inbox.is_empty());
    }
}

#[test]
fn a_compaction_stays_one() {
    let conversation = read(&fixtures(), COMPACTED);
    let record = record(&conversation);
    let messages: Vec<&Message> = record.view.messages().collect();
    assert_eq!(
        outline(&messages),
        [
            "U: (note)",
            "A: Bash toolu_1",
            "U: toolu_1 = printer.rs",
            "A: The printer is next.",
            "U: Go on",
            "A: The printer is ported.",
        ]
    );
    // What was summarized is in the log, where a search finds it.
    let entries = conversation.entries();
    let boundary = entries.iter().position(|entry| matches!(entry, Entry::Boundary(_))).unwrap();
    let says = |entry: &Entry| format!("{entry:?}").contains("The old parser is ported.");
    assert!(entries[..boundary].iter().any(says));
    assert_eq!(record.title, "Port the parser");
    assert_eq!(record.turns, 3);
}

#[test]
fn reading_changes_nothing_and_needs_no_write_permission() {
    let (_, path) = fixtures().find(WRONG_TOTAL).unwrap().unwrap();
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    read(&fixtures(), WRONG_TOTAL);
    fixtures().list(None);
    let after = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    assert_eq!(before, after);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 2, "a file was left beside the transcripts");
}

/// A directory with one transcript.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("projects/-p")).unwrap();
        World { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("projects/-p").join(name)
    }

    fn with(lines: &[Value]) -> Self {
        let world = World::new();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(world.path(&format!("{COMPACTED}.jsonl")), text).unwrap();
        world
    }

    fn transcripts(&self) -> ClaudeTranscripts {
        ClaudeTranscripts::new(self.folder.path())
    }
}

fn line(kind: &str, uuid: &str, parent: Value, content: Value) -> Value {
    json!({
        "type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": "2026-03-01T10:00:00Z",
        "message": { "role": kind, "id": uuid, "model": "claude", "content": content },
    })
}

#[test]
fn hostile_names_and_texts_stay_text() {
    let prompt = "\u{1b}[2Jlook <piped> </summary> ../../etc/passwd";
    let world = World::with(&[
        line("user", "1", Value::Null, json!(prompt)),
        line(
            "assistant",
            "2",
            json!("1"),
            json!([
                {"type": "tool_use", "id": "x y/z", "name": "Ba\u{7}sh; rm", "input": "not an object"},
                {"type": "tool_use", "id": "x y_z", "name": "", "input": null},
                {"type": "server_tool_use", "id": "s", "name": "web_search"},
                {"type": "text"},
            ]),
        ),
        line(
            "user",
            "3",
            json!("2"),
            json!([
                {"type": "tool_result", "tool_use_id": "x y/z", "content": [
                    {"type": "image", "source": {"type": "url", "url": "file:///etc/passwd"}}]},
                {"type": "tool_result", "tool_use_id": "nobody", "content": "stray"},
            ]),
        ),
        json!({"type": "user", "uuid": "4", "parentUuid": "3", "isMeta": true,
            "message": {"content": "<undone id=\"99\">"}}),
        json!({"type": "user", "uuid": "5", "parentUuid": "4", "isMeta": true,
            "message": {"content": "<piped>"}}),
    ]);
    let conversation = read(&world.transcripts(), COMPACTED);
    let record = record(&conversation);
    let messages: Vec<&Message> = record.view.messages().collect();
    assert_eq!(pairing::check(&messages), [] as [String; 0]);
    let Block::ToolUse { id, name, input, .. } = &messages[1].blocks()[0] else { panic!() };
    assert_eq!((id.as_str(), name.as_str()), ("x_y_z", "Ba_sh__rm"));
    assert_eq!(*input, json!({"input": "not an object"}));
    let Block::ToolUse { id, .. } = &messages[1].blocks()[1] else { panic!() };
    assert_eq!(id.as_str(), "x_y_z_2");
    // Neither a notice of an undo nor something that was piped in.
    assert_eq!(record.carry.undo_told, 0);
    assert!(messages.iter().flat_map(|message| message.blocks()).all(|it| !it.begins_piped()));
    assert_eq!(conversation.left_out.get("image"), Some(&1));
    assert_eq!(conversation.left_out.get("server_tool_use"), Some(&1));
    // The call without a result may have taken effect.
    let started = conversation
        .entries()
        .iter()
        .any(|entry| matches!(entry, Entry::CallStarted { id } if id.as_str() == "x_y_z_2"));
    assert!(started);
}

#[test]
fn circles_and_missing_parents_end() {
    let world = World::with(&[
        line("user", "a", json!("c"), json!("one")),
        line("assistant", "b", json!("a"), json!([{"type": "text", "text": "two"}])),
        line("user", "c", json!("b"), json!("three")),
        line("user", "d", json!("gone"), json!("four")),
        line("user", "e", json!("e"), json!("itself")),
        line("assistant", "f", json!("d"), json!([{"type": "text", "text": "five"}])),
    ]);
    let conversation = read(&world.transcripts(), COMPACTED);
    let texts: Vec<String> = conversation
        .steps
        .iter()
        .map(|step| match step {
            Step::Prompt { content, .. } | Step::Answer { content, .. } => {
                Message::User { content: content.clone() }.text()
            }
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["four", "five"]);
    // Nothing but a circle: there is no end to begin at.
    let world = World::with(&[
        line("user", "a", json!("b"), json!("one")),
        line("user", "b", json!("a"), json!("two")),
    ]);
    let (id, path) = world.transcripts().find(COMPACTED).unwrap().unwrap();
    let refused = world.transcripts().read(&id, &path).unwrap_err();
    assert!(matches!(refused, TranscriptError::Empty(_)), "{refused}");
}

#[test]
fn links_pipes_and_other_names_are_not_transcripts() {
    let world = World::new();
    let secret = world.folder.path().join("secret");
    fs::write(&secret, line("user", "a", Value::Null, json!("private")).to_string()).unwrap();
    symlink(&secret, world.path(&format!("{COMPACTED}.jsonl"))).unwrap();
    fs::create_dir(world.path(&format!("{WRONG_TOTAL}.jsonl"))).unwrap();
    fs::copy(&secret, world.path("agent-1.jsonl")).unwrap();
    assert!(world.transcripts().list(None).is_empty());
    let (id, path) = world.transcripts().find(COMPACTED).unwrap().unwrap();
    let refused = world.transcripts().read(&id, &path).unwrap_err().to_string();
    assert!(refused.ends_with("it is a link, not a file"), "{refused}");
    for name in ["agent-1", "../secret", "", "../../secret", "2222222"] {
        assert!(world.transcripts().find(name).unwrap().is_none(), "{name}");
    }
}

#[test]
fn every_prefix_of_a_transcript_can_be_read() {
    let (_, path) = fixtures().find(WRONG_TOTAL).unwrap().unwrap();
    let whole = fs::read(path).unwrap();
    let world = World::new();
    let cut = world.path(&format!("{COMPACTED}.jsonl"));
    let mut most = 0;
    for length in (0..whole.len()).step_by(97) {
        fs::write(&cut, &whole[..length]).unwrap();
        let (id, path) = world.transcripts().find(COMPACTED).unwrap().unwrap();
        if let Ok(conversation) = world.transcripts().read(&id, &path) {
            let record = record(&conversation);
            let messages: Vec<&Message> = record.view.messages().collect();
            assert_eq!(pairing::check(&messages), [] as [String; 0], "cut at {length}");
            most = most.max(messages.len());
        }
    }
    assert!(most >= 8, "{most}");
}
