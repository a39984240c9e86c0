//! Servers that restart, forget everything, or never come back; readers that die. Rows of the fault corpus are named by
//! their number.

use crate::board_cases::task;
use crate::child;
use crate::claim_races::{claim_as_told, race};
use crate::place::{LEASE, mail};
use crate::redis_place::{fresh_name, open, setup};
use crate::redis_server::{RedisServer, free_port};
use ostler_board::{
    Board, BoardError, MailQuery, Mailbox, NewTask, Outcome, SharedBoard, Status, TaskAction,
    TaskEvent, TaskQuery,
};
use ostler_board_redis::{Address, RedisBoard, RedisSetup};
use ostler_core::time::{Clock, Timestamp};
use redis::{Value, cmd};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

const DURABLE: &[&str] = &["--appendonly", "yes", "--appendfsync", "always"];
/// Longer than any test may take: what does not come back hangs.
const LONG: Duration = Duration::from_secs(600);

fn patient(server: &RedisServer, board: &str) -> RedisBoard {
    let address = Address::parse(&server.url(), board).unwrap();
    RedisBoard::open(&address, RedisSetup { patience: LONG, ..setup() }).unwrap()
}

#[track_caller]
fn line(error: BoardError) -> String {
    let line = error.to_string();
    assert!(matches!(error, BoardError::Server { .. }), "{line}");
    assert!(line.contains("127.0.0.1") && !line.contains('\n'), "{line}");
    line
}

/// E02. Workers and a mail client go on while the server is killed twice. A claim whose answer was lost is not lost: with its
/// long lease, nobody else could do the task.
#[test]
fn a_restart_with_aof_loses_nothing_and_repeats_nothing() {
    const TASKS: usize = 150;
    const MAILS: u64 = 40;
    let Some(server) = RedisServer::start(DURABLE) else { return };
    let tasks: Vec<NewTask> = (0..TASKS).map(|n| task(&format!("t{n}"))).collect();
    patient(&server, "b").add(&tasks).unwrap();
    let (told, progress) = mpsc::channel();
    std::thread::scope(|scope| {
        for n in 0..3 {
            let (told, server) = (told.clone(), &server);
            scope.spawn(move || {
                let mut board = patient(server, "b");
                while let Some(claimed) = board.claim(None, &format!("w{n}"), LONG).unwrap() {
                    let done = TaskAction::Finish { fence: claimed.fence, result: None };
                    board.act(claimed.id.as_str(), &done).unwrap();
                    told.send(claimed.id).unwrap();
                }
            });
        }
        let sender = &server;
        scope.spawn(move || {
            let mut mailbox = patient(sender, "b");
            for n in 1..=MAILS {
                assert_eq!(mailbox.send(&mail("ann", "eve", n.to_string())).unwrap().seq, n);
                let delivery = mailbox.receive("eve", LONG).unwrap().unwrap();
                assert_eq!(delivery.mail.text, n.to_string());
                mailbox.settle(&delivery, &Outcome::Handled).unwrap();
            }
        });
        drop(told);
        let mut done = HashSet::new();
        for id in progress {
            assert!(done.insert(id.0), "done twice");
            if done.len() == 40 || done.len() == 90 {
                server.kill();
                server.start_again();
            }
        }
        assert_eq!(done.len(), TASKS);
    });
    let mut board = patient(&server, "b");
    for task in board.list(&TaskQuery::default()).unwrap().tasks {
        assert_eq!((task.status, task.attempt), (Status::Done, 1));
        let history = board.show(task.id.as_str()).unwrap().history;
        assert_eq!(history.len(), 3, "{history:?}");
        assert!(matches!(history[2].event, TaskEvent::Finished { .. }));
    }
    let query = MailQuery { with_archive: true, ..MailQuery::default() };
    assert_eq!(board.peek(&query).unwrap().len() as u64, MAILS);
    assert_eq!(board.lag("ann", "eve").unwrap().behind, 0);
}

/// E03.
#[test]
fn a_server_that_forgot_the_board_is_noticed() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = patient(&server, "b");
    board.add(&[task("a")]).unwrap();
    let claimed = board.claim(None, "w", LEASE).unwrap().unwrap();
    server.kill();
    server.start_again();
    let done = TaskAction::Finish { fence: claimed.fence, result: None };
    assert!(line(board.act("a", &done).unwrap_err()).contains("has lost this board"));
    // Somebody else opens an empty board there: it is another one.
    open(&server.url(), "b").add(&[task("a")]).unwrap();
    assert!(
        line(board.send(&mail("ann", "eve", "x")).unwrap_err()).contains("has lost this board")
    );
    assert_eq!(open(&server.url(), "b").peek(&MailQuery::default()).unwrap(), []);
}

/// E02, when it never comes back: after the limit, a clear stop.
#[test]
fn a_server_that_is_away_is_named() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let address = Address::parse(&server.url(), "b").unwrap();
    let patience = Duration::from_millis(1);
    let mut board = RedisBoard::open(&address, RedisSetup { patience, ..setup() }).unwrap();
    server.kill();
    assert!(line(board.next().unwrap_err()).contains("connection refused"));
    server.start_again();
    assert!(line(board.next().unwrap_err()).contains("has lost this board"));
    let nowhere = Address::parse(&format!("redis://127.0.0.1:{}", free_port()), "b").unwrap();
    let failed = RedisBoard::open(&nowhere, setup()).map(drop).unwrap_err();
    assert!(line(failed).contains("connection refused"));
}

struct FixedClock(u64);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0)
    }
}

