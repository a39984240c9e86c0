//! A log of format 2 as it was written once. It must load for ever, and as long as this is the newest format, what is
//! written today must be the same to the byte: a difference is a new format.

use crate::golden;
use crate::samples::{files, home, image};
use ostler_core::context::{
    Boundary, CarryOver, Elision, Made, Receipt, Saved, StageName, Story, Trigger,
};
use ostler_core::event::{AgentPath, Control, SessionRules};
use ostler_core::ids::{CallId, ModelId, SessionId};
use ostler_core::inbox::{Delivery, Inbound, InboundSource};
use ostler_core::ledger::{Broken, Change, Charge, ChargeStatus, Front, Price, Purpose, Usage};
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::model::{StopReason, Thinking};
use ostler_core::permission::{By, Decision, Mode, Verdict as Ruled};
use ostler_core::ports::SessionStore;
use ostler_core::question::{Place, Question, Touches};
use ostler_core::session::{Entry, FORMAT, SessionRecord, SnapshotCost, Verdict};
use ostler_core::time::Timestamp;
use ostler_core::todo::{NewTask, Plan};
use ostler_core::tool::{OutputPart, Seen};
use ostler_core::turn::{Continue, Terminal};
use ostler_store::FileStore;
use serde_json::json;
use std::fs;

const LOG: &[u8] = include_bytes!("../fixtures/format-2.log");

fn session() -> SessionId {
    SessionId::new("0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f2b3c")
}

fn at(n: u64) -> Timestamp {
    Timestamp(1_795_000_000_000 + n)
}

fn expected() -> Vec<Entry> {
    [summed_up(), first_turn(), room_made(), second_turn()].concat()
}

fn inbound(id: &str, source: InboundSource, when: Delivery, words: &str) -> Inbound {
    Inbound { id: id.into(), source, when, body: Message::user(words), at: at(3) }
}

fn question(id: &str, call: &str, command: &str) -> Question {
    Question {
        id: id.into(),
        agent: AgentPath::default(),
        call: CallId::new(call),
        tool: "Bash".into(),
        input: json!({ "command": command }),
        touches: Touches {
            reads: vec![Place { path: "/home/ann/projekt".into(), below: true }],
            changes: vec![Place { path: "/home/ann/projekt/made".into(), below: false }],
            contacts: vec!["example.org".into()],
            unknown: true,
        },
        decision: Decision {
            offer: vec!["Bash(touch:*)".into()],
            ..Decision::of(Ruled::Ask, By::Default, "it changes something")
        },
        request: None,
        deadline: Some(at(90_000)),
    }
}

/// The beginning, and the boundary that brings along what was pending.
fn summed_up() -> Vec<Entry> {
    let receipt = Receipt {
        trigger: Trigger::Manual,
        made: Made::Extract { why: "no model".into() },
        messages: 12,
        calls: vec![CallId::new("toolu_00")],
        calls_dropped: 2,
        kept: 1,
        before: 90_000,
        after: 4_000,
        requests: 0,
        attached: vec!["plan".into()],
    };
    let carry = CarryOver {
        goal: "Räum auf 🧹".into(),
        requests: vec!["and quickly".into()],
        decisions: vec!["no new files".into()],
        files: vec!["a.rs".into()],
        failed: vec!["make".into()],
        open: vec!["why?".into()],
        undo_told: 7,
        ran_on: Vec::new(),
    };
    let control = Control {
        mode: Mode::AcceptEdits,
        model: ModelId::new("model-1"),
        thinking: Thinking::Auto,
        rules: SessionRules::default(),
        dirs: Vec::new(),
    };
    vec![
        Entry::Opened {
            format: 2,
            session: session(),
            workspace: "/home/ann/projekt".into(),
            at: at(0),
            forked_from: None,
            started_by: None,
        },
        Entry::Boundary(Box::new(Boundary {
            head: vec![Message::meta("<summary>\nMuch was done.\n</summary>")],
            kept: vec![Message::assistant(&ModelId::new("model-1"), vec![Block::text("Kept.")])],
            carry,
            receipt,
            turns: 1,
            title: "Räum auf".into(),
            seen: vec![Seen {
                path: "/home/ann/projekt/a.rs".into(),
                hash: Some("e3b0".into()),
                part: Some(OutputPart { first: 1, last: 20, of: 80 }),
            }],
            at: at(1),
            inbox: vec![inbound(
                "in-1",
                InboundSource::Person,
                Delivery::AfterTurn,
                "The first of the queue",
            )],
            questions: vec![question("q-1", "toolu_00", "touch old")],
            jobs: Vec::new(),
            control: Some(control),
        })),
        Entry::Withdrawn { inbound: vec![], questions: vec!["q-1".into()] },
    ]
}

