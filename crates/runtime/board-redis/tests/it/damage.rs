//! An entry that somebody else damaged is set aside and reported. Everything else of the board goes on.

use crate::board_cases::task;
use crate::place::mail;
use crate::redis_place::{fresh_name, setup};
use crate::redis_server::{RedisServer, shared};
use ostler_board::{
    Board, BoardError, Mailbox, NewTask, Refusal, SharedBoard, Status, TaskAction, TaskQuery,
};
use ostler_board_redis::{Address, RedisBoard, RedisSetup};
use ostler_core::time::{Clock, Timestamp};
use redis::cmd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(60);

struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A command on the entry: its name, and the words after the key.
type Damage = (&'static str, &'static [&'static str]);

const OF_A_TASK: &[Damage] = &[
    ("DEL", &[]),
    ("HDEL", &["st"]),
    ("HDEL", &["f"]),
    ("HDEL", &["u"]),
    ("HDEL", &["a"]),
    ("HDEL", &["l"]),
    ("HDEL", &["q"]),
    ("HDEL", &["p"]),
    ("HDEL", &["g"]),
    ("HDEL", &["w"]),
    ("HDEL", &["title"]),
    ("HDEL", &["deps"]),
    ("HDEL", &["touches"]),
    ("HSET", &["st", "done"]),
    ("HSET", &["st", "9"]),
    ("HSET", &["u", "soon"]),
    ("HSET", &["f", "-1"]),
    ("HSET", &["w", "1.5"]),
    ("HSET", &["g", "x y"]),
    ("HSET", &["deps", "{"]),
    ("SET", &["a text"]),
];

struct Ground {
    server: Arc<RedisServer>,
    name: String,
    board: RedisBoard,
    clock: Arc<AtomicU64>,
}

impl Ground {
    fn new() -> Option<Ground> {
        let server = shared()?;
        let name = fresh_name("board");
        let clock = Arc::new(AtomicU64::new(1_000_000));
        let address = Address::parse(&server.url(), &name).unwrap();
        let own: Arc<dyn Clock> = Arc::new(SetClock(clock.clone()));
        let setup = RedisSetup { clock: Some(own), ..setup() };
        let board = RedisBoard::open(&address, setup).unwrap();
        Some(Ground { server, name, board, clock })
    }

    fn damage(&self, key: &str, (command, words): Damage) {
        let key = format!("ostler:{{{}}}:{key}", self.name);
        let mut command = cmd(command);
        command.arg(key).arg(words).exec(&mut self.server.connection()).unwrap();
    }

    fn set_aside(&mut self) -> Vec<String> {
        let seen = self.board.overview().unwrap().damaged;
        let listed = self.board.list(&TaskQuery { statuses: vec![], limit: 10 }).unwrap().damaged;
        assert_eq!(seen, listed);
        assert!(seen.iter().all(|damaged| !damaged.why.is_empty()), "{seen:?}");
        seen.into_iter().map(|damaged| damaged.entry).collect()
    }
}

fn needing(id: &str, needed: &str) -> NewTask {
    NewTask { depends_on: vec![needed.into()], ..task(id) }
}

/// `is_claimed`: its lease ends after the damage, which is when every other call meets it.
fn others_go_on(damage: Damage, is_claimed: bool) {
    let Some(mut ground) = Ground::new() else { return };
    let told = format!("{damage:?}, claimed: {is_claimed}");
    ground.board.add(&[task("a"), needing("b", "a"), task("c"), needing("d", "c")]).unwrap();
    if is_claimed {
        ground.board.claim(Some("a"), "w", LEASE).unwrap().unwrap();
    }
    ground.damage("t:a", damage);
    ground.clock.fetch_add(120_000, Ordering::SeqCst);
    for id in ["c", "d"] {
        let claimed = ground.board.claim(None, "w", LEASE);
        let claimed = claimed.unwrap_or_else(|error| panic!("{told}: {error}")).unwrap();
        assert_eq!(claimed.id.as_str(), id, "{told}");
        let done = TaskAction::Finish { fence: claimed.fence, result: None };
        ground.board.act(id, &done).unwrap();
    }
    assert_eq!(ground.board.claim(None, "w", LEASE).unwrap(), None, "{told}");
    let found = ground.board.list(&TaskQuery { statuses: vec![], limit: 10 }).unwrap();
    let ids: Vec<&str> = found.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["b", "c", "d"], "{told}");
    let blocker = &found.tasks[0].blocked_by[0];
    let damaged_states = [Status::Parked, Status::Pending, Status::InProgress];
    assert!(damaged_states.contains(&blocker.status), "{told}: {blocker:?}");
    assert_eq!(ground.set_aside(), ["task a"], "{told}");
    let refused = ground.board.show("a").unwrap_err();
    let is_named =
        matches!(&refused, BoardError::Refused(Refusal::Damaged { id, .. }) if id == "a");
    assert!(is_named, "{told}: {refused}");
}

#[test]
fn a_damaged_task_stops_no_other_one() {
    for damage in OF_A_TASK {
        others_go_on(*damage, false);
        others_go_on(*damage, true);
    }
}

/// It is met when what it waits for is finished.
#[test]
fn a_damaged_task_does_not_stop_what_it_depends_on() {
    for damage in OF_A_TASK {
        let Some(mut ground) = Ground::new() else { return };
        ground.board.add(&[task("a"), needing("b", "a"), needing("c", "a")]).unwrap();
        ground.damage("t:b", *damage);
        let claimed = ground.board.claim(Some("a"), "w", LEASE).unwrap().unwrap();
        let done = TaskAction::Finish { fence: claimed.fence, result: None };
        ground.board.act("a", &done).unwrap_or_else(|error| panic!("{damage:?}: {error}"));
        let next = ground.board.claim(None, "w", LEASE).unwrap().unwrap();
        assert_eq!(next.id.as_str(), "c", "{damage:?}");
        assert_eq!(ground.set_aside(), ["task b"], "{damage:?}");
    }
}

/// What can still be understood is used: a text in another encoding, globs that are lost, a list of ready tasks with a
/// stranger in it, a history of another type.
#[test]
fn damage_beside_a_task_does_not_stop_it() {
    let Some(mut ground) = Ground::new() else { return };
    let touching = NewTask { touches: vec!["src/**".into()], ..task("a") };
    ground.board.add(&[touching, task("b")]).unwrap();
    let key = format!("ostler:{{{}}}:t:a", ground.name);
    let mut connection = ground.server.connection();
    cmd("HSET").arg(key).arg("title").arg(b"caf\xe9").exec(&mut connection).unwrap();
    ground.damage("globs", ("DEL", &[]));
    ground.damage("h:a", ("SET", &["x"]));
    ground.damage("events", ("DEL", &[]));
    ground.damage("events", ("SET", &["x"]));
    ground.damage("ready", ("ZADD", &["0", "stranger"]));
    let claimed = ground.board.claim(None, "w", LEASE).unwrap().unwrap();
    assert_eq!(claimed.id.as_str(), "a");
    let shown = ground.board.show("a").unwrap();
    assert_eq!((shown.title.as_str(), shown.status), ("caf\u{fffd}", Status::InProgress));
    let done = TaskAction::Finish { fence: claimed.fence, result: None };
    assert_eq!(ground.board.act("a", &done).unwrap().status, Status::Done);
    assert_eq!(ground.board.claim(None, "w", LEASE).unwrap().unwrap().id.as_str(), "b");
    assert_eq!(ground.set_aside(), ["ready stranger"]);
}

#[test]
fn a_damaged_mail_stops_no_other_one() {
    let kinds: &[Damage] = &[
        ("DEL", &[]),
        ("HDEL", &["st"]),
        ("HDEL", &["b"]),
        ("HDEL", &["t"]),
        ("HSET", &["u", "soon"]),
        ("HSET", &["st", "77"]),
        ("SET", &["a text"]),
    ];
    for (damage, is_delivered) in kinds.iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let Some(mut ground) = Ground::new() else { return };
        let told = format!("{damage:?}, delivered: {is_delivered}");
        let first = mail("ann", "eve", "one");
        ground.board.send(&first).unwrap();
        ground.board.send(&mail("ann", "eve", "two")).unwrap();
        if is_delivered {
            ground.board.receive("eve", LEASE).unwrap().unwrap();
        }
        ground.damage(&format!("m:{}", first.id.as_str()), *damage);
        ground.clock.fetch_add(120_000, Ordering::SeqCst);
        ground.board.send(&mail("ann", "eve", "three")).unwrap();
        for text in ["two", "three"] {
            let read = ground.board.receive("eve", LEASE);
            let read = read.unwrap_or_else(|error| panic!("{told}: {error}")).unwrap();
            assert_eq!(read.mail.text, text, "{told}");
        }
        let all = ground.board.peek(&Default::default()).unwrap();
        assert_eq!(all.len(), 2, "{told}: {all:?}");
        let backlog = ground.board.overview().unwrap().mail;
        assert_eq!(backlog.iter().map(|one| one.delivered).sum::<u64>(), 2, "{told}");
        // One that is gone for good is missed only if its turn comes.
        let is_silent = damage.0 == "DEL" && is_delivered;
        let expected = vec![format!("mail {}", first.id.as_str())];
        assert_eq!(ground.set_aside(), if is_silent { Vec::new() } else { expected }, "{told}");
    }
}
