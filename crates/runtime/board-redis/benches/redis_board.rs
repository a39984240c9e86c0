//! How many tasks processes can claim from a board in Redis, how long a claim takes, and how soon a mail is noticed.
//!
//! `cargo bench -p ostler-board-redis` starts a server of its own (`redis-server` must be installed) and makes a board with
//! 100 000 tasks, once with a log that is synced every second (the default of Redis with AOF) and once with one that is
//! synced before each answer. Targets: 10 000 claims per second with 8 processes, 99 of 100 within 20 ms; mail p50 2 ms, p99
//! 10 ms, 5 000 per second. Beside it, Redis pub/sub with a reader that is absent for a moment.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used, clippy::panic)]

#[path = "../../board/benches/frame/mod.rs"]
mod frame;
#[path = "../tests/it/redis_server.rs"]
mod redis_server;

use frame::{numbers, percentiles, since_epoch, start, together};
use ostler_board::{
    Board, MailId, Mailbox, NewMail, NewTask, Outcome, SharedBoard, TaskAction, TaskId,
};
use ostler_board_redis::{Address, RedisBoard, RedisSetup};
use redis::cmd;
use redis_server::RedisServer;
use std::io::Write;
use std::time::{Duration, Instant};

const TASKS: usize = 100_000;
const PROCESSES: usize = 8;
const CONNECTIONS: usize = 4;
/// Of each process, when many claim at the same time.
const CROWD: usize = 16;
const CLAIMS: usize = 5_000;
const FINISHES: usize = 1_000;
const MAILS: usize = 500;
const BURST: usize = 2_000;
const LEASE: Duration = Duration::from_secs(3600);

fn open(url: &str) -> RedisBoard {
    let client = format!("{}-{:?}", std::process::id(), Instant::now());
    let address = Address::parse(url, "bench").unwrap();
    RedisBoard::open(&address, RedisSetup::new(client)).unwrap()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, mode @ ("claim" | "crowd"), url] => {
            let connections = if mode == "crowd" { CROWD } else { CONNECTIONS };
            return measured(url, connections, CLAIMS, |board, _| {
                drop(board.claim(None, "worker", LEASE).unwrap().unwrap());
            });
        }
        [_, "send", url] => {
            let me = std::process::id();
            return measured(url, CONNECTIONS, BURST, |board, n| {
                let to = format!("nobody{me}");
                drop(board.send(&mail(&format!("{me}-{n}"), &to)).unwrap());
            });
        }
        [_, "finish", url] => {
            return measured(url, CONNECTIONS, FINISHES, |board, _| {
                let claimed = board.claim(None, "worker", LEASE).unwrap().unwrap();
                let done = TaskAction::Finish { fence: claimed.fence, result: None };
                board.act(claimed.id.as_str(), &done).unwrap();
            });
        }
        [_, "fill", url] => return fill(&mut open(url)),
        [_, "notice", url] => return notice(url),
        _ => {}
    }
    for (name, level) in [("everysec", "every second"), ("always", "before each answer")] {
        let options = ["--appendonly", "yes", "--appendfsync", name];
        let server = RedisServer::start(&options).expect("redis-server is not installed");
        println!("log synced {level}; one sync of this disk: {}", disk());
        run(&server.url());
    }
    absent_reader();
}

/// How long the disk takes for what the server does before an answer, without the server.
fn disk() -> String {
    let mut file = tempfile::tempfile().unwrap();
    let one = |_| {
        let start = Instant::now();
        file.write_all(&[0; 1_000]).unwrap();
        file.sync_data().unwrap();
        u64::try_from(start.elapsed().as_micros()).unwrap()
    };
    percentiles((0..300).map(one).collect())
}

fn fill(board: &mut RedisBoard) {
    let start = Instant::now();
    for batch in 0..TASKS / 1_000 {
        let task = |n: usize| NewTask::new(TaskId(format!("t{}", batch * 1_000 + n)), "a task");
        board.add(&(0..1_000).map(task).collect::<Vec<_>>()).unwrap();
    }
    println!("  {TASKS} tasks added in {:.1} s, 1 000 at once", start.elapsed().as_secs_f64());
}

