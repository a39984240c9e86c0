//! Homes to store in and entries to store.

use ostler_core::context::{
    Boundary, CarryOver, Elision, Made, Receipt, Saved, StageName, Story, Trigger,
};
use ostler_core::event::{AgentPath, Control};
use ostler_core::ids::{CallId, ModelId, SessionId};
use ostler_core::inbox::{Delivery, Inbound, InboundSource};
use ostler_core::job::{JobKind, JobRecord};
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Image, Message, ResultPart};
use ostler_core::model::Thinking;
use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_core::permission::{By, Decision, Mode, Verdict as Ruled};
use ostler_core::question::{Question, Touches};
use ostler_core::session::{AgentRecord, AgentState, Entry, FORMAT, SnapshotCost, Verdict};
use ostler_core::teammate::{PlanRecord, PlanState, TeammatePhase, TeammateStatus};
use ostler_core::time::Timestamp;
use ostler_core::todo::{NewTask, Plan, Status, Update};
use ostler_core::tool::Seen;
use ostler_core::turn::{Continue, Terminal};
use ostler_store::FileStore;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const WORKSPACE: &str = "/home/ann/projekt";

/// In memory where the system has such a place: the tests here sync thousands of times.
pub fn home() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn store(home: &TempDir) -> FileStore {
    FileStore::new(home.path()).unwrap()
}

pub fn id(n: u64) -> SessionId {
    SessionId::new(format!("0190a1b2-0000-7000-8000-{n:012}"))
}

pub fn opened(session: &SessionId) -> Entry {
    opened_in(session, WORKSPACE)
}

pub fn opened_in(session: &SessionId, workspace: &str) -> Entry {
    let at = Timestamp(1_700_000_000_000);
    Entry::Opened {
        format: FORMAT,
        session: session.clone(),
        workspace: workspace.into(),
        at,
        forked_from: None,
        started_by: None,
    }
}

pub fn prompt(text: impl Into<String>) -> Entry {
    Entry::prompt(Message::user(text), Timestamp(1_700_000_000_001))
}

pub fn answer(content: Vec<Block>) -> Entry {
    Entry::Answer {
        message: Message::assistant(&ModelId::new("model-1"), content),
        stop: Some(StopReason::ToolUse),
    }
}

pub fn image(length: usize) -> Image {
    let data: String = "iVBORw0KGgo+/".chars().cycle().take(length).collect();
    Image { media: "image/png".into(), data: data.into(), blob: None }
}

/// One entry of each kind at least, the first one `Opened`.
pub fn every_entry(session: &SessionId) -> Vec<Entry> {
    [talk(session), calls(), ends()].concat()
}

fn call(n: u32) -> CallId {
    CallId::new(format!("call-{n}"))
}

fn talk(session: &SessionId) -> Vec<Entry> {
    let input =
        json!({"path": "src/ü.rs", "n": [0.1, 1e300, -3, u64::MAX, null], "z": {"b": 1, "a": 2}});
    let thinking = Block::Thinking { text: "hm \"quoted\"".into(), signature: Some("c2ln".into()) };
    let refusal = StopReason::Refusal { category: Some("x".into()), explanation: None };
    vec![
        opened(session),
        // Nothing but the beginning lies before it: what does is read no more.
        boundary(),
        Entry::prompt(
            Message::User {
                content: vec![Block::text("Räum auf 🧹\n"), Block::Image(image(8))]
            },
            Timestamp(1_700_000_000_001),
        ),
        answer(vec![
            thinking,
            Block::Redacted { data: "xx".into() },
            Block::text("日本語"),
            Block::ToolUse { id: call(1), name: "edit".into(), input, via: None },
        ]),
        Entry::Answer {
            message: Message::assistant(&ModelId::new("m"), vec![]),
            stop: Some(refusal),
        },
        Entry::note(Message::meta("a hint")),
        inbound("i1"),
        inbound("i2"),
        Entry::Note { message: Message::user("wait"), inbound: vec!["i1".into()] },
        Entry::Withdrawn { inbound: vec!["i2".into()], questions: vec![] },
        Entry::Control(Control {
            mode: Mode::Plan,
            model: ModelId::new("m"),
            thinking: Thinking::Budget(5),
            rules: Default::default(),
            dirs: Vec::new(),
        }),
        Entry::Went { why: Continue::NextTurn },
        Entry::Went { why: Continue::StreamRetry { attempt: 2 } },
    ]
}

