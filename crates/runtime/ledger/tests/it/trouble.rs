//! A file that is new, damaged, gone or not to be written.

use crate::support::{Place, SetClock, ask, charged, days};
use ostler_core::ledger::{Grant, Usage};
use ostler_core::ports::Ledger;
use ostler_ledger::{Db, FileLedger, LedgerRow, LedgerSetup, Owner, SharedLimits};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

const LIMITS: SharedLimits = SharedLimits { day: Some(0.1), project: None, agent: None };
const NONE: SharedLimits = SharedLimits { day: None, project: None, agent: None };

/// The logs hold one request that took the whole day's budget.
fn with_logs(path: &Path, limits: SharedLimits, read: &Arc<AtomicU32>) -> FileLedger {
    let owner = Owner { project: "/p".into(), session: "s".into() };
    let (path, clock, read) = (path.to_owned(), SetClock::at(0), read.clone());
    let fill = Arc::new(move |db: &mut Db| {
        read.fetch_add(1, SeqCst);
        let charged = charged("old", 0, Usage::default(), Some(0.1));
        let row =
            LedgerRow { day: "0000".into(), project: "/q".into(), session: "t".into(), charged };
        db.index(&[row], &[]).map(|_| ())
    });
    FileLedger::new(LedgerSetup { path, owner, limits, days: days(), clock, fill: Some(fill) })
}

fn remove(place: &Place) {
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", place.file().display()));
    }
}

fn is_refused(ledger: &FileLedger) -> bool {
    matches!(ledger.reserve("r", "main", &ask(1_000)).unwrap().grant, Grant::No { .. })
}

#[test]
fn a_new_file_learns_what_was_spent_before_anything_is_reserved() {
    let (place, read) = (Place::new(), Arc::new(AtomicU32::new(0)));
    // A run without limits makes the file and reads nothing.
    let free = with_logs(&place.file(), NONE, &read);
    free.record(charged("free", 0, Usage::default(), Some(0.0)));
    drop(free);
    assert_eq!(read.load(SeqCst), 0);
    let ledger = with_logs(&place.file(), LIMITS, &read);
    assert!(is_refused(&ledger) && is_refused(&ledger));
    drop(ledger);
    assert!(is_refused(&with_logs(&place.file(), LIMITS, &read)));
    assert_eq!(read.load(SeqCst), 1, "once");
    // Removed under a process that has it open.
    let ledger = with_logs(&place.file(), LIMITS, &read);
    assert!(is_refused(&ledger));
    remove(&place);
    assert!(is_refused(&ledger));
    assert_eq!(read.load(SeqCst), 2);
}

#[test]
fn a_damaged_file_is_set_aside_and_a_new_one_is_made() {
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 2] = [
        ("garbage", |path| fs::write(path, "garbage\n").unwrap()),
        ("a hole", |path| {
            drop(Db::open(path).unwrap());
            let mut bytes = fs::read(path).unwrap();
            assert!(bytes.len() > 8_192);
            bytes[4_096..].fill(0xa5);
            fs::write(path, bytes).unwrap();
        }),
    ];
    for (name, damage) in damage {
        for limits in [NONE, LIMITS] {
            let (place, read) = (Place::new(), Arc::new(AtomicU32::new(0)));
            damage(&place.file());
            let ledger = with_logs(&place.file(), limits, &read);
            if limits == LIMITS {
                assert!(is_refused(&ledger), "{name}");
            }
            ledger.record(charged("x", 0, Usage::default(), Some(0.01)));
            let told = ledger.trouble();
            assert!(told.len() == 1 && told[0].contains("ledger.db.broken-1"), "{name}: {told:?}");
            assert_eq!(ledger.trouble(), [] as [&str; 0]);
            drop(ledger);
            let aside = place.file().with_file_name("ledger.db.broken-1");
            assert!(aside.exists() && !aside.with_file_name("ledger.db.broken-2").exists());
            assert!(place.rows().iter().any(|row| row.charged.charge.id == "x"), "{name}");
            let incomplete = Db::open(&place.file()).unwrap().is_incomplete().unwrap();
            assert_eq!(incomplete, limits == NONE, "{name}");
        }
    }
}