/// A queued prompt, a steer on the way, a question with a changed input, an edit, a command beside others.
fn first_turn() -> Vec<Entry> {
    let (edit, bash) = (CallId::new("toolu_01"), CallId::new("toolu_02"));
    let result = |id: &CallId, text: &str| Block::ToolResult {
        id: id.clone(),
        content: vec![ResultPart::text(text), ResultPart::Image(image(8))],
        is_error: false,
    };
    let call = |id: &CallId, name: &str, input| Block::ToolUse {
        id: id.clone(),
        name: name.into(),
        input,
        via: None,
    };
    vec![
        Entry::Prompt {
            message: Message::user("The first of the queue"),
            at: at(2),
            inbound: vec!["in-1".into()],
        },
        spent(),
        Entry::Answer {
            message: Message::assistant(
                &ModelId::new("model-1"),
                vec![
                    Block::text("I edit, then I look."),
                    call(
                        &edit,
                        "Edit",
                        json!({"file_path": "a.rs", "old_string": "a", "new_string": "ü"}),
                    ),
                    call(&bash, "Bash", json!({"command": "touch made"})),
                ],
            ),
            stop: Some(StopReason::ToolUse),
        },
        Entry::decided(edit.clone(), Verdict::Allow, "mode acceptEdits".into()),
        Entry::CallStarted { id: edit.clone() },
        Entry::Snapshot {
            call: edit.clone(),
            path: "/home/ann/projekt/a.rs".into(),
            before: Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into()),
            mode: Some(0o644),
            after: Some("ff00".into()),
        },
        Entry::CallFinished {
            result: result(&edit, "edited"),
            seen: vec![Seen {
                path: "/home/ann/projekt/a.rs".into(),
                hash: Some("ff00".into()),
                part: None,
            }],
        },
        Entry::Asked { question: Box::new(question("q-2", "toolu_02", "touch made")), at: at(4) },
        Entry::Decided {
            call: bash.clone(),
            verdict: Verdict::Allow,
            why: "the user said yes".into(),
            input: Some(json!({"command": "touch made-otherwise"})),
            question: Some("q-2".into()),
        },
        Entry::CallStarted { id: bash.clone() },
        Entry::Checkpoint {
            call: bash.clone(),
            before: 4,
            after: None,
            cost: SnapshotCost::default(),
            only: vec![],
        },
        Entry::Inbound(Box::new(inbound(
            "in-2",
            InboundSource::Person,
            Delivery::NextBoundary,
            "Rather slowly",
        ))),
        Entry::Checkpoint {
            call: bash.clone(),
            before: 4,
            after: Some(5),
            cost: SnapshotCost { ms: 1, files: 2, bytes: 3 },
            only: vec!["/home/ann/projekt/made-otherwise".into()],
        },
        Entry::CallFinished { result: result(&bash, "(no output)"), seen: vec![] },
        Entry::Went { why: Continue::NextTurn },
        Entry::Note { message: Message::user("Rather slowly"), inbound: vec!["in-2".into()] },
        Entry::Answer {
            message: Message::assistant(
                &ModelId::new("model-1"),
                vec![Block::text("Done, slowly.")],
            ),
            stop: Some(StopReason::EndTurn),
        },
        Entry::End { terminal: Terminal::Completed, at: at(5) },
    ]
}

