//! A log of format 1 as it was written once. It must load forever: never change the file, only what reads it.

use crate::samples::home;
use ostler_core::ids::{CallId, ModelId, SessionId};
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Image, Message, ResultPart};
use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_core::ports::SessionStore;
use ostler_core::session::{Entry, Fork, Verdict};
use ostler_core::time::Timestamp;
use ostler_core::tool::Seen;
use ostler_core::turn::{Continue, Terminal};
use ostler_store::FileStore;
use serde_json::json;
use std::fs;

const LOG: &[u8] = include_bytes!("../fixtures/format-1.log");

fn session() -> SessionId {
    SessionId::new("0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b")
}

fn expected() -> Vec<Entry> {
    [question(), call(), ending()].concat()
}

fn image(data: &str) -> Image {
    Image { media: "image/png".into(), data: data.into(), blob: None }
}

fn question() -> Vec<Entry> {
    let (call, model) = (CallId::new("toolu_01"), ModelId::new("model-1"));
    vec![
        Entry::Opened {
            format: 1,
            session: session(),
            workspace: "/home/ann/projekt ü".into(),
            at: Timestamp(1_763_000_000_000),
            forked_from: Some(Fork { session: SessionId::new("0190a1b2-older"), entries: 17 }),
            started_by: None,
        },
        Entry::prompt(
            Message::User {
                content: vec![
                    Block::text("Fix the \"failing\" test\n\tbitte 🧹"),
                    Block::Text { text: "a hint".into(), meta: true },
                    Block::Image(image("iVBORw0KGgo=")),
                ],
            },
            Timestamp(1_763_000_000_001),
        ),
        Entry::Answer {
            message: Message::assistant(
                &model,
                vec![
                    Block::Thinking { text: "hm".into(), signature: Some("c2ln".into()) },
                    Block::Thinking { text: "unsigned".into(), signature: None },
                    Block::Redacted { data: "b3BhcXVl".into() },
                    Block::text("I look."),
                    Block::ToolUse {
                        id: call.clone(),
                        name: "edit".into(),
                        input: json!({"path": "a.rs", "z": [1, -2, 0.1, 1e300, true, null, {}], "a": "日本"}),
                        via: None,
                    },
                ],
            ),
            stop: Some(StopReason::ToolUse),
        },
        Entry::decided(call, Verdict::Allow, "allowed by a rule".into()),
    ]
}

fn call() -> Vec<Entry> {
    let call = CallId::new("toolu_01");
    vec![
        Entry::CallStarted { id: call.clone() },
        Entry::Snapshot {
            call: call.clone(),
            path: "/home/ann/projekt ü/a.rs".into(),
            before: Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into()),
            mode: Some(0o755),
            after: Some("e3b0".into()),
        },
        Entry::Snapshot {
            call: call.clone(),
            path: "/gone".into(),
            before: None,
            mode: None,
            after: None,
        },
        Entry::CallFinished {
            result: Block::ToolResult {
                id: call.clone(),
                content: vec![
                    ResultPart::text("edited\r\n\u{1b}[0m"),
                    ResultPart::Image(image("QUJD")),
                ],
                is_error: false,
            },
            seen: vec![
                Seen {
                    path: "/home/ann/projekt ü/a.rs".into(),
                    hash: Some("e3b0".into()),
                    part: None,
                },
                Seen { path: "/gone".into(), hash: None, part: None },
            ],
        },
        Entry::CallFinished {
            result: Block::error_result(CallId::new("toolu_02"), "no"),
            seen: vec![],
        },
        Entry::decided(CallId::new("toolu_02"), Verdict::Deny, String::new()),
    ]
}

fn ending() -> Vec<Entry> {
    let model = ModelId::new("model-1");
    let usage =
        Usage { input: 12, output: 34, cache_write: 5, cache_write_1h: 2, cache_read: 6000 };
    vec![
        Entry::Spent {
            model: model.clone(),
            usage,
            cost: Some(0.1 + 0.2),
            charge: None,
            front: None,
        },
        Entry::Spent {
            model: model.clone(),
            usage: Usage::default(),
            cost: None,
            charge: None,
            front: None,
        },
        Entry::Went { why: Continue::NextTurn },
        Entry::Went { why: Continue::CollapseDrainRetry { drained: 3 } },
        Entry::Went { why: Continue::MaxOutputTokensRecovery { attempt: 1 } },
        Entry::note(Message::meta("go on")),
        Entry::Answer {
            message: Message::assistant(&model, vec![]),
            stop: Some(StopReason::Refusal { category: Some("c".into()), explanation: None }),
        },
        Entry::Answer {
            message: Message::assistant(&model, vec![]),
            stop: Some(StopReason::Other("odd".into())),
        },
        Entry::Answer {
            message: Message::assistant(&model, vec![Block::text("Done.")]),
            stop: None,
        },
        Entry::End {
            terminal: Terminal::ModelError(ModelErrorKind::Overloaded),
            at: Timestamp(1_763_000_000_002),
        },
        Entry::End { terminal: Terminal::Completed, at: Timestamp(1_763_000_000_003) },
    ]
}

#[test]
fn format_1_loads_for_ever() {
    assert_eq!(loaded(LOG, &session()), expected());
}

/// The entries of a log, which has nothing wrong with it and stays as it is.
pub fn loaded(log: &[u8], session: &SessionId) -> Vec<Entry> {
    let home = home();
    let store = FileStore::new(home.path()).unwrap();
    let project = home.path().join("sessions/some-project");
    fs::create_dir(&project).unwrap();
    let path = project.join(format!("{session}.log"));
    fs::write(&path, log).unwrap();
    let loaded = store.open(session).unwrap();
    assert_eq!(loaded.notices, [""; 0]);
    drop(loaded.log);
    assert_eq!(fs::read(&path).unwrap(), log, "a log is not rewritten for being read");
    loaded.entries
}