pub fn inbound(id: &str) -> Entry {
    Entry::Inbound(Box::new(Inbound {
        id: id.into(),
        source: InboundSource::Person,
        when: Delivery::NextBoundary,
        body: Message::User { content: vec![Block::text("wait"), Block::Image(image(40))] },
        at: Timestamp(6),
    }))
}

pub fn asked(id: &str) -> Entry {
    let question = Box::new(Question {
        id: id.into(),
        agent: AgentPath::default(),
        call: call(1),
        tool: "edit".into(),
        input: json!({"path": "a"}),
        touches: Touches::default(),
        decision: Decision::of(Ruled::Ask, By::BuiltIn, "it changes something"),
        request: None,
        deadline: None,
    });
    Entry::Asked { question, at: Timestamp(7) }
}

fn boundary() -> Entry {
    let receipt = Receipt {
        trigger: Trigger::Overflow,
        made: Made::Model { model: ModelId::new("m") },
        messages: 3,
        calls: vec![call(9)],
        calls_dropped: 1,
        kept: 1,
        before: 100,
        after: 10,
        requests: 1,
        attached: vec!["a".into()],
    };
    let carry = CarryOver { goal: "g".into(), files: vec!["f".into()], ..CarryOver::default() };
    Entry::Boundary(Box::new(Boundary {
        head: vec![
            Message::meta("<summary>"),
            Message::User { content: vec![Block::Image(image(40))] },
        ],
        kept: vec![Message::assistant(&ModelId::new("m"), vec![Block::text("kept")])],
        carry,
        receipt,
        turns: 2,
        title: "title".into(),
        seen: vec![Seen { path: "/w/a".into(), hash: Some("ab".into()), part: None }],
        at: Timestamp(5),
        inbox: Vec::new(),
        questions: Vec::new(),
        jobs: Vec::new(),
        control: None,
    }))
}

fn calls() -> Vec<Entry> {
    let result = Block::ToolResult {
        id: call(1),
        content: vec![ResultPart::text("a\r\nb\0c\u{2028}"), ResultPart::Image(image(40))],
        is_error: false,
    };
    let seen = vec![
        Seen { path: "/w/a b".into(), hash: Some("ab".into()), part: None },
        Seen { path: "/w/c".into(), hash: None, part: None },
    ];
    vec![
        asked("q1"),
        Entry::Decided {
            call: call(1),
            verdict: Verdict::Allow,
            why: "yes".into(),
            input: Some(json!({"path": "b"})),
            question: Some("q1".into()),
        },
        Entry::CallStarted { id: call(1) },
        Entry::CallFinished { result, seen },
        Entry::CallFinished { result: Block::error_result(call(2), "no"), seen: vec![] },
        Entry::decided(call(1), Verdict::Allow, "rule 3".into()),
        Entry::decided(call(2), Verdict::Deny, String::new()),
        Entry::Snapshot {
            call: call(1),
            path: "/w/a b".into(),
            before: Some("00ff".into()),
            mode: Some(0o644),
            after: Some("ff00".into()),
        },
        Entry::Snapshot {
            call: call(2),
            path: "/w/new".into(),
            before: None,
            mode: None,
            after: None,
        },
    ]
}

