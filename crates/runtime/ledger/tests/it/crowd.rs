//! Many engines on one ledger never spend more than a shared budget allows: threads, tasks and processes.

use crate::support::{Named, PRICE, Place, SetClock, bound, ledger_at, rows_at};
use ostler_core::ledger::{ChargeStatus, Usage};
use ostler_core::ports::Ledger;
use ostler_core::session::Entry;
use ostler_core::turn::Terminal;
use ostler_engine::Meter;
use ostler_ledger::{FileLedger, SharedLedger, SharedLimits};
use ostler_testkit::{Script, TestAgent, finished};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// 1 000 tokens of prompt as estimated, and a short answer: less than any grant.
const USAGE: Usage =
    Usage { input: 0, output: 200, cache_write: 1_000, cache_write_1h: 0, cache_read: 0 };
/// Less than this is left when the smallest request is refused.
const LEAST: f64 = (1_000.0 * 3.75 + 256.0 * 15.0) / 1e6;

/// Runs turns until the budget ends or the script does; what its log says it spent.
async fn engine(path: &Path, name: String, limits: SharedLimits, turns: usize) -> f64 {
    let ledger = ledger_at(path, &name, limits, SetClock::at(1_000));
    engine_with(ledger, name, turns).await
}

async fn engine_with(ledger: FileLedger, name: String, turns: usize) -> f64 {
    let ledger = Arc::new(ledger);
    let script = || Script::new().usage(USAGE).text("ok").end_turn();
    let rig = TestAgent::new()
        .answers((0..turns).map(|_| script()))
        .meter(Meter::new(ledger.clone() as Arc<dyn Ledger>, Named::new(name)))
        .build();
    for _ in 0..turns {
        let events = rig.turn("go").await;
        match finished(&events).terminal {
            Terminal::Completed => {}
            Terminal::MaxBudget => break,
            other => panic!("{other:?}"),
        }
    }
    ledger.flush();
    let spent = |entry: &Entry| match entry {
        Entry::Spent { cost, .. } => cost.unwrap(),
        _ => 0.0,
    };
    rig.timeline.entries().iter().map(spent).sum()
}

/// All rows of the ledger, which must be those of the logs.
fn of_ledger(path: &Path) -> f64 {
    let rows = rows_at(path);
    assert!(rows.iter().all(|row| row.charged.charge.status == ChargeStatus::Ok));
    rows.iter().map(|row| row.charged.cost.unwrap()).sum()
}

#[allow(clippy::print_stdout, reason = "the figure is part of the result")]
fn holds(who: &str, spent: f64, limit: f64) {
    println!("shared budget, {who}: {spent:.4} of {limit} dollars spent, never more");
    assert!(spent <= limit + 1e-9, "{spent} of {limit}");
    assert!(spent > limit - LEAST, "{spent} of {limit}: money was left that would have done");
}

#[test]
fn fifty_engines_share_a_day() {
    let place = Place::new();
    let limits = SharedLimits { day: Some(1.0), ..SharedLimits::default() };
    let run = |n: usize| {
        let path = place.file();
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(engine(&path, format!("s{n}"), limits, 10))
        }
    };
    let threads: Vec<_> = (0..50).map(|n| std::thread::spawn(run(n))).collect();
    let logged: f64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let spent = of_ledger(&place.file());
    assert!((logged - spent).abs() < 1e-9, "the logs say {logged}, the ledger {spent}");
    assert!(50.0 * 10.0 * PRICE.cost(&USAGE) > 3.0, "they wanted three times as much");
    holds("50 engines, 500 requests wanted", spent, 1.0);
}

#[test]
fn tasks_of_one_process_share_a_project() {
    let place = Place::new();
    let limits = SharedLimits { project: Some(0.3), day: Some(50.0), ..SharedLimits::default() };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let path = place.file();
    runtime.unwrap().block_on(async {
        let tasks: Vec<_> = (0..20)
            .map(|n| {
                let path = path.clone();
                tokio::spawn(async move { engine(&path, format!("s{n}"), limits, 5).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    holds("20 tasks of one process", of_ledger(&path), 0.3);
}

#[test]
fn sessions_that_share_one_connection_share_a_day() {
    let place = Place::new();
    let limits = SharedLimits { day: Some(0.3), ..SharedLimits::default() };
    let shared = SharedLedger::new(place.file(), SetClock::at(1_000));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let logged: f64 = runtime.unwrap().block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..40 {
            let name = format!("s{n}");
            tasks.spawn(engine_with(bound(&shared, &name, limits), name, 5));
        }
        tasks.join_all().await.into_iter().sum()
    });
    let spent = of_ledger(&place.file());
    assert!((logged - spent).abs() < 1e-9, "the logs say {logged}, the ledger {spent}");
    holds("40 sessions on one connection", spent, 0.3);
}

/// Each agent has a sum of its own.
#[tokio::test]
async fn an_agent_does_not_spend_anothers_money() {
    let place = Place::new();
    let limits = SharedLimits { agent: Some(0.02), ..SharedLimits::default() };
    for name in ["a", "b"] {
        let spent = engine(&place.file(), name.into(), limits, 10).await;
        holds("one agent", spent, 0.02);
    }
}

const ROLE: &str = "OSTLER_LEDGER_TEST_CROWD";

/// Does nothing unless another test started it as a process.
#[test]
fn a_process_of_the_crowd() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (path, name) = role.split_once('|').unwrap();
    let limits = SharedLimits { day: Some(0.5), ..SharedLimits::default() };
    let (path, name) = (path.to_owned(), name.to_owned());
    let engines: Vec<_> = (0..5)
        .map(|n| {
            let (path, name) = (path.clone(), format!("{name}-{n}"));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(engine(Path::new(&path), name, limits, 10))
            })
        })
        .collect();
    for engine in engines {
        engine.join().unwrap();
    }
}

#[test]
fn four_processes_share_a_day() {
    let place = Place::new();
    let start = |n: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crowd::a_process_of_the_crowd", "--test-threads", "1"])
            .env(ROLE, format!("{}|p{n}", place.file().display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    holds("4 processes of 5 engines", of_ledger(&place.file()), 0.5);
    let processes: std::collections::BTreeSet<_> =
        rows_at(&place.file()).iter().map(|row| row.session[..2].to_owned()).collect();
    assert!(processes.len() > 1, "{processes:?}");
}