fn run(url: &str) {
    let mut board = open(url);
    fill(&mut board);
    let info: String = cmd("INFO")
        .arg("memory")
        .query(&mut redis::Client::open(url).unwrap().get_connection().unwrap())
        .unwrap();
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    println!("  memory: {} bytes per task", used.trim().parse::<usize>().unwrap() / TASKS);
    let (rate, took) = together(PROCESSES, "claim", url);
    println!(
        "  {PROCESSES} processes with {CONNECTIONS} connections, {TASKS} tasks: {rate:.0} claims/s; {took}"
    );
    let (rate, took) = together(PROCESSES, "crowd", url);
    println!("  {PROCESSES} processes with {CROWD} connections: {rate:.0} claims/s; {took}");
    let (rate, took) = together(PROCESSES, "finish", url);
    println!(
        "  {PROCESSES} processes with {CONNECTIONS} connections: {rate:.0} tasks/s claimed and finished; {took}"
    );
    notices(&mut board, url);
    let (rate, took) = together(PROCESSES, "send", url);
    println!(
        "  {PROCESSES} processes with {CONNECTIONS} connections: {rate:.0} mails/s sent; {took}"
    );
}

/// Begins when its input ends, and prints how long each took. Each process has several connections, as a process with
/// several agents does.
fn measured(
    url: &str,
    connections: usize,
    times: usize,
    act: impl Fn(&mut RedisBoard, usize) + Sync,
) {
    let boards: Vec<RedisBoard> = (0..connections).map(|_| open(url)).collect();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let took: Vec<u128> = std::thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = boards
            .into_iter()
            .enumerate()
            .map(|(at, mut board)| {
                scope.spawn(move || {
                    let each = times / connections;
                    let one = |n| {
                        let start = Instant::now();
                        act(&mut board, n);
                        start.elapsed().as_micros()
                    };
                    (at * each..(at + 1) * each).map(one).collect::<Vec<u128>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    took.iter().for_each(|micros| println!("{micros}"));
}

fn mail(id: &str, to: &str) -> NewMail {
    NewMail::new(MailId(id.to_owned()), "bench", to, since_epoch().as_micros().to_string())
}

/// A process: prints how long after its sending each mail was seen.
fn notice(url: &str) {
    let mut board = open(url);
    let bell = board.bell();
    let mut took = Vec::with_capacity(MAILS);
    while took.len() < MAILS {
        let ticket = bell.ticket();
        while let Some(delivery) = board.receive("reader", LEASE).unwrap() {
            let sent: u128 = delivery.mail.text.parse().unwrap();
            took.push(since_epoch().as_micros() - sent);
            board.settle(&delivery, &Outcome::Handled).unwrap();
        }
        bell.wait(ticket, Duration::from_secs(1));
    }
    took.iter().for_each(|micros| println!("{micros}"));
}

fn notices(board: &mut RedisBoard, url: &str) {
    let mut reader = start("notice", url);
    std::thread::sleep(Duration::from_millis(500));
    for n in 0..MAILS {
        board.send(&mail(&n.to_string(), "reader")).unwrap();
        while board.lag("bench", "reader").unwrap().behind > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let took = percentiles(numbers(&mut reader));
    println!("  mail, from before its sending until another process has it: {took}");
}

/// What the reference does: publish and subscribe. Messages of a moment without the reader are gone.
fn absent_reader() {
    let server = RedisServer::start(&[]).expect("redis-server is not installed");
    let connection = || redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let (mut reader, mut sender) = (connection(), connection());
    let mut seen = 0;
    let mut board = open(&server.url());
    for round in 0..10 {
        let mut messages = reader.as_pubsub();
        let is_there = round % 2 == 0;
        if is_there {
            messages.subscribe("mail").unwrap();
        }
        for n in 0..100 {
            cmd("PUBLISH").arg("mail").arg(n).exec(&mut sender).unwrap();
            board.send(&mail(&format!("{round}-{n}"), "reader")).unwrap();
        }
        if is_there {
            seen += (0..100).map(|_| messages.get_message().unwrap()).count();
        }
    }
    let mailbox = std::iter::from_fn(|| board.receive("reader", LEASE).unwrap()).count();
    println!(
        "1 000 mails, the reader absent for every second hundred: {seen} arrive by pub/sub, {mailbox} in the mailbox"
    );
}
