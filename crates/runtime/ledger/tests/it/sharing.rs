//! Sessions of one process that share a ledger: one thread, one connection, and each its own account.

use crate::support::{Place, SetClock, ask, bound, charged, rows_at};
use ostler_core::ledger::Usage;
use ostler_core::ports::Ledger;
use ostler_ledger::{Db, SharedLedger, SharedLimits};
use std::fs;
use std::path::Path;
use std::process::Command;

const LIMITS: SharedLimits = SharedLimits { day: Some(100.0), project: None, agent: None };
const ROLE: &str = "OSTLER_LEDGER_TEST_SHARING";
const SESSIONS: usize = 200;

fn threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    tasks.filter_map(name).filter(|name| name.trim() == "ledger").count()
}

/// Descriptors of the file itself, and of all that belongs to it.
fn descriptors(path: &Path) -> (usize, usize) {
    let fds = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets: Vec<_> = fds.filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
    let of_file = targets.iter().filter(|target| *target == path).count();
    let prefix = path.to_str().unwrap();
    let all = targets.iter().filter(|target| target.to_string_lossy().starts_with(prefix)).count();
    (of_file, all)
}

/// Does nothing unless another test started it as a process, where nobody else has threads.
#[test]
fn a_process_with_many_sessions() {
    let Ok(path) = std::env::var(ROLE) else { return };
    let path = Path::new(&path);
    let shared = SharedLedger::new(path, SetClock::at(0));
    let ledgers: Vec<_> = (0..SESSIONS).map(|n| bound(&shared, &format!("s{n}"), LIMITS)).collect();
    for (n, ledger) in ledgers.iter().enumerate() {
        let id = format!("r{n}");
        assert!(ledger.reserve(&id, "main", &ask(100)).unwrap().holds());
        ledger.record(charged(&id, 0, Usage::default(), Some(0.01)));
    }
    assert_eq!(ledgers[7].trouble(), [] as [&str; 0]);
    assert_eq!(threads(), 1, "threads that write");
    let (of_file, all) = descriptors(path);
    assert_eq!(of_file, 1, "connections");
    assert!(all <= 3, "{all} descriptors: the file, its log and the index of the log");
    // Without the maker, too, the last one ends it.
    drop(shared);
    drop(ledgers);
    assert_eq!((threads(), descriptors(path)), (0, (0, 0)));
}

#[test]
fn two_hundred_sessions_take_one_thread_and_one_connection() {
    let place = Place::new();
    let path = place.file().parent().unwrap().canonicalize().unwrap().join("ledger.db");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sharing::a_process_with_many_sessions", "--test-threads", "1"])
        .env(ROLE, &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let rows = rows_at(&path);
    assert_eq!(rows.len(), SESSIONS);
    let belongs = |row: &ostler_ledger::LedgerRow| row.session[1..] == row.charged.charge.id[1..];
    assert!(rows.iter().all(belongs), "each row is its own session's");
    assert_eq!(Db::open(&path).unwrap().unsettled().unwrap(), [] as [&str; 0]);
}

#[test]
fn a_session_that_ends_is_settled_and_the_others_are_not() {
    let place = Place::new();
    let shared = SharedLedger::new(place.file(), SetClock::at(0));
    let (first, second) = (bound(&shared, "first", LIMITS), bound(&shared, "second", LIMITS));
    first.record(charged("a", 0, Usage::default(), Some(0.01)));
    second.record(charged("b", 0, Usage::default(), Some(0.02)));
    let unsettled = || Db::open(&place.file()).unwrap().unsettled().unwrap();
    first.flush();
    assert_eq!(unsettled(), ["first", "second"]);
    drop(first);
    assert_eq!(unsettled(), ["second"]);
    assert_eq!(place.rows().len(), 2, "what it told is written");
    // One that comes later finds everything in use.
    let third = bound(&shared, "third", LIMITS);
    assert!(third.reserve("c", "main", &ask(100)).unwrap().holds());
    drop((second, third));
    assert_eq!(unsettled(), [] as [&str; 0]);
}

/// Where a directory stands nothing can be written. Each session is told about its own row, and only about that.
#[test]
fn each_session_hears_of_its_own_trouble() {
    let place = Place::new();
    fs::create_dir(place.file()).unwrap();
    let shared = SharedLedger::new(place.file(), SetClock::at(0));
    let none = SharedLimits::default();
    let (one, other, idle) =
        (bound(&shared, "one", none), bound(&shared, "other", none), bound(&shared, "idle", none));
    one.record(charged("a", 0, Usage::default(), Some(0.01)));
    other.record(charged("b", 0, Usage::default(), Some(0.01)));
    for ledger in [&one, &other] {
        let told = ledger.trouble();
        assert!(told.len() == 1 && told[0].contains("not in the ledger yet"), "{told:?}");
    }
    assert_eq!(idle.trouble(), [] as [&str; 0]);
    // The disk is repaired: what waited is written with the next row.
    fs::remove_dir(place.file()).unwrap();
    idle.record(charged("c", 0, Usage::default(), Some(0.01)));
    idle.flush();
    assert_eq!(place.rows().len(), 3);
}