fn spent() -> Entry {
    let price =
        Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_write_1h: 6.0, cache_read: 0.3 };
    Entry::Spent {
        model: ModelId::new("model-1"),
        usage: Usage { input: 12, output: 34, cache_write: 5, cache_write_1h: 2, cache_read: 6000 },
        cost: Some(0.1 + 0.2),
        charge: Some(Box::new(Charge {
            id: "0190a1b2-request".into(),
            at: at(2),
            agent: "main".into(),
            task: Some("Räum auf".into()),
            tool: Some("Edit, Bash".into()),
            purpose: Purpose::Answer,
            status: ChargeStatus::Ok,
            latency_ms: 120,
            first_byte_ms: Some(20),
            price: Some(price),
            broken: Some(Broken {
                expected: 9,
                read: 1,
                change: Change::Tools { tool: "Bash".into() },
            }),
        })),
        front: Some(Box::new(Front {
            tools: vec![("Bash".into(), 1)],
            system: vec![2, u64::MAX],
            thinking: 3,
        })),
    }
}

/// What changes the conversation from outside of turns.
fn room_made() -> Vec<Entry> {
    let new = NewTask { subject: "Look".into(), ..NewTask::default() };
    let (plan, _) = Plan::default().with(new).unwrap();
    vec![
        Entry::Planned { plan },
        Entry::Elided {
            stage: StageName::Micro,
            results: vec![Elision { call: CallId::new("toolu_01"), words: "[left out]".into() }],
            saved: Saved { before: 900, after: 800 },
        },
        Entry::Rewound { turn: 2, at: at(6) },
        Entry::RewindUndone { at: at(7) },
        Entry::Collapsed {
            stories: vec![Story { first: 3, count: 2, words: "Edited and looked.".into() }],
            saved: Saved { before: 800, after: 700 },
        },
        Entry::Control(Control {
            mode: Mode::AcceptEdits,
            model: ModelId::new("model-2"),
            thinking: Thinking::Budget(2_000),
            rules: SessionRules::default(),
            dirs: Vec::new(),
        }),
    ]
}

/// The process died while it asked, with a prompt, a notice of a job and mail of an agent in its inbox.
fn second_turn() -> Vec<Entry> {
    let input = json!({"command": "touch golden"});
    let id = CallId::new("toolu_03");
    let mail = InboundSource::Agent { path: AgentPath::default() };
    let job = InboundSource::Job { id: "job-1".into(), summary: None };
    vec![
        Entry::prompt(Message::user("One more thing"), at(8)),
        Entry::Answer {
            message: Message::assistant(
                &ModelId::new("model-2"),
                vec![Block::ToolUse { id, name: "Bash".into(), via: None, input }],
            ),
            stop: Some(StopReason::ToolUse),
        },
        Entry::Inbound(Box::new(inbound(
            "in-3",
            InboundSource::Person,
            Delivery::AfterTurn,
            "The next of the queue",
        ))),
        Entry::Inbound(Box::new(inbound("in-4", job, Delivery::Later, "The job has ended"))),
        Entry::Inbound(Box::new(inbound("in-5", mail, Delivery::NextBoundary, "Mail"))),
        Entry::Inbound(Box::new(inbound(
            "in-6",
            InboundSource::Harness,
            Delivery::NextBoundary,
            "A file changed",
        ))),
        Entry::Withdrawn {
            inbound: vec!["in-4".into(), "in-5".into(), "in-6".into()],
            questions: vec![],
        },
        Entry::Asked { question: Box::new(question("q-3", "toolu_03", "touch golden")), at: at(9) },
    ]
}

#[test]
fn format_2_loads_for_ever() {
    let entries = golden::loaded(LOG, &session());
    assert_eq!(entries, expected());
    let folded = SessionRecord::fold(entries);
    let pending: Vec<&str> = folded.inbox.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(pending, ["in-3"]);
}

#[test]
fn what_is_written_today_is_format_2_to_the_byte() {
    assert_eq!(FORMAT, 2, "the newest format needs a file of its own");
    let home = home();
    let store = FileStore::new(home.path()).unwrap();
    let mut entries = expected().into_iter();
    let log = store.create(entries.next().unwrap()).unwrap();
    entries.for_each(|entry| log.append(&entry).unwrap());
    drop(log);
    let [written] = files(home.path(), ".log").try_into().expect("one log");
    let written = String::from_utf8(fs::read(written).unwrap()).unwrap();
    let golden = String::from_utf8(LOG.to_vec()).unwrap();
    for (line, was) in written.lines().zip(golden.lines()) {
        assert_eq!(line, was);
    }
    assert_eq!(written, golden);
}
