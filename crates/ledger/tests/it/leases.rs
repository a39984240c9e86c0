//! A reservation lives as long as its process speaks of it.

use crate::support::{Place, SetClock, ask, charged, ledger_at};
use ostler_core::ledger::{Grant, Usage};
use ostler_core::ports::Ledger;
use ostler_ledger::{Db, LEASE_MS, Limits, Owner};
use proptest::prelude::*;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const LIMITS: Limits = Limits { day: Some(0.1), project: None, agent: None };
const ROLE: &str = "OSTLER_LEDGER_TEST_HOLDER";

fn granted(grant: Grant) -> Option<u32> {
    match grant {
        Grant::Yes { output, .. } => Some(output),
        Grant::Wait | Grant::No { .. } => None,
    }
}

/// Does nothing unless another test started it as a process: reserves everything and waits to be killed.
#[test]
fn a_process_that_holds() {
    let Ok(path) = std::env::var(ROLE) else { return };
    let ledger = ledger_at(Path::new(&path), "dead", LIMITS, SetClock::at(0));
    let reserved = ledger.reserve("r1", "main", &ask(64_000)).unwrap();
    assert!(reserved.holds());
    println!("\nholding");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_process_holds_nothing_for_long() {
    let place = Place::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leases::a_process_that_holds", "--nocapture", "--test-threads", "1"])
        .env(ROLE, place.file())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "holding"));
    child.kill().unwrap();
    child.wait().unwrap();

    let clock = SetClock::at(LEASE_MS);
    let ledger = place.ledger("alive", LIMITS, clock.clone());
    let mut patient = ask(8_000);
    patient.patient = true;
    // Until the lease ends, what it held is held: somebody patient waits, somebody else is told who is in the way.
    assert_eq!(ledger.reserve("r2", "main", &patient).unwrap().grant, Grant::Wait);
    let refused = ledger.reserve("r2", "main", &ask(8_000)).unwrap();
    assert_eq!(granted(refused.grant), None);
    assert!(refused.short.unwrap().contains("is reserved by requests on their way"));
    clock.pass(1);
    let reserved = ledger.reserve("r2", "main", &patient).unwrap();
    assert_eq!(granted(reserved.grant), Some(((0.1 - 0.00375) / 15.0 * 1e6) as u32));
    // What became of the dead one's request, its log may know.
    let unsettled = || Db::open(&place.file()).unwrap().unsettled().unwrap();
    ledger.flush();
    assert_eq!(unsettled(), ["alive", "dead"]);
    drop(ledger);
    assert_eq!(unsettled(), ["dead"], "what ends in order has nothing more to tell");
}

#[test]
fn a_row_takes_the_place_of_its_reservation() {
    let place = Place::new();
    let ledger = place.ledger("s", LIMITS, SetClock::at(0));
    assert!(ledger.reserve("r1", "main", &ask(1_000)).unwrap().holds());
    assert!(ledger.reserve("r2", "main", &ask(1_000)).unwrap().holds());
    let standing = || {
        let mut db = Db::open(&place.file()).unwrap();
        let owner = Owner { project: "/p".into(), session: "s".into() };
        let now = ostler_core::time::Timestamp(0);
        let sum = db.standings(&LIMITS, &owner, "main", "0000", now).unwrap()[0].sum;
        (format!("{:.5}", sum.spent), format!("{:.5}", sum.reserved))
    };
    assert_eq!(standing(), ("0.00000".into(), "0.03750".into()));
    ledger.record(charged("r1", 0, Usage::default(), Some(0.01)));
    ledger.release("r2");
    ledger.flush();
    assert_eq!(standing(), ("0.01000".into(), "0.00000".into()));
    // Told twice, counted once.
    ledger.record(charged("r1", 0, Usage::default(), Some(0.01)));
    ledger.flush();
    assert_eq!(standing(), ("0.01000".into(), "0.00000".into()));
}

#[test]
fn a_file_that_cannot_be_used_refuses() {
    let place = Place::new();
    std::fs::write(place.file(), "this is not a database, not at all, whatever its name says")
        .unwrap();
    let ledger = place.ledger("s", LIMITS, SetClock::at(0));
    let error = ledger.reserve("r1", "main", &ask(1_000)).unwrap_err().to_string();
    assert!(error.contains("ledger.db") && error.contains("--rebuild"), "{error}");
    assert!(Db::open(&place.file()).is_err());
}

#[derive(Clone, Debug)]
enum Act {
    Reserve { session: usize, wanted: u32 },
    Settle { which: usize, share: u8 },
    Release { which: usize },
    Die { session: usize },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..3usize, 1..20_000u32).prop_map(|(session, wanted)| Act::Reserve { session, wanted }),
        2 => (0..8usize, 0..=100u8).prop_map(|(which, share)| Act::Settle { which, share }),
        1 => (0..8usize).prop_map(|which| Act::Release { which }),
        1 => (0..3usize).prop_map(|session| Act::Die { session }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever sessions do, in whatever order: no shared sum is promised twice, none is negative, and no smaller one
    /// holds more than the one above it.
    #[test]
    fn no_shared_sum_is_overdrawn(acts in prop::collection::vec(act(), 1..40)) {
        let place = Place::new();
        let limits = Limits { day: Some(0.5), project: Some(0.4), agent: Some(0.2) };
        let clock = SetClock::at(0);
        let name = |n: usize| format!("s{n}");
        let mut ledgers: Vec<_> =
            (0..3).map(|n| place.ledger(&name(n), limits, clock.clone())).collect();
        let mut open: Vec<(usize, String, f64)> = Vec::new();
        for (nth, act) in acts.into_iter().enumerate() {
            match act {
                Act::Reserve { session, wanted } => {
                    let id = format!("r{nth}");
                    let reserved = ledgers[session].reserve(&id, "main", &ask(wanted)).unwrap();
                    if let Grant::Yes { amount, .. } = reserved.grant {
                        open.push((session, id, amount));
                    }
                }
                Act::Settle { which, share } if !open.is_empty() => {
                    let (session, id, amount) = open.swap_remove(which % open.len());
                    let cost = amount * f64::from(share) / 100.0;
                    ledgers[session].record(charged(&id, 0, Usage::default(), Some(cost)));
                    ledgers[session].flush();
                }
                Act::Release { which } if !open.is_empty() => {
                    let (session, id, _) = open.swap_remove(which % open.len());
                    ledgers[session].release(&id);
                    ledgers[session].flush();
                }
                Act::Die { session } => {
                    ledgers[session] = place.ledger(&name(session), limits, clock.clone());
                    open.retain(|(of, ..)| *of != session);
                }
                Act::Settle { .. } | Act::Release { .. } => {}
            }
            let mut db = Db::open(&place.file()).unwrap();
            for n in 0..3 {
                let owner = Owner { project: "/p".into(), session: name(n) };
                let now = ostler_core::time::Timestamp(0);
                let sums: Vec<_> = db.standings(&limits, &owner, "main", "0000", now).unwrap()
                    .into_iter().map(|standing| standing.sum).collect();
                for sum in &sums {
                    prop_assert!(sum.spent >= 0.0 && sum.reserved >= 0.0);
                    prop_assert!(sum.spent + sum.reserved <= sum.limit + 1e-9, "{:?}", sum);
                }
                let (project, agent) = (sums[1], sums[2]);
                prop_assert!(agent.spent <= project.spent + 1e-9);
                prop_assert!(agent.reserved <= project.reserved + 1e-9);
            }
        }
    }
}