fn ends() -> Vec<Entry> {
    let usage =
        Usage { input: 1, output: 2, cache_write: 3, cache_write_1h: 1, cache_read: u64::MAX };
    vec![
        Entry::Spent {
            model: ModelId::new("m"),
            usage,
            cost: Some(0.1 + 0.2),
            charge: None,
            front: None,
        },
        Entry::Spent {
            model: ModelId::new("m"),
            usage: Usage::default(),
            cost: None,
            charge: None,
            front: None,
        },
        Entry::Planned { plan: plan() },
        Entry::Planned { plan: Plan::default() },
        Entry::Elided {
            stage: StageName::Micro,
            results: vec![Elision { call: call(1), words: "left out".into() }],
            saved: Saved { before: 2, after: 1 },
        },
        Entry::Collapsed {
            stories: vec![Story { first: 1, count: 2, words: "done".into() }],
            saved: Saved::default(),
        },
        Entry::End { terminal: Terminal::Completed, at: Timestamp(u64::MAX) },
        Entry::Checkpoint {
            call: call(1),
            before: 1,
            after: None,
            cost: SnapshotCost::default(),
            only: Vec::new(),
        },
        Entry::Checkpoint {
            call: call(1),
            before: 1,
            after: Some(u64::MAX),
            cost: SnapshotCost { ms: 1, files: 2, bytes: 3 },
            only: vec!["/ws/a".into(), "/ws/b c".into()],
        },
        Entry::Detached {
            job: Box::new(JobRecord {
                id: "b1".into(),
                kind: JobKind::Command,
                call: call(1),
                label: "Serve \u{1f9f9}".into(),
                output: Some("/h/jobs/s/b1/output.txt".into()),
                at: Timestamp(3),
                limit_ms: Some(300_000),
                command: Some("serve\n--all".into()),
                kept: true,
            }),
        },
        Entry::Rewound { turn: 3, at: Timestamp(7) },
        Entry::RewindUndone { at: Timestamp(8) },
        Entry::Agent(Box::new(AgentRecord {
            session: id(2),
            call: call(1),
            name: "explorer-1".into(),
            kind: "explorer".into(),
            task: "look".into(),
            state: AgentState::Failed { why: "no\nanswer".into() },
        })),
        Entry::Teammate {
            status: Box::new(TeammateStatus {
                name: "writer".into(),
                phase: TeammatePhase::Waiting,
                task: Some("port \u{1f9f9}\n\"it\"".into()),
                with: Some("explorer".into()),
                why: None,
            }),
            at: Timestamp(9),
        },
        Entry::TeammatePlan {
            plan: Box::new(PlanRecord {
                teammate: "writer".into(),
                task: "task-1".into(),
                sha256: "0a".repeat(32),
                state: PlanState::Approved,
            }),
            at: Timestamp(10),
        },
        Entry::End {
            terminal: Terminal::ModelError(ModelErrorKind::RateLimited),
            at: Timestamp(0),
        },
    ]
}

fn plan() -> Plan {
    let new = |subject: &str| NewTask { subject: subject.into(), ..NewTask::default() };
    let (plan, first) = Plan::default().with(new("Look \u{1f9f9}\n\"there\"")).unwrap();
    let (plan, second) = plan.with(new("Mend")).unwrap();
    let update = Update {
        description: Some("all of it".into()),
        active_form: Some("Mending".into()),
        status: Some(Status::InProgress),
        owner: Some("ann".into()),
        add_blocked_by: vec![first],
        metadata: serde_json::Map::from_iter([("k".to_owned(), serde_json::json!([1, null]))]),
        ..Update::default()
    };
    plan.updated(&second, update).unwrap()
}

/// Does not compile when a kind is added: then it belongs into `every_entry` too.
fn kind(entry: &Entry) -> usize {
    match entry {
        Entry::Opened { .. } => 0,
        Entry::Prompt { .. } => 1,
        Entry::Answer { .. } => 2,
        Entry::Note { .. } => 3,
        Entry::Went { .. } => 4,
        Entry::CallStarted { .. } => 5,
        Entry::CallFinished { .. } => 6,
        Entry::Decided { .. } => 7,
        Entry::Snapshot { .. } => 8,
        Entry::Spent { .. } => 9,
        Entry::End { .. } => 10,
        Entry::Checkpoint { .. } => 11,
        Entry::Rewound { .. } => 12,
        Entry::Planned { .. } => 13,
        Entry::Elided { .. } => 14,
        Entry::Collapsed { .. } => 15,
        Entry::Boundary(_) => 16,
        Entry::RewindUndone { .. } => 17,
        Entry::Inbound(_) => 18,
        Entry::Asked { .. } => 19,
        Entry::Withdrawn { .. } => 20,
        Entry::Control(_) => 21,
        Entry::Agent(_) => 22,
        Entry::Detached { .. } => 23,
        Entry::Teammate { .. } => 24,
        Entry::TeammatePlan { .. } => 25,
    }
}

#[test]
fn the_samples_hold_every_kind() {
    let kinds: std::collections::BTreeSet<_> = every_entry(&id(1)).iter().map(kind).collect();
    assert_eq!(kinds, (0..=25).collect());
}

/// The one file below the home whose name ends so.
pub fn file(home: &Path, ending: &str) -> PathBuf {
    match files(home, ending).as_slice() {
        [one] => one.clone(),
        other => panic!("{ending}: {other:?}"),
    }
}

pub fn files(home: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(listing) = fs::read_dir(&folder) else { continue };
        for entry in listing {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
