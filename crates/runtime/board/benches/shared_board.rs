//! How many tasks processes can claim, how long a claim takes, and how soon a mail is noticed.
//!
//! `cargo bench -p ostler-board --bench shared_board` makes a board with 100 000 tasks in a temporary directory. Targets:
//! 2 000 claims per second with 8 processes, 99 of 100 claims within 20 ms; a mail is noticed by another process within 15
//! ms and sent 5 000 times per second. Claims are written but not synced; finished tasks and sent mail are synced.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used)]

use ostler_board::{
    Board, BoardFile, Limits, MailId, MailQuery, Mailbox, NewMail, NewTask, Outcome, Priority,
    Setup, TaskAction, TaskId,
};
use ostler_core::time::{Clock, Timestamp};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const TASKS: usize = 100_000;
const PROCESSES: usize = 8;
const CLAIMS: usize = 2_000;
const FINISHES: usize = 500;
const HELD: usize = 50;
const MAILS: usize = 200;
const BURST: usize = 2_000;
const LEASE: Duration = Duration::from_secs(3600);

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(since_epoch().as_millis()).unwrap())
    }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn open(folder: &Path) -> BoardFile {
    let setup = Setup { clock: Arc::new(WallClock), limits: Limits::default() };
    BoardFile::open(&folder.join("board.db"), setup).unwrap()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "claim", folder] => return claim(Path::new(folder)),
        [_, "notice", folder] => return notice(Path::new(folder)),
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
    finishes(&mut board);
    notices(&mut board, folder.path());
    burst(&mut board);
}

fn start(mode: &str, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(mode).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// The numbers that a process prints, one per line.
fn numbers(child: &mut Child) -> Vec<u64> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map(|line| line.unwrap().parse().unwrap()).collect()
}

fn percentiles(mut micros: Vec<u64>) -> String {
    micros.sort_unstable();
    let at = |part: usize| micros[(micros.len() - 1) * part / 100] as f64 / 1000.0;
    format!("p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms", at(50), at(99), at(100))
}

/// A process: claims, and prints how long each took.
fn claim(folder: &Path) {
    let mut board = open(folder);
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let mut took = Vec::with_capacity(CLAIMS);
    for _ in 0..CLAIMS {
        let start = Instant::now();
        board.claim(None, "worker", LEASE).unwrap().unwrap();
        took.push(start.elapsed().as_micros());
    }
    took.iter().for_each(|micros| println!("{micros}"));
}

fn claims(folder: &Path) {
    let mut children: Vec<Child> = (0..PROCESSES).map(|_| start("claim", folder)).collect();
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    let took: Vec<u64> = children.iter_mut().flat_map(numbers).collect();
    let rate = took.len() as f64 / begin.elapsed().as_secs_f64();
    println!("{PROCESSES} processes: {rate:.0} claims/s, written; {}", percentiles(took));
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

/// A process: prints how long after its sending each mail was seen.
fn notice(folder: &Path) {
    let mut board = open(folder);
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

fn notices(board: &mut BoardFile, folder: &Path) {
    let mut reader = start("notice", folder);
    for n in 0..MAILS {
        board.send(&mail(n, "reader")).unwrap();
        while !board.peek(&MailQuery::default()).unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    println!(
        "mail, from before its sending until another process has it: {}",
        percentiles(numbers(&mut reader))
    );
}

fn burst(board: &mut BoardFile) {
    let begin = Instant::now();
    (0..BURST).for_each(|n| drop(board.send(&mail(n, "nobody")).unwrap()));
    let rate = BURST as f64 / begin.elapsed().as_secs_f64();
    println!("1 process: {rate:.0} mails/s sent, synced one by one");
}
