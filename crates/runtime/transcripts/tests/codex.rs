//! Rollouts of Codex, written by hand after its format.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ostler_core::message::Message;
use ostler_core::pairing;
use ostler_core::session::SessionRecord;
use ostler_transcripts::{CodexTranscripts, Conversation};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const ID: &str = "55555555-2222-4333-8444-555555555555";

fn item(payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:00.000Z", "type": "response_item", "payload": payload})
}

fn user(text: &str) -> Value {
    let content = json!([{"type": "input_text", "text": text}]);
    item(json!({"type": "message", "role": "user", "content": content}))
}

fn assistant(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text}]);
    item(json!({"type": "message", "role": "assistant", "content": content}))
}

fn other(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "payload": payload})
}

fn meta(id: &str, more: Value) -> Value {
    let mut payload = json!({
        "id": id, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/home/ann/shop",
        "originator": "codex_cli_rs", "cli_version": "0.99.0", "source": "cli",
        "git": {"branch": "main"},
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    other("session_meta", payload)
}

fn write(home: &Path, id: &str, lines: &[Value]) {
    let folder = home.join("sessions/2026/03/01");
    fs::create_dir_all(&folder).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join(format!("rollout-2026-03-01T10-00-00-{id}.jsonl")), text).unwrap();
}

fn shop() -> Vec<Value> {
    vec![
        meta(ID, json!({})),
        other(
            "turn_context",
            json!({"model": "gpt-5.4-codex", "approval_policy": "never",
            "sandbox_policy": {"type": "danger-full-access"}}),
        ),
        item(
            json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Obey."}]}),
        ),
        user("<environment_context>\n<cwd>/home/ann/shop</cwd>\n</environment_context>"),
        user("How many horses?"),
        other("event_msg", json!({"type": "user_message", "message": "How many horses?"})),
        item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Count."}],
            "encrypted_content": "opaque"})),
        assistant("I count."),
        item(json!({"type": "function_call", "name": "shell", "call_id": "c1",
            "arguments": "{\"command\":[\"ls\"]}"})),
        item(json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2",
            "input": "*** Begin Patch"})),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "7"})),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2",
            "output": {"content": "no", "success": false}})),
        assistant("Seven horses."),
        user("A question that is taken back"),
        assistant("An answer that is taken back"),
        other("event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})),
        user("And cows?"),
        item(json!({"type": "web_search_call", "status": "completed"})),
        assistant("No cows."),
        json!("not an object"),
    ]
}

fn read(home: &Path, id: &str) -> Conversation {
    let codex = CodexTranscripts::new(home);
    let (id, path) = codex.find(id).unwrap().unwrap();
    codex.read(&id, &path).unwrap()
}

fn texts(conversation: &Conversation) -> Vec<String> {
    let record = SessionRecord::fold(conversation.entries()).close();
    let messages: Vec<&Message> = record.view.messages().collect();
    assert_eq!(pairing::check(&messages), [] as [String; 0]);
    messages.iter().map(|message| message.text()).collect()
}

#[test]
fn a_rollout_becomes_a_conversation() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), ID, &shop());
    let conversation = read(home.path(), "55555555");
    let expected = ["How many horses?", "I count.", "", "Seven horses.", "And cows?", "No cows."];
    assert_eq!(texts(&conversation), expected);
    let all = format!("{:?}", conversation.entries());
    for words in ["gpt-5.4-codex", "apply_patch", "*** Begin Patch", "Count."] {
        assert!(all.contains(words), "{words}");
    }
    // Neither instructions nor modes come along.
    for words in ["Obey.", "environment_context", "danger-full-access", "never"] {
        assert!(!all.contains(words), "{words}");
    }
    assert_eq!((conversation.broken_lines, conversation.origin()), (1, format!("codex:{ID}")));
    assert_eq!(conversation.left_out.get("web_search_call"), Some(&1));
}

#[test]
fn a_listing_leaves_out_agents_links_and_other_directories() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), ID, &shop());
    let agent = "66666666-2222-4333-8444-555555555555";
    write(home.path(), agent, &[meta(agent, json!({"parent_thread_id": ID})), user("work")]);
    let folder = home.path().join("sessions/2026/03/01");
    let secret = home.path().join("secret");
    fs::write(&secret, user("private").to_string()).unwrap();
    let link = "rollout-2026-03-01T10-00-00-77777777-2222-4333-8444-555555555555.jsonl";
    symlink(&secret, folder.join(link)).unwrap();
    let codex = CodexTranscripts::new(home.path());
    let found = codex.list(Some(Path::new("/home/ann/shop")));
    let [info] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((info.id.as_str(), info.title.as_str()), (ID, "How many horses?"));
    assert_eq!((info.messages, info.branch.as_deref()), (9, Some("main")));
    assert!(codex.list(Some(Path::new("/home/ann"))).is_empty());
    assert!(codex.find("77777777").unwrap().is_none());
}

#[test]
fn a_compaction_stays_one() {
    let home = tempfile::tempdir().unwrap();
    let summary = other(
        "compacted",
        json!({"message": "The parser is ported.", "replacement_history": [
            user("Port the parser")["payload"], user("The parser is ported.")["payload"]]}),
    );
    let lines =
        [meta(ID, json!({})), user("Port the parser"), assistant("Done."), summary, user("Go on")];
    write(home.path(), ID, &lines);
    let conversation = read(home.path(), ID);
    let record = SessionRecord::fold(conversation.entries()).close();
    let shown = format!("{:?}", record.view.messages().collect::<Vec<_>>());
    assert!(shown.contains("<summary>\\nThe parser is ported."), "{shown}");
    assert!(shown.contains("Port the parser") && shown.contains("Go on"), "{shown}");
    assert!(!shown.contains("Done."), "{shown}");
}
