//! Several processes at one board, some of which are killed.

use crate::board_cases::touching;
use crate::child::{self, FileClock};
use crate::claim_races::{claim_as_told, race};
use crate::place::{LEASE, mail, open_file};
use ostler_board::{Board, Mailbox, NewTask, Outcome, Status, TaskAction, TaskQuery};
use std::collections::{BTreeMap, HashSet};

const TASKS: usize = 40;
const FILES: usize = 6;

/// Claims and finishes until there is nothing to claim, and says each step after it is recorded.
#[test]
fn child_works() {
    let Some(folder) = child::folder() else { return };
    let mut board = open_file(&folder.join("board.db"), FileClock::of(&folder));
    while let Some(claimed) = board.claim(None, &child::argument(), LEASE).unwrap() {
        child::say(format!("claimed {} {}", claimed.id, claimed.fence));
        let done = TaskAction::Finish { fence: claimed.fence, result: None };
        if board.act(claimed.id.as_str(), &done).is_ok() {
            child::say(format!("finished {}", claimed.id));
        }
    }
}

/// Every task is done exactly once, whoever is killed in between; what was reported stays.
#[test]
fn killed_workers_lose_nothing_and_nothing_is_done_twice() {
    let folder = tempfile::tempdir().unwrap();
    let clock = FileClock::of(folder.path());
    let mut now = 1_000_000;
    clock.set(now);
    let mut board = open_file(&folder.path().join("board.db"), clock.clone());
    let tasks: Vec<NewTask> = (0..TASKS)
        .map(|n| touching(&format!("t{n}"), &[format!("f{}", n % FILES).as_str()]))
        .collect();
    board.add(&tasks).unwrap();
    let mut finished: BTreeMap<String, u32> = BTreeMap::new();
    let mut fences = HashSet::new();
    for round in 0..5 {
        let mut children: Vec<_> = (0..3)
            .map(|n| child::start("processes::child_works", folder.path(), &format!("w{round}{n}")))
            .collect();
        // Each dies after another number of words, wherever it is at that moment.
        for (n, child) in children.iter_mut().enumerate() {
            for word in child::words(child).take(2 + (round + n) % 4) {
                note(&word, &mut finished, &mut fences);
            }
            child.kill().unwrap();
        }
        for child in &mut children {
            child.wait().unwrap();
        }
        check_overlaps(&mut board);
        // The clock stands still meanwhile, so nothing of the dead was handed out again. Now it is.
        now += 60_000;
        clock.set(now);
    }
    // Whoever is left does the rest.
    let done = TaskQuery { statuses: vec![Status::Done, Status::Parked], limit: TASKS };
    let mut last = child::start("processes::child_works", folder.path(), "last");
    child::words(&mut last).for_each(|word| note(&word, &mut finished, &mut fences));
    assert!(last.wait().unwrap().success());
    let all = board.list(&done).unwrap().tasks;
    assert_eq!(all.len(), TASKS);
    for task in all {
        let history = board.show(task.id.as_str()).unwrap().history;
        let is_end = |event: &&ostler_board::HistoryEntry| {
            matches!(event.event, ostler_board::TaskEvent::Finished { .. })
        };
        assert_eq!(history.iter().filter(is_end).count(), usize::from(task.status == Status::Done));
        let told = finished.get(task.id.as_str()).copied().unwrap_or(0);
        assert!(told == 0 || task.status == Status::Done, "{task:?} was reported as done");
        assert!(told <= 1, "{task:?}");
    }
}

#[test]
fn child_races() {
    let Some(folder) = child::folder() else { return };
    claim_as_told(&mut open_file(&folder.join("board.db"), FileClock::of(&folder)));
}

#[test]
fn of_programs_that_claim_at_once_exactly_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let clock = FileClock::of(folder.path());
    clock.set(1_000_000);
    let mut board = open_file(&folder.path().join("board.db"), clock);
    println!("{}", race(&mut board, "processes::child_races", folder.path(), ""));
}

fn note(word: &str, finished: &mut BTreeMap<String, u32>, fences: &mut HashSet<String>) {
    match word.split(' ').collect::<Vec<_>>()[..] {
        ["finished", id] => *finished.entry(id.to_owned()).or_default() += 1,
        ["claimed", _, fence] => assert!(fences.insert(fence.to_owned()), "fence {fence} twice"),
        _ => panic!("{word}"),
    }
}

fn check_overlaps(board: &mut dyn Board) {
    let query = TaskQuery { statuses: vec![Status::InProgress], limit: TASKS };
    let held = board.list(&query).unwrap().tasks;
    let files: HashSet<_> = held.iter().map(|task| task.touches.clone()).collect();
    assert_eq!(files.len(), held.len(), "{held:?}");
}

/// Reads its mail and replies; says each text when it has recorded it in its own log.
#[test]
fn child_reads() {
    let Some(folder) = child::folder() else { return };
    let mut mailbox = open_file(&folder.join("board.db"), FileClock::of(&folder));
    let log = folder.join("log");
    let mut known = std::fs::read_to_string(&log).unwrap_or_default();
    while let Some(delivery) =
        ostler_board::receive_new(&mut mailbox, "eve", LEASE, &mut |id| known.contains(id.as_str()))
            .unwrap()
    {
        known += &format!("{} ", delivery.mail.id);
        std::fs::write(log.with_extension("new"), &known).unwrap();
        std::fs::rename(log.with_extension("new"), &log).unwrap();
        child::say(&delivery.mail.text);
        let text = format!("reply to {}", delivery.mail.text);
        mailbox.settle(&delivery, &Outcome::Replied { text }).unwrap();
        child::say("settled");
    }
}

/// A reader that is killed between recording and settling, again and again.
#[test]
fn a_killed_reader_sees_each_mail_once_and_misses_none() {
    const MAILS: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let clock = FileClock::of(folder.path());
    clock.set(1_000_000);
    let mut mailbox = open_file(&folder.path().join("board.db"), clock.clone());
    for n in 0..MAILS {
        mailbox.send(&mail("ann", "eve", n.to_string())).unwrap();
    }
    let mut seen = Vec::new();
    for round in 1..=100 {
        clock.set(1_000_000 + round * 60_000);
        let mut reader = child::start("processes::child_reads", folder.path(), "");
        let words: Vec<String> = child::words(&mut reader).take(1 + round as usize % 4).collect();
        reader.kill().unwrap();
        reader.wait().unwrap();
        let is_idle = words.is_empty();
        seen.extend(words.into_iter().filter(|word| word != "settled"));
        if is_idle {
            break;
        }
    }
    // Killed between its log and its word, a reader has seen one that we did not hear of.
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log.split_whitespace().count(), MAILS);
    assert!(
        seen.windows(2).all(|pair| pair[0].parse::<usize>().unwrap() < pair[1].parse().unwrap())
    );
    assert_eq!(mailbox.lag("ann", "eve").unwrap().behind, 0, "all are settled");
}
