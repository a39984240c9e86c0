//! Claims: leases, fences, and workers that die.

use crate::board_cases::{claim, claim_id, finish, refusal, task, touching};
use crate::place::{LEASE, Place};
use ostler_board::{Limits, Refusal, Status, TaskAction, TaskEvent};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn done(fence: u64) -> TaskAction {
    TaskAction::Finish { fence, result: Some("ok".into()) }
}

fn failed(fence: u64) -> TaskAction {
    TaskAction::Fail { fence, error: "bad".into() }
}

fn renewed(fence: u64) -> TaskAction {
    TaskAction::Renew { fence, lease: LEASE }
}

pub fn fences_only_grow(place: &Place) {
    let mut board = place.open();
    board.add(&[task("a"), task("b")]).unwrap();
    let mut last = 0;
    for round in 0..4 {
        for id in ["a", "b"] {
            let claimed = place.open().claim(Some(id), "worker", LEASE).unwrap().unwrap();
            assert!(claimed.fence > last, "{} after {last}", claimed.fence);
            last = claimed.fence;
            assert_eq!(claimed.lease_until, place.now() + 60_000);
            let shown = board.show(id).unwrap();
            assert_eq!((shown.fence, shown.lease_until), (Some(last), Some(claimed.lease_until)));
            assert_eq!((shown.attempt, shown.status), (round + 1, Status::InProgress));
            match round {
                0 => drop(board.act(id, &failed(last)).unwrap()),
                1 => drop(board.act(id, &TaskAction::Cancel { reason: None }).unwrap()),
                _ => {
                    place.pass(LEASE);
                    assert_eq!(board.show(id).unwrap().status, Status::Pending);
                }
            }
            if round < 2 {
                board.act(id, &TaskAction::Retry).unwrap();
            }
        }
    }
}

pub fn an_expired_lease_returns_the_task(place: &Place) {
    let mut board = place.open();
    board.add(&[touching("a", &["x"]), touching("b", &["x"])]).unwrap();
    let first = claim(&mut *board).unwrap();
    place.pass(LEASE.checked_sub(Duration::from_millis(1)).unwrap());
    assert_eq!(claim(&mut *place.open()), None, "until the last moment");
    assert_eq!(board.show("a").unwrap().status, Status::InProgress);
    place.pass(Duration::from_millis(1));
    let shown = place.open().show("a").unwrap();
    assert_eq!((shown.status, shown.claimed_by, shown.lease_until), (Status::Pending, None, None));
    let second = claim(&mut *place.open()).unwrap();
    assert_eq!(second.id, first.id);
    assert!(second.fence > first.fence);
    finish(&mut *board, &second);
    assert_eq!(board.show("a").unwrap().attempt, 2);
}

pub fn a_renewed_lease_is_kept(place: &Place) {
    let mut board = place.open();
    board.add(&[task("a")]).unwrap();
    let claimed = claim(&mut *board).unwrap();
    for _ in 0..3 {
        place.pass(LEASE - SECOND);
        let until = board.act("a", &renewed(claimed.fence)).unwrap().lease_until;
        assert_eq!(until, Some(place.now() + 60_000));
    }
    // A shorter lease takes nothing away.
    let short = TaskAction::Renew { fence: claimed.fence, lease: SECOND };
    assert_eq!(board.act("a", &short).unwrap().lease_until, Some(place.now() + 60_000));
    assert_eq!(claim(&mut *place.open()), None);
    finish(&mut *board, &claimed);
    assert!(board.act("a", &renewed(claimed.fence)).is_err(), "it is over");
}

pub fn a_stale_worker_is_refused(place: &Place) {
    let mut board = place.open();
    board.add(&[task("a"), task("b")]).unwrap();
    let first = board.claim(Some("a"), "slow", LEASE).unwrap().unwrap();
    let other = board.claim(Some("b"), "other", LEASE).unwrap().unwrap();
    let actions = |fence: u64| [renewed(fence), done(fence), failed(fence)];
    let refuse = |id: &str, fence: u64| {
        for action in actions(fence) {
            let why = refusal(place.open().act(id, &action));
            assert!(matches!(why, Refusal::Stale { .. } | Refusal::Status { .. }), "{why}");
        }
    };
    refuse("a", other.fence);
    refuse("a", 0);
    refuse("a", other.fence + 1);
    // Nobody has taken it yet, but the lease is over: its worker is late either way.
    place.pass(LEASE);
    refuse("a", first.fence);
    let second = board.claim(Some("a"), "quick", LEASE).unwrap().unwrap();
    refuse("a", first.fence);
    let shown = board.show("a").unwrap();
    assert_eq!((shown.status, shown.claimed_by.as_deref()), (Status::InProgress, Some("quick")));
    assert_eq!(board.act("a", &done(second.fence)).unwrap().status, Status::Done);
    refuse("a", first.fence);
    assert_eq!(board.show("a").unwrap().result.as_deref(), Some("ok"));
}

pub fn a_repeated_report_changes_nothing(place: &Place) {
    let mut board = place.open();
    board.add(&[task("a"), task("b")]).unwrap();
    let (a, b) = (claim(&mut *board).unwrap(), claim(&mut *board).unwrap());
    let first = board.act("a", &done(a.fence)).unwrap();
    place.pass(LEASE * 2);
    let other = TaskAction::Finish { fence: a.fence, result: Some("something else".into()) };
    assert_eq!(board.act("a", &other).unwrap(), first, "the first report counts");
    assert!(board.act("a", &failed(a.fence)).is_err(), "done cannot fail");
    assert!(board.act("b", &done(b.fence)).is_err(), "late");
    let b = claim(&mut *board).unwrap();
    let first = board.act("b", &failed(b.fence)).unwrap();
    assert_eq!(board.act("b", &failed(b.fence)).unwrap(), first);
    let cancel = TaskAction::Cancel { reason: Some("enough".into()) };
    let first = board.act("b", &cancel).unwrap();
    assert_eq!(board.act("b", &cancel).unwrap(), first);
}

