//! What we write is what the readers of such transcripts expect.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ostler_core::context::{Boundary, CarryOver, Made, Receipt, Trigger};
use ostler_core::ids::{CallId, CountingIds, ModelId};
use ostler_core::message::{Block, Image, Message, ResultPart};
use ostler_core::session::{Entry, SessionRecord};
use ostler_core::time::Timestamp;
use ostler_transcripts::{
    ClaudeTranscripts, SessionHeader, TranscriptError, TranscriptFile, TranscriptLines,
};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const SESSION: &str = "33333333-2222-4333-8444-555555555555";

fn header() -> SessionHeader {
    SessionHeader {
        session: SESSION.into(),
        cwd: "/home/ann/my app".into(),
        git_branch: Some("main".into()),
        version: "0.1.0".into(),
    }
}

fn answer(content: Vec<Block>) -> Entry {
    Entry::Answer { message: Message::assistant(&ModelId::new("claude"), content), stop: None }
}

fn prompt(text: &str) -> Entry {
    Entry::prompt(Message::user(text), Timestamp(1_000))
}

fn call(id: &str) -> Block {
    let input = serde_json::json!({ "command": "ls" });
    Block::ToolUse { id: CallId::new(id), name: "Bash".into(), input, via: None }
}

fn result(id: &str, text: &str) -> Entry {
    let image = Image { media: "image/png".into(), data: "iVBORw0KGgo=".into(), blob: None };
    let content = vec![ResultPart::text(text), ResultPart::Image(image)];
    let result = Block::ToolResult { id: CallId::new(id), content, is_error: false };
    Entry::CallFinished { result, seen: Vec::new() }
}

fn conversation() -> Vec<Entry> {
    let thought = Block::Thinking { text: "hm".into(), signature: Some("sig".into()) };
    vec![
        prompt("List the files"),
        answer(vec![thought, Block::text("I look."), call("c1"), call("c2")]),
        result("c2", "b"),
        result("c1", "a"),
        answer(vec![Block::text("There are two.")]),
        prompt("Thanks"),
        Entry::note(Message::meta("a note of the harness")),
        answer(vec![Block::text("You are welcome.")]),
    ]
}

fn lines(entries: &[Entry]) -> Vec<Value> {
    let ids = CountingIds::default();
    let mut lines = TranscriptLines::new(header(), None);
    let made = entries.iter().flat_map(|entry| lines.entry(entry, Timestamp(5), &ids));
    made.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

#[test]
fn every_line_is_linked_to_the_one_before() {
    let lines = lines(&conversation());
    assert_eq!(lines.len(), 11);
    let mut before = Value::Null;
    for line in &lines {
        assert_eq!(line["parentUuid"], before);
        assert_eq!(line["sessionId"], SESSION);
        assert_eq!(line["cwd"], "/home/ann/my app");
        assert_eq!(line["gitBranch"], "main");
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
        before = line["uuid"].clone();
    }
    assert_eq!(lines[0]["message"]["content"], "List the files");
    // One block each, all of one answer.
    assert_eq!(lines[1]["message"]["id"], lines[4]["message"]["id"]);
    assert_eq!(lines[5]["sourceToolAssistantUUID"], lines[4]["uuid"]);
    assert_eq!(lines[6]["sourceToolAssistantUUID"], lines[3]["uuid"]);
    assert_eq!(lines[9]["isMeta"], true);
}

#[test]
fn what_was_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let ids = CountingIds::default();
    let entries = conversation();
    let (first, second) = entries.split_at(5);
    for part in [first, second] {
        // The second time, the transcript is continued.
        let mut file = TranscriptFile::open(folder.path(), header()).unwrap();
        for entry in part {
            file.record(entry, Timestamp(5), &ids).unwrap();
        }
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        ids_from_another_process(&ids);
    }
    let transcripts = ClaudeTranscripts::new(folder.path());
    let (id, path) = transcripts.find(SESSION).unwrap().unwrap();
    assert!(path.ends_with(format!("projects/-home-ann-my-app/{SESSION}.jsonl")));
    let read = SessionRecord::fold(transcripts.read(&id, &path).unwrap().entries()).close();
    let ours = SessionRecord::fold(entries).close();
    let texts = |record: &SessionRecord| -> Vec<String> {
        record.view.messages().filter(|it| it.text() != "").map(Message::text).collect()
    };
    assert_eq!(texts(&read), texts(&ours));
    assert_eq!(read.view.items().len(), ours.view.items().len());
    // It is no session of Claude Code's, so there is nothing to import.
    assert!(transcripts.list(None).is_empty());
}

