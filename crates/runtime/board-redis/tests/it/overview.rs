//! One look at a board says the same in a file and on a server.

use crate::board_cases::task;
use crate::place::{LEASE, mail};
use crate::redis_place::{fresh_name, setup};
use crate::redis_server::shared;
use ostler_board::{
    BoardFile, BoardOverview, Limits, MINUTE_MS, NewTask, Setup, SharedBoard, TaskAction,
};
use ostler_board_redis::{Address, RedisBoard, RedisSetup};
use ostler_core::time::{Clock, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone)]
struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

const BEGIN: u64 = 1_000_000_000;

/// Tasks in every status, claims by two workers, mail to two agents.
fn fill(board: &mut dyn SharedBoard, clock: &SetClock) {
    let mut tasks: Vec<NewTask> = (0..9).map(|n| task(&format!("t{n}"))).collect();
    tasks[8].depends_on = vec!["t7".into()];
    board.add(&tasks).unwrap();
    let mut finish = |minutes: u64, worker: &str| {
        clock.0.store(BEGIN + minutes * MINUTE_MS, Ordering::SeqCst);
        let claimed = board.claim(None, worker, LEASE).unwrap().unwrap();
        let done = TaskAction::Finish { fence: claimed.fence, result: None };
        board.act(claimed.id.as_str(), &done).unwrap();
    };
    // Exactly a minute ago is not in the last minute.
    [0, 1, 3, 4, 5, 6].iter().for_each(|minutes| finish(*minutes, "w"));
    clock.0.store(BEGIN + 6 * MINUTE_MS + 1, Ordering::SeqCst);
    board.claim(None, "w2", LEASE).unwrap().unwrap();
    let last = board.claim(None, "w1", LEASE).unwrap().unwrap();
    clock.0.fetch_add(5_000, Ordering::SeqCst);
    board.act("t7", &TaskAction::Renew { fence: last.fence, lease: LEASE }).unwrap();
    for text in ["one", "two", "three"] {
        board.send(&mail("ann", "eve", text)).unwrap();
        clock.0.fetch_add(10, Ordering::SeqCst);
    }
    board.send(&mail("eve", "ann", "four")).unwrap();
    board.receive("eve", LEASE).unwrap().unwrap();
}

fn expected(seen: &BoardOverview) -> serde_json::Value {
    let mut value = serde_json::to_value(seen).unwrap();
    value["board"] = "".into();
    value["server"] = "".into();
    value
}

#[test]
fn a_look_at_a_board_is_the_same_everywhere() {
    let Some(server) = shared() else { return };
    let clock = SetClock(Arc::new(AtomicU64::new(BEGIN)));
    let folder = tempfile::tempdir().unwrap();
    let setup_file = Setup { clock: Arc::new(clock.clone()), limits: Limits::default() };
    let mut file = BoardFile::open(&folder.path().join("board.db"), setup_file).unwrap();
    let address = Address::parse(&server.url(), &fresh_name("board")).unwrap();
    let redis_setup = RedisSetup { clock: Some(Arc::new(clock.clone())), ..setup() };
    let mut redis = RedisBoard::open(&address, redis_setup).unwrap();
    let mut looks = Vec::new();
    for board in [&mut file as &mut dyn SharedBoard, &mut redis] {
        clock.0.store(BEGIN, Ordering::SeqCst);
        fill(board, &clock);
        looks.push(board.overview().unwrap());
    }
    assert_eq!(expected(&looks[0]), expected(&looks[1]));
    let seen = &looks[0];
    let tasks = seen.tasks;
    assert_eq!((tasks.pending, tasks.ready, tasks.in_progress, tasks.done), (1, 0, 2, 6));
    assert_eq!((seen.finished.last_minute, seen.finished.last_5_minutes), (1, 4));
    let names: Vec<&str> = seen.workers.iter().map(|claim| claim.worker.as_str()).collect();
    assert_eq!(names, ["w1", "w2"]);
    let beats: Vec<u64> = seen.workers.iter().map(|claim| claim.heartbeat_ms).collect();
    assert_eq!(beats[0], beats[1] + 5_000, "the renewal is the last heartbeat");
    let mail: Vec<(&str, u64, u64)> =
        seen.mail.iter().map(|one| (one.to.as_str(), one.unread, one.delivered)).collect();
    assert_eq!(mail, [("ann", 1, 0), ("eve", 2, 1)]);
    assert_eq!((looks[0].server.is_none(), looks[1].server.is_some()), (true, true));
}

/// More mail than fits into one page of the server.
#[test]
fn a_long_backlog_is_counted_as_a_whole() {
    let Some(server) = shared() else { return };
    let address = Address::parse(&server.url(), &fresh_name("board")).unwrap();
    let mut board: Box<dyn SharedBoard> = Box::new(RedisBoard::open(&address, setup()).unwrap());
    for n in 0..1_001 {
        board.send(&mail("ann", if n % 2 == 0 { "eve" } else { "bob" }, "x")).unwrap();
    }
    let seen = board.overview().unwrap().mail;
    let seen: Vec<(&str, u64)> = seen.iter().map(|one| (one.to.as_str(), one.unread)).collect();
    assert_eq!(seen, [("bob", 500), ("eve", 501)]);
}
