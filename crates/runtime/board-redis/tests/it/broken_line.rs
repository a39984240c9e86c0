//! The server performs a request, but its answer is lost: the request is sent again and happens once (row E14 of the fault
//! corpus).

use crate::board_cases::task;
use crate::place::{LEASE, mail};
use crate::redis_place::open;
use crate::redis_server::RedisServer;
use ostler_board::{
    AgentChange, Board, MailQuery, Mailbox, NewTask, Outcome, Status, TaskAction, TaskQuery,
};
use ostler_board_redis::RedisBoard;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

/// Stands between client and server, and loses an answer when told to. It can lead to another server from then on.
pub struct Line {
    pub port: u16,
    target: Arc<AtomicU16>,
    loses_next: Arc<AtomicBool>,
    lost: Arc<AtomicU64>,
}

impl Line {
    pub fn to(server: u16) -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let loses_next = Arc::new(AtomicBool::new(false));
        let lost = Arc::new(AtomicU64::new(0));
        let target = Arc::new(AtomicU16::new(server));
        let line = Line {
            port,
            target: target.clone(),
            loses_next: loses_next.clone(),
            lost: lost.clone(),
        };
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", target.load(Ordering::SeqCst)));
                // Whoever comes while nobody listens there is turned away.
                let Ok(server) = server else { continue };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass_on(from, to, |_| true));
                let (loses_next, lost) = (loses_next.clone(), lost.clone());
                std::thread::spawn(move || {
                    pass_on(server, client, |_| {
                        let loses = loses_next.swap(false, Ordering::SeqCst);
                        lost.fetch_add(u64::from(loses), Ordering::SeqCst);
                        !loses
                    });
                });
            }
        });
        line
    }

    /// New connections lead to this server.
    pub fn lead_to(&self, server: u16) {
        self.target.store(server, Ordering::SeqCst);
    }

    /// Loses the answer to this.
    fn lose<T>(&self, act: impl FnOnce() -> T) -> T {
        let before = self.lost.load(Ordering::SeqCst);
        self.loses_next.store(true, Ordering::SeqCst);
        let result = act();
        assert_eq!(self.lost.load(Ordering::SeqCst), before + 1, "the answer was not lost");
        result
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, mut goes_on: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !goes_on(&buffer[..length]) || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn opened() -> Option<(RedisServer, Line, RedisBoard)> {
    let server = RedisServer::start(&[])?;
    let line = Line::to(server.port);
    let board = open(&format!("redis://127.0.0.1:{}", line.port), "b");
    Some((server, line, board))
}

#[test]
fn changes_of_tasks_happen_once() {
    let Some((_server, line, mut board)) = opened() else { return };
    let tasks: Vec<NewTask> = ["a", "b", "c"].map(task).to_vec();
    line.lose(|| board.add(&tasks)).unwrap();
    assert_eq!(board.list(&TaskQuery::default()).unwrap().total, 3);
    let claimed = line.lose(|| board.claim(None, "w", LEASE)).unwrap().unwrap();
    assert_eq!((claimed.id.as_str(), claimed.fence), ("a", 1));
    let in_progress = TaskQuery { statuses: vec![Status::InProgress], limit: 9 };
    assert_eq!(board.list(&in_progress).unwrap().total, 1, "one claim");
    let named = line.lose(|| board.claim(Some("b"), "w", LEASE)).unwrap().unwrap();
    assert_eq!(named.fence, 2);
    let finish = TaskAction::Finish { fence: claimed.fence, result: Some("ok".into()) };
    let done = line.lose(|| board.act("a", &finish)).unwrap();
    assert_eq!((done.status, done.history.len()), (Status::Done, 3));
    let cancel = TaskAction::Cancel { reason: Some("no".into()) };
    assert_eq!(line.lose(|| board.act("b", &cancel)).unwrap().status, Status::Cancelled);
    let retried = line.lose(|| board.act("b", &TaskAction::Retry)).unwrap();
    assert_eq!((retried.status, retried.history.len()), (Status::Pending, 4));
    // A later request of the same client is not mistaken for the last one.
    assert_eq!(board.claim(None, "w", LEASE).unwrap().unwrap().fence, 3);
    assert_eq!(line.lose(|| board.claim(None, "w", LEASE)).unwrap().unwrap().fence, 4);
    assert_eq!(line.lose(|| board.claim(None, "w", LEASE)).unwrap(), None);
}

#[test]
fn mail_is_sent_delivered_and_settled_once() {
    let Some((_server, line, mut board)) = opened() else { return };
    let first = line.lose(|| board.send(&mail("ann", "eve", "one"))).unwrap();
    assert_eq!((first.seq, first.lag.behind), (1, 1));
    board.send(&mail("ann", "eve", "two")).unwrap();
    let delivery = line.lose(|| board.receive("eve", LEASE)).unwrap().unwrap();
    assert_eq!((delivery.mail.text.as_str(), delivery.mail.deliveries), ("one", 1));
    line.lose(|| board.settle(&delivery, &Outcome::Failed { why: "?".into() })).unwrap();
    let delivery = board.receive("eve", LEASE).unwrap().unwrap();
    assert_eq!((delivery.mail.text.as_str(), delivery.mail.deliveries), ("one", 2));
    line.lose(|| board.settle(&delivery, &Outcome::Replied { text: "re".into() })).unwrap();
    let to_ann = MailQuery { to: Some("ann".into()), ..MailQuery::default() };
    assert_eq!(board.peek(&to_ann).unwrap().len(), 1);
    line.lose(|| board.set_agent("eve", &AgentChange::Finished)).unwrap();
    let seen = line.lose(|| board.peek(&to_ann)).unwrap();
    assert_eq!(seen.len(), 2, "the reply, and one notice: {seen:?}");
}