pub fn a_task_that_loses_its_workers_is_parked(place: &Place) {
    let mut board = place.open();
    board.add(&[task("deadly")]).unwrap();
    for worker in ["one", "two", "three"] {
        let claimed = board.claim(None, worker, LEASE).unwrap().unwrap();
        assert_eq!(claimed.id.as_str(), "deadly");
        place.pass(LEASE);
    }
    assert_eq!(claim(&mut *board), None);
    let shown = board.show("deadly").unwrap();
    assert_eq!(shown.status, Status::Parked);
    let reason = shown.error.unwrap();
    assert!(reason.contains("3 workers in a row") && reason.contains("three"), "{reason}");
    assert_eq!(board.act("deadly", &TaskAction::Retry).unwrap().status, Status::Pending);
    // Somebody who lives long enough to report ends the row.
    board.claim(None, "four", LEASE).unwrap().unwrap();
    place.pass(LEASE);
    let claimed = claim(&mut *board).unwrap();
    board.act("deadly", &failed(claimed.fence)).unwrap();
    board.act("deadly", &TaskAction::Retry).unwrap();
    for _ in 0..2 {
        assert_eq!(claim_id(&mut *board).as_deref(), Some("deadly"));
        place.pass(LEASE);
    }
    assert_eq!(board.show("deadly").unwrap().status, Status::Pending);
}

/// G07: whoever stops gives its work back, in one step, and nobody can do that for another.
pub fn a_returned_task_can_be_claimed_at_once(place: &Place) {
    let mut board = place.open();
    board.add(&[touching("a", &["x"]), touching("b", &["x"])]).unwrap();
    let first = claim(&mut *board).unwrap();
    let give_back = |fence| TaskAction::Return { fence, reason: "stopped".into() };
    assert!(board.act("a", &give_back(first.fence + 1)).is_err());
    assert!(board.act("a", &give_back(0)).is_err());
    assert_eq!(board.show("a").unwrap().status, Status::InProgress);
    let shown = place.open().act("a", &give_back(first.fence)).unwrap();
    assert_eq!((shown.status, shown.error), (Status::Pending, None));
    let returned = TaskEvent::Returned { fence: first.fence, reason: "stopped".into() };
    assert_eq!(shown.history.last().unwrap().event, returned);
    let again = board.act("a", &give_back(first.fence)).unwrap();
    assert_eq!(again.history.len(), shown.history.len(), "told twice, done once");
    for action in [renewed(first.fence), done(first.fence), failed(first.fence)] {
        assert!(board.act("a", &action).is_err());
    }
    let second = claim(&mut *board).unwrap();
    assert_eq!((second.id.0.as_str(), second.fence > first.fence), ("a", true));
    assert!(board.act("a", &give_back(first.fence)).is_err(), "it is another's now");
    board.act("a", &done(second.fence)).unwrap();
    assert!(board.act("a", &give_back(second.fence)).is_err(), "done is done");
}

pub fn a_cancelled_claim_is_over(place: &Place) {
    let mut board = place.open();
    board.add(&[touching("a", &["x"]), touching("b", &["x"])]).unwrap();
    let claimed = claim(&mut *board).unwrap();
    let cancel = TaskAction::Cancel { reason: Some("wrong idea".into()) };
    let shown = place.open().act("a", &cancel).unwrap();
    assert_eq!((shown.status, shown.error.as_deref()), (Status::Cancelled, Some("wrong idea")));
    for action in [renewed(claimed.fence), done(claimed.fence), failed(claimed.fence)] {
        assert!(board.act("a", &action).is_err());
    }
    assert_eq!(claim_id(&mut *board).as_deref(), Some("b"), "its files are free again");
}

pub fn the_history_tells_everything_and_is_limited(place: &Place) {
    let mut board = place.open_with(Limits { history: 8, ..Limits::default() });
    board.add(&[task("a")]).unwrap();
    let added = place.now();
    let first = claim(&mut *board).unwrap();
    place.pass(LEASE);
    let second = claim(&mut *board).unwrap();
    board.act("a", &renewed(second.fence)).unwrap();
    board.act("a", &failed(second.fence)).unwrap();
    board.act("a", &TaskAction::Retry).unwrap();
    board.act("a", &TaskAction::Cancel { reason: None }).unwrap();
    let history = board.show("a").unwrap().history;
    let worker = || "worker".to_owned();
    let expected = [
        TaskEvent::Added,
        TaskEvent::Claimed { worker: worker(), fence: first.fence },
        TaskEvent::LeaseExpired { worker: worker(), fence: first.fence },
        TaskEvent::Claimed { worker: worker(), fence: second.fence },
        TaskEvent::Failed { fence: second.fence, error: "bad".into() },
        TaskEvent::Retried,
        TaskEvent::Cancelled { reason: None },
    ];
    let events: Vec<TaskEvent> = history.iter().map(|entry| entry.event.clone()).collect();
    assert_eq!(events, expected);
    assert_eq!((history[0].at_ms, history[3].at_ms), (added, added + 60_000));
    for _ in 0..10 {
        board.act("a", &TaskAction::Retry).unwrap();
        board.act("a", &TaskAction::Cancel { reason: None }).unwrap();
    }
    let history = board.show("a").unwrap().history;
    assert_eq!((history.len(), &history[0].event), (8, &TaskEvent::Added));
    assert_eq!(history[7].event, TaskEvent::Cancelled { reason: None });
}
