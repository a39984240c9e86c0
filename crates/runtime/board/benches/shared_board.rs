//! How many tasks processes can claim, how long a claim takes, and how soon a mail is noticed.
//!
//! `cargo bench -p ostler-board --bench shared_board` makes a board with 100 000 tasks in a temporary directory. Targets:
//! 2 000 claims per second with 8 processes, 99 of 100 claims within 20 ms; a mail is noticed inside a process within 2 ms,
//! by another process within 15 ms, and sent 5 000 times per second by threads of one process. Claims are written but not
//! synced; finished tasks and sent mail are synced. Beside it, the same claims from a JSON file under a lock, which is
//! read and written as a whole.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used)]

mod frame;

use frame::{numbers, percentiles, since_epoch, start, together};
use ostler_board::{
    Board, BoardFile, Limits, MailId, MailQuery, Mailbox, NewMail, NewTask, Outcome, Priority,
    Setup, SharedBoard, TaskAction, TaskId,
};
use ostler_core::time::{Clock, Timestamp};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TASKS: usize = 100_000;
const PROCESSES: usize = 8;
const CLAIMS: usize = 2_000;
const FINISHES: usize = 500;
const HELD: usize = 50;
const MAILS: usize = 200;
const BURST: usize = 1_000;
const SENDERS: usize = 32;
const JSON_CLAIMS: usize = 5;
const LEASE: Duration = Duration::from_secs(3600);

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(since_epoch().as_millis()).unwrap())
    }
}

fn open(folder: &Path) -> BoardFile {
    let setup = Setup { clock: Arc::new(WallClock), limits: Limits::default() };
    BoardFile::open(&folder.join("board.db"), setup).unwrap()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "claim", folder] => return claim(Path::new(folder)),
        [_, "notice", folder] => {
            return notice(Path::new(folder)).iter().for_each(|micros| println!("{micros}"));
        }
        [_, "json", folder] => return claim_from_json(Path::new(folder)),
        _ => {}
    }
    let folder = tempfile::tempdir().unwrap();
    let mut board = open(folder.path());
    let start = Instant::now();
    for batch in 0..TASKS / 1_000 {
        let task = |n: usize| {
            let id = TaskId(format!("t{}", batch * 1_000 + n));
            NewTask::new(id, "a task")
        };
        board.add(&(0..1_000).map(task).collect::<Vec<_>>()).unwrap();
    }
    println!(
        "{TASKS} tasks added in {:.1} s, 1 000 at once, synced",
        start.elapsed().as_secs_f64()
    );
    claims(folder.path());
    json_claims();
    finishes(&mut board);
    notices(&mut board, folder.path(), "another process", true);
    notices(&mut board, folder.path(), "another thread", false);
    burst(folder.path(), 1);
    burst(folder.path(), SENDERS);
    finish_together(folder.path());
}

/// A process: claims, and prints how long each took.
fn claim(folder: &Path) {
    let mut board = open(folder);
    measured(CLAIMS, || drop(board.claim(None, "worker", LEASE).unwrap().unwrap()));
}

/// Begins when its input ends.
fn measured(times: usize, mut act: impl FnMut()) {
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        act();
        took.push(start.elapsed().as_micros());
    }
    took.iter().for_each(|micros| println!("{micros}"));
}

fn claims(folder: &Path) {
    let (rate, took) = together(PROCESSES, "claim", folder.to_str().unwrap());
    println!("{PROCESSES} processes, {TASKS} tasks: {rate:.0} claims/s, written; {took}");
}

/// The reference's way: all tasks in one JSON file, read and written as a whole under a lock.
fn json_claims() {
    let folder = tempfile::tempdir().unwrap();
    let task = |n| json!({"id": format!("t{n}"), "title": "a task", "status": "pending"});
    let tasks: Vec<Value> = (0..TASKS).map(task).collect();
    std::fs::write(folder.path().join("tasks.json"), json!(tasks).to_string()).unwrap();
    let (rate, took) = together(PROCESSES, "json", folder.path().to_str().unwrap());
    println!("the same from a JSON file under a lock: {rate:.1} claims/s; {took}");
}

fn claim_from_json(folder: &Path) {
    let (path, lock) = (folder.join("tasks.json"), File::create(folder.join("lock")).unwrap());
    measured(JSON_CLAIMS, || {
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let mut tasks: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let next = tasks.iter_mut().find(|task| task["status"] == "pending").unwrap();
        next["status"] = json!("in_progress");
        std::fs::write(folder.join("next"), json!(tasks).to_string()).unwrap();
        std::fs::rename(folder.join("next"), &path).unwrap();
        flock(&lock, FlockOperation::Unlock).unwrap();
    });
}