fn at(url: &str, now: u64) -> RedisBoard {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(now));
    let address = Address::parse(url, "b").unwrap();
    RedisBoard::open(&address, RedisSetup { clock: Some(clock), ..setup() }).unwrap()
}

/// Takes a mail and a task, and then waits for its death.
#[test]
fn child_takes_and_waits() {
    if child::folder().is_none() {
        return;
    }
    let mut board = at(&child::argument(), 1_000_000);
    let delivery = board.receive("eve", LEASE).unwrap().unwrap();
    let claimed = board.claim(None, "child", LEASE).unwrap().unwrap();
    child::say(format!("{} {}", delivery.mail.text, claimed.fence));
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// E05.
#[test]
fn what_a_killed_process_had_in_hand_comes_again() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = at(&server.url(), 1_000_000);
    board.add(&[task("a")]).unwrap();
    let sent = board.send(&mail("ann", "eve", "hello")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut dying = child::start("outages::child_takes_and_waits", folder.path(), &server.url());
    assert_eq!(child::words(&mut dying).next().as_deref(), Some("hello 1"));
    dying.kill().unwrap();
    dying.wait().unwrap();
    assert_eq!(board.receive("eve", LEASE).unwrap(), None, "its lease runs");
    let mut later = at(&server.url(), 1_060_000);
    let again = later.receive("eve", LEASE).unwrap().unwrap();
    assert_eq!((again.mail.id.clone(), again.mail.deliveries), (sent.id, 2));
    later.settle(&again, &Outcome::Replied { text: "hi".into() }).unwrap();
    assert_eq!(later.receive("ann", LEASE).unwrap().unwrap().mail.text, "hi");
    assert_eq!(later.claim(None, "heir", LEASE).unwrap().unwrap().fence, 2);
    // The group of the stream knows the same: nothing is pending.
    let mut pending = cmd("XPENDING");
    pending.arg("ostler:{b}:box:eve").arg("readers");
    let pending: Vec<Value> = pending.query(&mut server.connection()).unwrap();
    assert_eq!(pending[0], Value::Int(0));
}

#[test]
fn child_races() {
    if child::folder().is_some() {
        claim_as_told(&mut open(&child::argument(), "b"));
    }
}

#[test]
fn of_programs_that_claim_at_once_exactly_one_wins() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut board, url) = (open(&server.url(), "b"), server.url());
    println!("{}", race(&mut board, "outages::child_races", folder.path(), &url));
}

#[test]
fn whoever_waits_is_woken() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = open(&server.url(), "b");
    let bell = board.bell();
    let wait = |ticket, act: &mut dyn FnMut()| {
        act();
        // Without a message this goes on for ever.
        while bell.ticket() == ticket {
            bell.wait(ticket, LONG);
        }
        bell.ticket()
    };
    // It says when it has begun to listen.
    let first = wait(ostler_board::Bell::on_a_server(|_| Box::new(())).ticket(), &mut || {});
    let mut other = open(&server.url(), "b");
    let second = wait(first, &mut || drop(other.send(&mail("ann", "eve", "x")).unwrap()));
    let third = wait(second, &mut || drop(board.add(&[task("a")]).unwrap()));
    wait(third, &mut || drop(other.claim(None, "w", LEASE).unwrap().unwrap()));
}

/// E09. What another program puts into a mailbox, or takes away, does not stop the others.
#[test]
fn a_damaged_mail_is_set_aside() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let mut board = open(&server.url(), "b");
    let ids: Vec<String> = ["one", "two", "three"]
        .map(|text| board.send(&mail("ann", "eve", text)).unwrap().id.0)
        .to_vec();
    let mut connection = server.connection();
    cmd("DEL").arg(format!("ostler:{{b}}:m:{}", ids[0])).exec(&mut connection).unwrap();
    let stream = "ostler:{b}:box:eve";
    cmd("XADD").arg(stream).arg("900-1").arg("junk").arg("x").exec(&mut connection).unwrap();
    for expected in ["two", "three"] {
        assert_eq!(board.receive("eve", LEASE).unwrap().unwrap().mail.text, expected);
    }
    assert_eq!(board.receive("eve", LEASE).unwrap(), None);
    let damaged = board.overview().unwrap().damaged;
    let mut aside: Vec<String> = damaged.into_iter().map(|one| one.entry).collect();
    aside.sort();
    let mut expected = [format!("mail {}", ids[0]), "mail entry 900-1 for eve".to_owned()];
    expected.sort();
    assert_eq!(aside, expected);
}

/// E16 and E17. Agents with strange names are a case of the suite (`strange_names_do_not_mix`).
#[test]
fn boards_and_databases_of_one_server_are_separate() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let names = ["a", "A", "a:b", "{a}", "a*", "ä", "a b"].map(fresh_name);
    let urls = ["", "/1", "?prefix=x", "?prefix=x:{y}"].map(|end| server.url() + end);
    let all = || urls.iter().flat_map(|url| names.iter().map(move |name| (url, name)));
    for (url, name) in all() {
        let mut board = open(url, name);
        assert_eq!(board.list(&TaskQuery::default()).unwrap().total, 0, "{url} {name}");
        board.add(&[task("a")]).unwrap();
        board.send(&mail("ann", "eve", "x")).unwrap();
    }
    for (url, name) in all() {
        let mut board = open(url, name);
        assert_eq!(board.list(&TaskQuery::default()).unwrap().total, 1);
        assert_eq!(board.peek(&MailQuery::default()).unwrap().len(), 1);
    }
    // The name can be part of the address.
    let mut named = open(&format!("{}?board=other%20name", server.url()), "a");
    assert_eq!(named.list(&TaskQuery::default()).unwrap().total, 0);
}