#[test]
fn two_that_find_it_damaged_set_it_aside_once() {
    let place = Place::new();
    fs::write(place.file(), "garbage\n").unwrap();
    let aside = std::thread::scope(|scope| {
        let open = || Db::open(&place.file()).unwrap().set_aside();
        let all: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        all.into_iter().filter_map(|one| one.join().unwrap()).count()
    });
    assert_eq!(aside, 1);
}

/// Where a directory stands nothing can be written, whoever runs this.
#[test]
fn a_file_that_cannot_be_used_refuses_and_names_why() {
    let place = Place::new();
    fs::create_dir(place.file()).unwrap();
    let ledger = place.ledger("s", LIMITS, SetClock::at(0));
    let error = ledger.reserve("r1", "main", &ask(1_000)).unwrap_err().to_string();
    assert!(error.contains("ledger.db cannot be used: Is a directory"), "{error}");
    assert!(!error.contains("damaged") && error.matches("the ledger").count() == 1, "{error}");
    assert!(place.file().is_dir(), "nothing is set aside");
}

#[test]
fn a_row_that_cannot_be_written_is_said_once_and_its_log_is_read_again() {
    let (place, read) = (Place::new(), Arc::new(AtomicU32::new(0)));
    fs::create_dir(place.file()).unwrap();
    let ledger = with_logs(&place.file(), NONE, &read);
    ledger.record(charged("x", 0, Usage::default(), Some(0.01)));
    let told = ledger.trouble();
    let said = "This request is not in the ledger yet: Is a directory";
    assert!(told.len() == 1 && told[0].starts_with(said), "{told:?}");
    assert!(told[0].ends_with("; `ostler cost --rebuild` adds it."), "{told:?}");
    ledger.record(charged("y", 0, Usage::default(), Some(0.01)));
    assert_eq!(ledger.trouble(), [] as [&str; 0]);
    drop(ledger);
    fs::remove_dir(place.file()).unwrap();
    let mut db = Db::open(&place.file()).unwrap();
    db.complete(|_| Ok::<_, ostler_ledger::Error>(())).unwrap();
    assert!(!db.is_incomplete().unwrap());
    drop(db);
    // An old file that knew the past: what it missed stands beside it.
    let away = place.file().with_file_name("away");
    fs::rename(place.file(), &away).unwrap();
    fs::create_dir(place.file()).unwrap();
    let ledger = with_logs(&place.file(), NONE, &read);
    ledger.record(charged("z", 0, Usage::default(), Some(0.01)));
    drop(ledger);
    fs::remove_dir(place.file()).unwrap();
    fs::rename(&away, place.file()).unwrap();
    assert!(Db::open(&place.file()).unwrap().is_incomplete().unwrap());
    assert!(is_refused(&with_logs(&place.file(), LIMITS, &read)));
    assert!(!Db::open(&place.file()).unwrap().is_incomplete().unwrap());
}

/// Files of the format before have reservations of nobody; they run out as they did.
#[test]
fn a_file_of_the_first_format_is_carried_over() {
    let place = Place::new();
    let old = rusqlite::Connection::open(place.file()).unwrap();
    old.execute_batch(include_str!("../../src/schema.sql")).unwrap();
    for column in ["at", "day", "project", "agent"] {
        old.execute_batch(&format!("ALTER TABLE holds DROP COLUMN {column}")).unwrap();
    }
    old.execute_batch(
        "INSERT INTO holds (id, scope, amount, until, session) VALUES ('h', 'day:0000', 0.1, 5, 's');
        PRAGMA user_version = 1",
    )
    .unwrap();
    drop(old);
    let (read, owner) = (Arc::new(AtomicU32::new(0)), Owner::default());
    let mut db = Db::open(&place.file()).unwrap();
    assert!(!db.is_incomplete().unwrap());
    let sum = |db: &mut Db, now| {
        let now = ostler_core::time::Timestamp(now);
        let sum = db.standings(&LIMITS, &owner, "main", "0000", now).unwrap()[0].sum;
        (sum.spent, sum.reserved)
    };
    assert_eq!((sum(&mut db, 5), sum(&mut db, 6)), ((0.0, 0.1), (0.0, 0.0)));
    assert!(!is_refused(&with_logs(&place.file(), LIMITS, &read)));
}
