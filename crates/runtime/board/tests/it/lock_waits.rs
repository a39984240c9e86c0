//! Whoever waits for other processes acts when its turn has come, not when it began to wait.

use crate::board_cases::task;
use crate::place::{LEASE, mail, open_file};
use ostler_board::{Board, Mailbox, Outcome, TaskAction};
use ostler_core::time::{Clock, Timestamp};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A second passes whenever somebody asks; remembers what it said to those who kept everybody else from writing.
struct LockClock {
    path: PathBuf,
    now: AtomicU64,
    told_inside: AtomicU64,
}

impl Clock for LockClock {
    fn now(&self) -> Timestamp {
        let now = self.now.fetch_add(1_000, Ordering::SeqCst);
        let other = Connection::open(&self.path).unwrap();
        other.busy_timeout(std::time::Duration::ZERO).unwrap();
        if other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err() {
            self.told_inside.store(now, Ordering::SeqCst);
        }
        Timestamp(now)
    }
}

#[test]
fn time_is_taken_inside_the_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.db");
    let clock = Arc::new(LockClock {
        path: path.clone(),
        now: AtomicU64::new(1_000_000),
        told_inside: AtomicU64::new(0),
    });
    let inside = || clock.told_inside.load(Ordering::SeqCst);
    let lease = u64::try_from(LEASE.as_millis()).unwrap();
    let mut board = open_file(&path, clock.clone());
    board.add(&[task("a")]).unwrap();
    assert_eq!(board.show("a").unwrap().created_ms, inside());
    let claimed = board.claim(None, "w", LEASE).unwrap().unwrap();
    assert_eq!(claimed.lease_until, inside() + lease);
    let renew = TaskAction::Renew { fence: claimed.fence, lease: LEASE };
    assert_eq!(board.act("a", &renew).unwrap().lease_until, Some(inside() + lease));
    let finish = TaskAction::Finish { fence: claimed.fence, result: None };
    assert_eq!(board.act("a", &finish).unwrap().changed_ms, inside());
    board.send(&mail("ann", "eve", "x")).unwrap();
    let sent = inside();
    let delivery = board.receive("eve", LEASE).unwrap().unwrap();
    assert_eq!((delivery.mail.sent_ms, delivery.age_ms), (sent, inside() - sent));
    board.settle(&delivery, &Outcome::Replied { text: "y".into() }).unwrap();
    let settled = inside();
    assert_eq!(board.receive("ann", LEASE).unwrap().unwrap().mail.sent_ms, settled);
}
