//! Sessions of opencode, in its files and in its database, written by hand after its format.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ostler_core::message::Message;
use ostler_core::pairing;
use ostler_core::session::{Entry, SessionRecord};
use ostler_transcripts::{Conversation, OpencodeTranscripts};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const ID: &str = "ses_0123456789abcdef";

/// Messages with their parts, as both layouts store them.
fn conversation() -> Vec<(Value, Vec<Value>)> {
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let user = |n: u64| json!({"role": "user", "time": {"created": n}});
    let assistant = |n: u64| json!({"role": "assistant", "time": {"created": n}, "modelID": "gpt-5.4", "providerID": "openai"});
    let call = json!({"type": "tool", "callID": "c1", "tool": "bash", "state":
        {"status": "completed", "input": {"command": "ls"}, "output": "7",
         "attachments": [{"url": png, "mime": "image/png"}]}});
    let failed = json!({"type": "tool", "callID": "c2", "tool": "read", "state":
        {"status": "error", "input": {"filePath": "x"}, "error": "no such file"}});
    let running = json!({"type": "tool", "callID": "c3", "tool": "bash", "state":
        {"status": "running", "input": {"command": "make"}}});
    vec![
        (
            user(1),
            vec![
                json!({"type": "text", "text": "How many horses?"}),
                json!({"type": "text", "text": "content of a file", "synthetic": true}),
                json!({"type": "file", "mime": "image/png", "url": png}),
                json!({"type": "file", "mime": "text/plain", "url": "file:///etc/passwd"}),
            ],
        ),
        (
            assistant(2),
            vec![
                json!({"type": "step-start"}),
                json!({"type": "reasoning", "text": "Count."}),
                json!({"type": "text", "text": "I count."}),
                call,
                failed,
                json!({"type": "step-finish"}),
            ],
        ),
        (assistant(3), vec![json!({"type": "text", "text": "Seven horses."})]),
        (user(4), vec![json!({"type": "text", "text": "Build it"})]),
        (assistant(5), vec![running]),
    ]
}

fn in_files(data: &Path) {
    let write = |path: String, value: &Value| {
        let path = data.join("storage").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    let session = json!({"id": ID, "directory": "/home/ann/shop", "title": "Horses",
        "time": {"created": 1, "updated": 9}, "permission": [{"action": "allow", "pattern": "*"}]});
    write(format!("session/project/{ID}.json"), &session);
    for (n, (info, parts)) in conversation().iter().enumerate() {
        write(format!("message/{ID}/msg_{n}.json"), info);
        for (k, part) in parts.iter().enumerate() {
            write(format!("part/msg_{n}/prt_{k}.json"), part);
        }
    }
    write(format!("message/{ID}/msg_9.json"), &json!({}));
    fs::write(data.join(format!("storage/message/{ID}/msg_9.json")), "{broken").unwrap();
}

fn in_database(data: &Path) -> Connection {
    let database = Connection::open(data.join("opencode.db")).unwrap();
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
                permission TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
             INSERT INTO session VALUES ('ses_child00', 'ses_0123456789abcdef', '/home/ann/shop', 'an agent', NULL, 1, 2);",
        )
        .unwrap();
    let session =
        "INSERT INTO session VALUES (?1, NULL, '/home/ann/shop', 'Horses', '[\"allow\"]', 1, 9)";
    database.execute(session, [ID]).unwrap();
    for (n, (info, parts)) in conversation().iter().enumerate() {
        let id = format!("msg_{n}");
        let values = rusqlite::params![id, ID, n as u32, info.to_string()];
        database.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4)", values).unwrap();
        for (k, part) in parts.iter().enumerate() {
            let values = rusqlite::params![format!("prt_{n}_{k}"), id, ID, part.to_string()];
            database.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4)", values).unwrap();
        }
    }
    database
}

fn check(conversation: &Conversation) {
    let record = SessionRecord::fold(conversation.entries()).close();
    let messages: Vec<&Message> = record.view.messages().collect();
    assert_eq!(pairing::check(&messages), [] as [String; 0]);
    let texts: Vec<String> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["How many horses?", "I count.", "", "Seven horses.", "Build it", "", ""]);
    let all = format!("{:?}", conversation.entries());
    for words in ["no such file", "Count.", "gpt-5.4", "content of a file", "image/png"] {
        assert!(all.contains(words), "{words}");
    }
    assert!(!all.contains("passwd") && !all.contains("allow"), "{all}");
    // What was running may have taken effect.
    let started = |entry: &Entry| matches!(entry, Entry::CallStarted { id } if id.as_str() == "c3");
    assert!(conversation.entries().iter().any(started));
    assert_eq!(conversation.left_out.get("files"), Some(&1));
}

#[test]
fn a_session_in_files_becomes_a_conversation() {
    let data = tempfile::tempdir().unwrap();
    in_files(data.path());
    let opencode = OpencodeTranscripts::new(data.path());
    let found = opencode.list(Some(Path::new("/home/ann/shop")));
    let [info] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((info.id.as_str(), info.title.as_str(), info.modified.0), (ID, "Horses", 9));
    assert!(opencode.list(Some(Path::new("/home/ann"))).is_empty());
    let (id, path) = opencode.find("ses_01234567").unwrap().unwrap();
    let conversation = opencode.read(&id, &path).unwrap();
    check(&conversation);
    assert_eq!(conversation.broken_lines, 1);
}

#[test]
fn a_session_in_the_database_becomes_one_without_a_lock() {
    let data = tempfile::tempdir().unwrap();
    // Its program has it open, and is about to write.
    let database = in_database(data.path());
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let listing = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.file_name(), fs::read(entry.path()).unwrap())
            })
            .collect();
        names.sort();
        names
    };
    let before = listing(data.path());
    let opencode = OpencodeTranscripts::new(data.path());
    let found = opencode.list(Some(Path::new("/home/ann/shop")));
    let [info] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((info.id.as_str(), info.messages), (ID, 5));
    let (id, path) = opencode.find(ID).unwrap().unwrap();
    check(&opencode.read(&id, &path).unwrap());
    assert_eq!(before, listing(data.path()), "a file was changed");
    database.execute_batch("COMMIT").unwrap();
}

#[test]
fn a_database_that_is_none_is_passed_over() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("opencode.db"), "not a database").unwrap();
    let opencode = OpencodeTranscripts::new(data.path());
    assert!(opencode.list(None).is_empty());
    assert!(opencode.find("ses_01234567").unwrap().is_none());
    in_files(data.path());
    assert_eq!(opencode.list(None).len(), 1);
}
