//! How long it takes to open a large session that was compacted several times, and how much memory that needs.
//!
//! `cargo bench -p ostler-store --bench resume` writes logs of 100, 300 and 500 MB to a temporary directory and opens
//! each three times. The time must grow with the size and not faster: at most 1 s for 500 MB.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used)]

use ostler_core::context::{Boundary, CarryOver, Made, Receipt, Trigger};
use ostler_core::ids::{ModelId, SessionId};
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::ports::{SessionLog, SessionStore};
use ostler_core::session::{Entry, FORMAT, SessionRecord};
use ostler_core::time::Timestamp;
use ostler_store::FileStore;
use std::time::Instant;

const MEGABYTES: [usize; 3] = [100, 300, 500];
/// Bytes of a result, and exchanges between two boundaries: few large lines, and many small ones with many boundaries.
const SHAPES: [(usize, usize); 2] = [(20_000, 200), (2_000, 40)];

fn main() {
    for (result, between) in SHAPES {
        println!("results of {result} bytes, a boundary every {between} exchanges");
        for megabytes in MEGABYTES {
            let home = tempfile::tempdir().unwrap();
            write(home.path(), megabytes * 1_000_000, result, between);
            for _ in 0..3 {
                open(home.path(), megabytes);
            }
        }
    }
}

fn id() -> SessionId {
    SessionId::new("bench-0001")
}

fn write(home: &std::path::Path, bytes: usize, result: usize, between: usize) {
    let store = FileStore::new(home).unwrap();
    let (session, workspace) = (id(), "/w".into());
    let opened = Entry::Opened {
        format: FORMAT,
        session,
        workspace,
        at: Timestamp(0),
        forked_from: None,
        started_by: None,
    };
    let log = store.create(opened).unwrap();
    let model = ModelId::new("m");
    let tail = between / 5;
    for n in 0..bytes / (result + 800) {
        if n % between == between - tail {
            log.append(&boundary(result)).unwrap();
        }
        exchange(&*log, n, &model, result);
    }
    log.sync().unwrap();
}

fn exchange(log: &dyn SessionLog, n: usize, model: &ModelId, result: usize) {
    let id = format!("c{n}");
    let input = serde_json::json!({ "file_path": format!("/w/{n}.rs") });
    let call = Block::ToolUse { id: id.as_str().into(), name: "Read".into(), input, via: None };
    let content = vec![ResultPart::text("line of code\n".repeat(result / 13))];
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

fn boundary(result: usize) -> Entry {
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
        head: vec![Message::meta("summary ".repeat(result / 2)), Message::user("go")],
        kept: Vec::new(),
        carry: CarryOver::default(),
        receipt,
        turns: 1,
        title: "go".into(),
        seen: Vec::new(),
        at: Timestamp(0),
        inbox: Vec::new(),
        questions: Vec::new(),
        jobs: Vec::new(),
        control: None,
    }))
}

fn open(home: &std::path::Path, megabytes: usize) {
    let store = FileStore::new(home).unwrap();
    let (since, busy) = (Instant::now(), ticks());
    let loaded = store.open(&id()).unwrap();
    let entries = loaded.entries.len();
    let session = SessionRecord::fold(loaded.entries).close();
    let took = since.elapsed();
    let busy = (ticks() - busy) * 10;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!(
        "{megabytes} MB opened in {took:.0?} ({busy} ms of CPU): {entries} entries, {} messages of {} bytes; peak {}",
        session.view.items().len(),
        session.view.weight(),
        peak.trim_start_matches("VmHWM:").trim()
    );
}

/// Hundredths of a second that this process has computed: what the machine does besides does not count.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