/// With tasks that touch files, while others that do are in progress.
fn finishes(board: &mut BoardFile) {
    let task = |n: usize| {
        let touches = vec![format!("src/{n}/**"), format!("docs/{n}-*.md")];
        let new = NewTask::new(TaskId(format!("touching{n}")), "a task");
        NewTask { touches, priority: Priority::High, ..new }
    };
    board.add(&(0..FINISHES + HELD).map(task).collect::<Vec<_>>()).unwrap();
    (0..HELD).for_each(|_| drop(board.claim(None, "other", LEASE).unwrap().unwrap()));
    let begin = Instant::now();
    for _ in 0..FINISHES {
        let claimed = board.claim(None, "worker", LEASE).unwrap().unwrap();
        let done = TaskAction::Finish { fence: claimed.fence, result: None };
        board.act(claimed.id.as_str(), &done).unwrap();
    }
    let rate = FINISHES as f64 / begin.elapsed().as_secs_f64();
    println!("1 process: {rate:.0} tasks/s claimed beside {HELD} with files, and finished, synced");
}

fn mail(n: usize, to: &str) -> NewMail {
    NewMail::new(MailId(format!("{to}{n}")), "bench", to, since_epoch().as_micros().to_string())
}

/// How long after its sending each mail was seen.
fn notice(folder: &Path) -> Vec<u64> {
    let mut board = open(folder);
    let bell = board.bell();
    let mut took = Vec::with_capacity(MAILS);
    while took.len() < MAILS {
        let ticket = bell.ticket();
        while let Some(delivery) = board.receive("reader", LEASE).unwrap() {
            let sent: u128 = delivery.mail.text.parse().unwrap();
            took.push(u64::try_from(since_epoch().as_micros() - sent).unwrap());
            board.settle(&delivery, &Outcome::Handled).unwrap();
        }
        bell.wait(ticket, Duration::from_secs(1));
    }
    took
}

fn notices(board: &mut BoardFile, folder: &Path, whom: &str, is_process: bool) {
    let took = std::thread::scope(|scope| {
        let reader = scope.spawn(|| match is_process {
            true => numbers(&mut start("notice", folder.to_str().unwrap())),
            false => notice(folder),
        });
        for n in 0..MAILS {
            let mut mail = mail(n, "reader");
            mail.id.0 += whom;
            board.send(&mail).unwrap();
            while !board.peek(&MailQuery::default()).unwrap().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        reader.join().unwrap()
    });
    println!("mail, from before its sending until {whom} has it: {}", percentiles(took));
}

fn burst(folder: &Path, senders: usize) {
    let (rate, took) = threads(folder, senders, |board, n, who| {
        board.send(&mail(n, &format!("nobody{who}of{senders}x"))).unwrap();
    });
    println!("{senders} senders in one process: {rate:.0} mails/s sent, each synced; {took}");
}

fn finish_together(folder: &Path) {
    let tasks: Vec<NewTask> =
        (0..SENDERS * BURST).map(|n| NewTask::new(TaskId(format!("own{n}")), "a task")).collect();
    let mut board = open(folder);
    tasks.chunks(1_000).for_each(|some| drop(board.add(some).unwrap()));
    let (rate, took) = threads(folder, SENDERS, |board, n, who| {
        let id = format!("own{}", who * BURST + n);
        let fence = board.claim(Some(&id), "worker", LEASE).unwrap().unwrap().fence;
        board.act(&id, &TaskAction::Finish { fence, result: None }).unwrap();
    });
    println!(
        "{SENDERS} workers in one process: {rate:.0} tasks/s claimed and finished, synced; {took}"
    );
}

/// Each thread acts as often as the others, with a handle of its own.
fn threads(
    folder: &Path,
    count: usize,
    act: impl Fn(&mut BoardFile, usize, usize) + Sync,
) -> (f64, String) {
    let begin = Instant::now();
    let took: Vec<u64> = std::thread::scope(|scope| {
        let act = &act;
        let run = |who| {
            move || {
                let mut board = open(folder);
                let one = |n| {
                    let start = Instant::now();
                    act(&mut board, n, who);
                    u64::try_from(start.elapsed().as_micros()).unwrap()
                };
                (0..BURST).map(one).collect::<Vec<u64>>()
            }
        };
        let threads: Vec<_> = (0..count).map(|who| scope.spawn(run(who))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    (took.len() as f64 / begin.elapsed().as_secs_f64(), percentiles(took))
}