fn ids_from_another_process(ids: &CountingIds) {
    use ostler_core::ids::IdSource;
    assert!(!ids.uuid().is_empty());
}

#[test]
fn a_rewind_begins_a_new_branch() {
    let mut entries = conversation();
    entries.push(Entry::Rewound { turn: 2, at: Timestamp(9) });
    entries.push(prompt("Now in English"));
    let lines = lines(&entries);
    let last = lines.last().unwrap();
    assert_eq!(last["message"]["content"], "Now in English");
    let thanks = lines.iter().find(|line| line["message"]["content"] == "Thanks").unwrap();
    assert_eq!(last["parentUuid"], thanks["parentUuid"]);
}

#[test]
fn a_compaction_begins_a_new_chain() {
    let receipt = Receipt {
        trigger: Trigger::Manual,
        made: Made::Extract { why: "test".into() },
        messages: 3,
        calls: Vec::new(),
        calls_dropped: 0,
        kept: 1,
        before: 100,
        after: 10,
        requests: 1,
        attached: Vec::new(),
    };
    let boundary = Boundary {
        head: vec![Message::meta("<summary>files</summary>")],
        kept: vec![Message::user("kept")],
        carry: CarryOver::default(),
        receipt,
        turns: 1,
        title: String::new(),
        seen: Vec::new(),
        at: Timestamp(7),
        inbox: Vec::new(),
        questions: Vec::new(),
        jobs: Vec::new(),
        control: None,
    };
    let lines = lines(&[prompt("one"), Entry::Boundary(Box::new(boundary)), prompt("two")]);
    let [one, boundary, summary, kept, two] = lines.as_slice() else { panic!("{lines:#?}") };
    assert_eq!(boundary["parentUuid"], Value::Null);
    assert_eq!(boundary["logicalParentUuid"], one["uuid"]);
    assert_eq!(boundary["compactMetadata"]["trigger"], "manual");
    assert_eq!(summary["isCompactSummary"], true);
    assert_eq!(summary["parentUuid"], boundary["uuid"]);
    assert_eq!(kept["parentUuid"], summary["uuid"]);
    assert_eq!(two["parentUuid"], kept["uuid"]);
}

#[test]
fn a_file_of_another_program_is_never_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("projects/-home-ann-my-app");
    fs::create_dir_all(&place).unwrap();
    let path = place.join(format!("{SESSION}.jsonl"));
    let line = "{\"type\":\"user\",\"uuid\":\"x\",\"message\":{\"content\":\"hi\"}}\n";
    fs::write(&path, line).unwrap();
    let refused = TranscriptFile::open(folder.path(), header()).err().unwrap();
    assert!(matches!(refused, TranscriptError::NotOurs(_)), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), line);
    // Not by a link either, and not outside of the directory.
    fs::remove_file(&path).unwrap();
    let target = folder.path().join("elsewhere");
    fs::write(&target, "").unwrap();
    symlink(&target, &path).unwrap();
    let refused = TranscriptFile::open(folder.path(), header()).err().unwrap();
    assert!(matches!(refused, TranscriptError::NotAFile { .. }), "{refused}");
    let outside = SessionHeader { session: "../../elsewhere".into(), ..header() };
    let refused = TranscriptFile::open(folder.path(), outside).err().unwrap();
    assert!(matches!(refused, TranscriptError::NotAUuid(_)), "{refused}");
    assert_eq!(fs::read(&target).unwrap(), b"");
}

#[test]
fn a_torn_line_does_not_swallow_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let ids = CountingIds::default();
    let mut file = TranscriptFile::open(folder.path(), header()).unwrap();
    file.record(&prompt("one"), Timestamp(5), &ids).unwrap();
    let path = file.path().to_owned();
    drop(file);
    let mut torn = fs::OpenOptions::new().append(true).open(&path).unwrap();
    torn.write_all(b"{\"type\":\"assis").unwrap();
    let mut file = TranscriptFile::open(folder.path(), header()).unwrap();
    file.record(&prompt("two"), Timestamp(5), &ids).unwrap();
    assert_eq!(texts(&path), ["one", "two"]);
}

fn texts(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|line| line["message"]["content"].as_str().unwrap().to_owned()).collect()
}
