//! What a session costs that does nothing: memory, threads and descriptors, of all of it and of its parts.
//! `cargo bench -p ostler --bench idle_sessions [-- COUNT]`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

use ostler::{Host, Init, Options};
use ostler_core::ids::SessionId;
use ostler_core::ports::SessionStore;
use ostler_core::session::{Entry, FORMAT};
use ostler_core::time::{Clock, Timestamp};
use ostler_exec::{Executor, SupervisorProgram};
use ostler_ledger::{Binding, Days, FileLedger, LedgerSetup, Owner, SharedLedger, SharedLimits};
use ostler_store::FileStore;
use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const PARTS: [&str; 7] =
    ["session", "without home", "without tools", "log", "own ledger", "shared ledger", "scope"];

struct Zero;

impl Clock for Zero {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

fn main() {
    let init = ostler::init();
    ostler_exec::raise_open_file_limit().unwrap();
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    if let Some(part) = words.first().filter(|word| PARTS.contains(&word.as_str())) {
        return measure(&init, part, number(1).unwrap());
    }
    let count = number(0).unwrap_or(1000).to_string();
    println!("{count} of each, all idle; for each one:");
    for part in PARTS {
        let own = std::env::current_exe().unwrap();
        let status = std::process::Command::new(own).args([part, &count]).status().unwrap();
        assert!(status.success(), "{part}");
    }
}

/// In a process of its own, so that nothing is measured that another part left.
fn measure(init: &Init, part: &str, count: usize) {
    let place = tempfile::tempdir().unwrap();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let maker = maker(init, part, place.path());
    // The first one brings what all of them share.
    let mut all = vec![maker(0)];
    let before = Figures::now();
    all.extend((1..=count).map(&maker));
    let after = Figures::now();
    let kilobytes = (after.memory - before.memory) as f64 / count as f64;
    println!(
        "{part:14} {kilobytes:8.1} KB  {:5.2} threads  {:5.2} descriptors   all: {} threads {:?}, descriptors {:?}",
        (after.threads() as f64 - before.threads() as f64) / count as f64,
        (after.descriptors() as f64 - before.descriptors() as f64) / count as f64,
        after.threads(),
        after.by_thread,
        after.by_descriptor,
    );
}

type Maker<'a> = Box<dyn Fn(usize) -> Box<dyn Any> + 'a>;

fn maker<'a>(init: &'a Init, part: &str, place: &'a Path) -> Maker<'a> {
    let ledger = place.join("ledger.db");
    let owner = |n: usize| Owner { project: "/p".into(), session: format!("s{n}") };
    let days: Days = Arc::new(|_| "today".into());
    let limits = SharedLimits::default();
    let clock = Arc::new(Zero);
    match part {
        "log" => {
            let store = FileStore::new(place).unwrap();
            Box::new(move |n| Box::new(store.create(opened(n)).unwrap()))
        }
        "own ledger" => Box::new(move |n| {
            let (path, clock, days) = (ledger.clone(), clock.clone(), days.clone());
            let ledger = FileLedger::new(LedgerSetup {
                path,
                owner: owner(n),
                limits,
                days,
                clock,
                fill: None,
            });
            ledger.flush();
            Box::new(ledger)
        }),
        "shared ledger" => {
            let shared = SharedLedger::new(ledger, clock);
            Box::new(move |n| {
                let binding = Binding { owner: owner(n), limits, days: days.clone(), fill: None };
                let ledger = shared.bind(binding);
                ledger.flush();
                Box::new(ledger)
            })
        }
        "scope" => {
            let executor = Executor::new(SupervisorProgram::this_binary(["none"]));
            Box::new(move |_| Box::new(executor.scope()))
        }
        _ => {
            let mut options = Options::new(place, ostler::api_key("the bench", "key"));
            options.host.home = (part != "without home").then(|| place.join("home"));
            options.session.tools = (part == "without tools").then(Vec::new);
            let host = Host::open(init, options.host).unwrap();
            let options = options.session;
            Box::new(move |_| Box::new(host.session(options.clone()).unwrap()))
        }
    }
}

fn opened(n: usize) -> Entry {
    Entry::Opened {
        format: FORMAT,
        session: SessionId::new(format!("s{n}")),
        workspace: "/p".into(),
        at: Timestamp(0),
        forked_from: None,
        started_by: None,
    }
}

/// What this process uses.
struct Figures {
    memory: u64,
    by_thread: BTreeMap<String, u64>,
    by_descriptor: BTreeMap<String, u64>,
}

impl Figures {
    fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let memory = line.trim().trim_end_matches(" kB").parse().unwrap();
        let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
        let names =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
        let fds = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let targets = fds.filter_map(|fd| fs::read_link(fd.path()).ok());
        let kinds = targets.map(|target| match (target.extension(), target.to_str()) {
            (Some(extension), _) => extension.to_string_lossy().into_owned(),
            (None, Some(name)) => name.split(':').next().unwrap_or_default().to_owned(),
            (None, None) => "other".into(),
        });
        Figures {
            memory,
            by_thread: tally(names.map(|name| name.trim().to_owned())),
            by_descriptor: tally(kinds),
        }
    }

    fn threads(&self) -> u64 {
        self.by_thread.values().sum()
    }

    fn descriptors(&self) -> u64 {
        self.by_descriptor.values().sum()
    }
}

fn tally(names: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}
