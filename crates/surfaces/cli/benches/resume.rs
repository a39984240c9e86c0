//! How long `ostler -p go --resume ID` takes until its first request is there, and how much memory it needs, for a
//! session of 100 MB that was summarized many times.
//!
//! `cargo bench -p ostler-cli --bench resume` writes the log to a temporary directory, then resumes it nine times; each
//! time the model server holds the answer back while the figures are read. Another program is measured if it is named:
//! `… --bench resume -- target/dist/ostler`.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used)]

use ostler_core::context::{Boundary, CarryOver, Made, Receipt, Trigger};
use ostler_core::ids::{ModelId, SessionId};
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::ports::{SessionLog, SessionStore};
use ostler_core::session::{Entry, FORMAT};
use ostler_core::time::Timestamp;
use ostler_core::tool::Seen;
use ostler_core::turn::{Continue, Terminal};
use ostler_model_server::{ModelServer, Script, text};
use ostler_store::FileStore;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ID: &str = "6f1d0e52-6a44-4f0e-9c5b-0d8f3f2b7a11";
const ENTRIES: usize = 20_000;
/// Bytes of a result; with its answer and the rest an exchange has four entries.
const RESULT: usize = 20_000;
/// Exchanges between two boundaries, and after the last one.
const BETWEEN: usize = 200;
const TAIL: usize = 40;
const RUNS: usize = 9;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    std::fs::create_dir(&project).unwrap();
    let project = project.canonicalize().unwrap();
    write(&home, &project);
    let named = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let program = named.unwrap_or_else(|| env!("CARGO_BIN_EXE_ostler").to_owned());
    let run = |_| resumed(&program, &home, &project);
    let mut took: Vec<(Duration, u64)> = (0..RUNS).map(run).collect();
    took.sort();
    let (least, middle, most) = (took[0], took[RUNS / 2], took[RUNS - 1]);
    let ms = |(time, _): (Duration, u64)| time.as_secs_f64() * 1e3;
    println!(
        "first request after {:.0} ms ({:.0}–{:.0}), at most {} KB of memory; bounds 200 ms, 60 MB",
        ms(middle),
        ms(least),
        ms(most),
        took.iter().map(|(_, peak)| peak).max().unwrap()
    );
}

fn write(home: &Path, project: &Path) {
    let store = FileStore::new(home).unwrap();
    let (session, workspace) = (SessionId::new(ID), project.to_owned());
    let at = Timestamp(0);
    let log = store
        .create(Entry::Opened {
            format: FORMAT,
            session,
            workspace,
            at,
            forked_from: None,
            started_by: None,
        })
        .unwrap();
    log.append(&Entry::prompt(Message::user("begin"), at)).unwrap();
    let model = ModelId::new("scripted");
    let mut boundaries = 0;
    for n in 0..ENTRIES / 4 {
        if n % BETWEEN == BETWEEN - TAIL {
            log.append(&boundary(n)).unwrap();
            boundaries += 1;
        }
        exchange(&*log, n, &model, project);
    }
    let done = Message::assistant(&model, vec![Block::text("done")]);
    log.append(&Entry::Answer { message: done, stop: None }).unwrap();
    log.append(&Entry::End { terminal: Terminal::Completed, at }).unwrap();
    log.sync().unwrap();
    println!("{} entries, {boundaries} boundaries", ENTRIES + boundaries + 4);
}

fn exchange(log: &dyn SessionLog, n: usize, model: &ModelId, project: &Path) {
    let (id, path) = (format!("c{n}"), project.join(format!("src/{}.rs", n % 700)));
    let input = serde_json::json!({ "file_path": path });
    let call = Block::ToolUse { id: id.as_str().into(), name: "Read".into(), input, via: None };
    let lines = (0..RESULT / 20).map(|line| format!("{line:6}\tline of code\n"));
    let content = vec![ResultPart::text(lines.collect::<String>())];
    let result = Block::ToolResult { id: id.as_str().into(), content, is_error: false };
    let usage = Usage { input: 10, output: 10, ..Usage::default() };
    let seen = vec![Seen { path, hash: Some(format!("{n:064x}")), part: None }];
    for entry in [
        Entry::Spent { model: model.clone(), usage, cost: Some(0.1), charge: None, front: None },
        Entry::Answer { message: Message::assistant(model, vec![call]), stop: None },
        Entry::CallFinished { result, seen },
        Entry::Went { why: Continue::NextTurn },
    ] {
        log.append(&entry).unwrap();
    }
}

fn boundary(n: usize) -> Entry {
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
    let summary = format!("<summary>\n{}\n</summary>", "what was done ".repeat(4_000));
    Entry::Boundary(Box::new(Boundary {
        head: vec![Message::meta(summary), Message::user("begin")],
        kept: Vec::new(),
        carry: CarryOver::default(),
        receipt,
        turns: 1,
        title: format!("begin {n}"),
        seen: Vec::new(),
        at: Timestamp(0),
        inbox: Vec::new(),
        questions: Vec::new(),
        jobs: Vec::new(),
        control: None,
    }))
}

/// The time until the first request is there, and the most memory until then in kilobytes.
fn resumed(program: &str, home: &Path, project: &Path) -> (Duration, u64) {
    let server = ModelServer::start(Script::new().answer(text("hello").due_at("held"))).unwrap();
    let since = Instant::now();
    let mut child = Command::new(program)
        .args(["-p", "go", "--resume", ID])
        .current_dir(project)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.parent().unwrap())
        .env("OSTLER_HOME", home)
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", "test-key")
        .env("ANTHROPIC_MODEL", "scripted")
        // The tail is to be sent, not summarized.
        .env("OSTLER_CONTEXT_WINDOW", "1000000")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let gate = server.gate("held");
    runtime.block_on(gate.reached()).unwrap();
    let request = server.requests().remove(0);
    let took = request.arrived.duration_since(since);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{took:?}, {peak} KB, a request of {} bytes", request.body.len());
    gate.release();
    assert!(child.wait().unwrap().success());
    (took, peak)
}
