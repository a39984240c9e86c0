//! A reservation lives as long as its process speaks of it.

use crate::support::{DAY_MS, Place, SetClock, ask, charged, ledger_at};
use ostler_core::ledger::{ChargeStatus, Grant, Sum, Usage};
use ostler_core::ports::Ledger;
use ostler_ledger::{Db, FileLedger, LEASE_MS, LedgerRow, Owner, SharedLimits};
use proptest::prelude::*;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const LIMITS: SharedLimits = SharedLimits { day: Some(0.1), project: None, agent: None };
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
fn what_a_killed_process_held_is_counted_as_spent() {
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
    assert!(refused.short.unwrap().contains("is reserved by running requests"));
    clock.pass(1);
    // Nobody knows what it sent: the day stays spent, so that processes that die in a row do not spend without end.
    let refused = ledger.reserve("r2", "main", &patient).unwrap();
    assert_eq!(granted(refused.grant), None);
    assert!(refused.short.unwrap().ends_with("$0.1000 is spent"));
    let rows = place.rows();
    let row = &rows[0];
    let charge = &row.charged.charge;
    assert_eq!((rows.len(), charge.id.as_str(), charge.status), (1, "r1", ChargeStatus::Lost));
    assert_eq!(
        (row.day.as_str(), row.project.as_str(), row.session.as_str()),
        ("0000", "/p", "dead")
    );
    // The day after, there is a new one.
    clock.pass(DAY_MS);
    let reserved = ledger.reserve("r2", "main", &patient).unwrap();
    assert_eq!(granted(reserved.grant), Some(((0.1 - 0.00375) / 15.0 * 1e6) as u32));
    ledger.release("r2");
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

/// A process that slept too long, or one whose log was read: what is known takes the place of what was feared.
#[test]
fn what_is_known_later_replaces_what_was_lost() {
    let limits = SharedLimits { day: Some(1.0), project: Some(1.0), agent: Some(1.0) };
    let amount = ask(1_000).amount(1_000);
    type End = fn(&Place, &FileLedger);
    let table: [(&str, End, f64, usize); 4] = [
        ("nothing", |_, _| {}, amount, 1),
        (
            "settled",
            |_, ledger| ledger.record(charged("r1", 0, Usage::default(), Some(0.01))),
            0.01,
            1,
        ),
        ("given back", |_, ledger| ledger.release("r1"), 0.0, 0),
        (
            "read in its log",
            |place, _| {
                let charged = charged("r1", 0, Usage::default(), Some(0.01));
                let (day, project, session) = ("0000".into(), "/p".into(), "s".into());
                let row = LedgerRow { day, project, session, charged };
                let mut db = Db::open(&place.file()).unwrap();
                assert_eq!(db.index(std::slice::from_ref(&row), &[]).unwrap(), 1);
                assert_eq!(db.index(&[row], &[]).unwrap(), 0);
            },
            0.01,
            1,
        ),
    ];
    for (name, end, spent, rows) in table {
        let place = Place::new();
        let ledger = place.ledger("s", limits, SetClock::at(0));
        assert!(ledger.reserve("r1", "main", &ask(1_000)).unwrap().holds());
        let sums = |now: u64| -> Vec<(String, String)> {
            let mut db = Db::open(&place.file()).unwrap();
            let owner = Owner { project: "/p".into(), session: "s".into() };
            let now = ostler_core::time::Timestamp(now);
            let standings = db.standings(&limits, &owner, "main", "0000", now).unwrap();
            let told = |sum: Sum| (format!("{:.6}", sum.spent), format!("{:.6}", sum.reserved));
            standings.into_iter().map(|standing| told(standing.sum)).collect()
        };
        let all = |spent: f64| vec![(format!("{spent:.6}"), "0.000000".to_owned()); 3];
        assert_eq!(sums(LEASE_MS + 1), all(amount), "{name}");
        assert_eq!(sums(LEASE_MS + 2), all(amount), "{name}: counted once");
        end(&place, &ledger);
        ledger.flush();
        assert_eq!(sums(LEASE_MS + 3), all(spent), "{name}");
        assert_eq!(place.rows().len(), rows, "{name}");
    }
}

/// One that is in the ledger already when its lease runs out was not lost.
#[test]
fn what_was_found_in_time_is_not_counted_twice() {
    let place = Place::new();
    let ledger = place.ledger("s", LIMITS, SetClock::at(0));
    assert!(ledger.reserve("r1", "main", &ask(1_000)).unwrap().holds());
    let charged = charged("r1", 0, Usage::default(), Some(0.01));
    let row = LedgerRow { day: "0000".into(), project: "/p".into(), session: "s".into(), charged };
    let mut db = Db::open(&place.file()).unwrap();
    db.index(&[row], &[]).unwrap();
    let owner = Owner { project: "/p".into(), session: "s".into() };
    for now in [0, LEASE_MS + 1] {
        let now = ostler_core::time::Timestamp(now);
        let sum = db.standings(&LIMITS, &owner, "main", "0000", now).unwrap()[0].sum;
        assert_eq!((sum.spent, sum.reserved), (0.01, 0.0));
    }
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
        let limits = SharedLimits { day: Some(0.5), project: Some(0.4), agent: Some(0.2) };
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
