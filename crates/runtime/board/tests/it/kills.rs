//! A process that dies at any of its writes to the file: what it was told to be recorded is there, and nothing is torn.
//!
//! The kernel kills it: a write beyond the limit for the size of a file is a deadly signal. Moving the limit through the
//! write-ahead log hits every write of every transaction, in its middle and at its end.

use crate::board_cases::task;
use crate::child::{self, FileClock};
use crate::place::{LEASE, mail, open_file};
use ostler_board::{Board, BoardFile, MailQuery, Mailbox, Status, TaskAction, TaskQuery};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

const XFSZ: i32 = 25;
const PAGE: u64 = 4096;
const FRAME: u64 = 24 + PAGE;

/// Every kind of change, each reported once it is recorded.
fn steps(board: &mut BoardFile, mut say: impl FnMut(String)) {
    board.add(&[task("new")]).unwrap();
    say("added".into());
    for (worker, is_done) in [("one", true), ("two", false)] {
        let claimed = board.claim(None, worker, LEASE).unwrap().unwrap();
        say(format!("claimed {} {}", claimed.id, claimed.fence));
        let fence = claimed.fence;
        board.act(claimed.id.as_str(), &TaskAction::Renew { fence, lease: LEASE * 2 }).unwrap();
        say("renewed".into());
        let end = match is_done {
            true => TaskAction::Finish { fence, result: Some("ok".into()) },
            false => TaskAction::Fail { fence, error: "bad".into() },
        };
        board.act(claimed.id.as_str(), &end).unwrap();
        say(format!("ended {}", claimed.id));
    }
    board.send(&mail("ann", "eve", "hello")).unwrap();
    say("sent".into());
}

#[test]
fn child_changes_until_it_dies() {
    let Some(folder) = child::folder() else { return };
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    let mut board = open_file(&folder.join("board.db"), FileClock::of(&folder));
    let limit = child::argument().parse().unwrap();
    setrlimit(Resource::Fsize, Rlimit { current: Some(limit), maximum: Some(limit) }).unwrap();
    steps(&mut board, child::say);
    child::say("over");
}

fn prepared(folder: &Path) -> BoardFile {
    FileClock::of(folder).set(1_000_000);
    let mut board = open_file(&folder.join("board.db"), FileClock::of(folder));
    board.add(&[task("a"), task("b")]).unwrap();
    board
}

#[test]
fn every_write_can_be_the_last() {
    let sample = tempfile::tempdir().unwrap();
    let mut board = prepared(sample.path());
    let log = sample.path().join("board.db-wal");
    let size = || std::fs::metadata(&log).unwrap().len();
    let before = size();
    let mut all = Vec::new();
    steps(&mut board, |word| all.push(word.split(' ').next().unwrap().to_owned()));
    let after = size();
    assert!((after - before).is_multiple_of(FRAME) && after > before + 10 * FRAME);
    let mut deaths = 0;
    for frame in 0..(after - before) / FRAME {
        // In the header of a frame on even ones, else in its page.
        let torn = if frame % 2 == 0 { 0 } else { 24 + 100 };
        let words = dies_at(before + frame * FRAME + torn);
        assert!(words < all.len(), "the last write was not hit");
        deaths += 1;
    }
    println!("{deaths} deaths, one at each frame of {} changes", all.len());
}

/// Runs the child with this limit and checks what it left behind. Returns how many changes it was told to be recorded.
fn dies_at(limit: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut board = prepared(folder.path());
    let mut dying =
        child::start("kills::child_changes_until_it_dies", folder.path(), &limit.to_string());
    let words: Vec<String> = child::words(&mut dying).collect();
    assert_eq!(dying.wait().unwrap().signal(), Some(XFSZ), "{limit}: {words:?}");
    let has = |start: &str| words.iter().filter(|word| word.starts_with(start)).count();
    let tasks = board.list(&TaskQuery::default()).unwrap();
    let count = |status| tasks.tasks.iter().filter(|task| task.status == status).count();
    let ended = count(Status::Done) + count(Status::Failed);
    // What was reported is there, and at most the one change that was under way.
    let mails = board.peek(&MailQuery::default()).unwrap().len();
    let fence = tasks.tasks.iter().filter_map(|task| task.fence).max().unwrap_or(0);
    let recorded = [
        (usize::try_from(tasks.total).unwrap() - 2, has("added")),
        (usize::try_from(fence).unwrap(), has("claimed")),
        (ended, has("ended")),
        (mails, has("sent")),
    ];
    let surplus: usize =
        recorded.iter().map(|(found, told)| found.checked_sub(*told).unwrap()).sum();
    assert!(surplus <= 1, "{limit}: {recorded:?} after {words:?}");
    check_whole(folder.path());
    // What it had claimed comes back, with a higher fence.
    FileClock::of(folder.path()).set(2_000_000);
    let next = board.claim(None, "heir", LEASE).unwrap().unwrap();
    assert!(next.fence > fence, "{} after {fence}", next.fence);
    assert_eq!(next.id.as_str(), ["a", "b", "new"][ended]);
    words.len()
}

fn check_whole(folder: &Path) {
    let wait = std::time::Duration::from_secs(10);
    let connection = ostler_database::open(&folder.join("board.db"), wait).unwrap();
    let found: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}
