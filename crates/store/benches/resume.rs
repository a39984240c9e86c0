//! How long it takes to open a large session that was summed up several times, and how much memory that needs.
//!
//! `cargo bench -p ostler-store --bench resume` writes a log of 112 MB to a temporary folder, then opens it three
//! times.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used)]

use ostler_core::context::{Boundary, CarryOver, Made, Receipt, Trigger};
use ostler_core::ids::{ModelId, SessionId};
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::ports::{SessionLog, SessionStore};
use ostler_core::session::{Entry, FORMAT, Session};
use ostler_core::time::Timestamp;
use ostler_store::FileStore;
use std::time::Instant;

const ENTRIES: usize = 20_000;
const RESULT: usize = 20_000;
/// Exchanges between two boundaries, and after the last one.
const BETWEEN: usize = 200;
const TAIL: usize = 40;

fn main() {
    let home = tempfile::tempdir().unwrap();
    write(home.path());
    for _ in 0..3 {
        open(home.path());
    }
}

fn id() -> SessionId {
    SessionId::new("bench-0001")
}

fn write(home: &std::path::Path) {
    let store = FileStore::new(home).unwrap();
    let (session, workspace) = (id(), "/w".into());
    let opened =
        Entry::Opened { format: FORMAT, session, workspace, at: Timestamp(0), forked_from: None };
    let log = store.create(opened).unwrap();
    let model = ModelId::new("m");
    let mut n = 1;
    while n < ENTRIES {
        if n / 4 % BETWEEN == BETWEEN - TAIL {
            log.append(&boundary()).unwrap();
        }
        exchange(&*log, n, &model);
        n += 4;
    }
    log.sync().unwrap();
}

fn exchange(log: &dyn SessionLog, n: usize, model: &ModelId) {
    let id = format!("c{n}");
    let input = serde_json::json!({ "file_path": format!("/w/{n}.rs") });
    let call = Block::ToolUse { id: id.as_str().into(), name: "Read".into(), input };
    let content = vec![ResultPart::text("line of code\n".repeat(RESULT / 13))];
    let result = Block::ToolResult { id: id.as_str().into(), content, is_error: false };
    let usage = Usage { input: 10, output: 10, ..Usage::default() };
    for entry in [
        Entry::Spent { model: model.clone(), usage, cost: Some(0.1), charge: None, front: None },
        Entry::Answer { message: Message::assistant(model, vec![call]), stop: None },
        Entry::CallFinished { result, seen: Vec::new() },
        Entry::Went { why: ostler_core::turn::Continue::NextTurn },
    ] {
        log.append(&entry).unwrap();
    }
}

fn boundary() -> Entry {
    let receipt = Receipt {
        trigger: Trigger::Auto,
        made: Made::Extract { why: "bench".into() },
        messages: 400,
        calls: Vec::new(),
        calls_dropped: 200,
        kept: 0,
        before: 167_000,
        after: 20_000,
        requests: 1,
        attached: Vec::new(),
    };
    Entry::Boundary(Box::new(Boundary {
        head: vec![Message::meta("summary ".repeat(10_000)), Message::user("go")],
        kept: Vec::new(),
        carry: CarryOver::default(),
        receipt,
        turns: 1,
        title: "go".into(),
        seen: Vec::new(),
        at: Timestamp(0),
    }))
}

fn open(home: &std::path::Path) {
    let store = FileStore::new(home).unwrap();
    let since = Instant::now();
    let loaded = store.open(&id()).unwrap();
    let entries = loaded.entries.len();
    let session = Session::fold(loaded.entries).close();
    let took = since.elapsed();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!(
        "opened in {took:?}: {entries} entries, {} messages of {} bytes; peak {}",
        session.view.items().len(),
        session.view.weight(),
        peak.trim_start_matches("VmHWM:").trim()
    );
}
