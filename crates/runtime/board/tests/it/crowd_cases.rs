//! Many handles at once.

use crate::board_cases::{finish, task, touching};
use crate::place::{LEASE, Place, mail};
use ostler_board::{Claimed, NewTask, Outcome, Status, TaskQuery};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Barrier, Mutex};

const THREADS: usize = 6;
const TASKS: usize = 60;
const FILES: usize = 4;

/// Everybody takes what there is, and nobody gives anything back: each file is in one hand. Then they work: while a task
/// is in hand, nobody else may have it or one that touches its file.
pub fn a_crowd_never_gets_the_same_or_overlapping_tasks(place: &Place) {
    let file = |n: usize| n % FILES;
    let tasks: Vec<NewTask> = (0..TASKS)
        .map(|n| touching(&format!("t{n}"), &[format!("src/{}/**", file(n)).as_str()]))
        .collect();
    place.open().add(&tasks).unwrap();
    place.open().add(&[task("free1"), task("free2")]).unwrap();
    let mut held = all_take(place);
    held.sort_by(|a, b| a.id.cmp(&b.id));
    let ids: Vec<&str> = held.iter().map(|claimed| claimed.id.as_str()).collect();
    assert_eq!(ids, ["free1", "free2", "t0", "t1", "t2", "t3"]);
    held.iter().for_each(|claimed| finish(&mut *place.open(), claimed));
    let (in_hand, all) = (Mutex::new(HashSet::new()), Mutex::new(HashSet::new()));
    let together = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for n in 0..THREADS {
            let (in_hand, all, together) = (&in_hand, &all, &together);
            scope.spawn(move || {
                let mut board = place.open();
                together.wait();
                while all.lock().unwrap().len() < TASKS - FILES {
                    let Some(claimed) = board.claim(None, &format!("w{n}"), LEASE).unwrap() else {
                        std::thread::yield_now();
                        continue;
                    };
                    let number: usize = claimed.id.as_str()[1..].parse().unwrap();
                    // Not inside an assertion: a poisoned lock would stop the others.
                    let is_first = all.lock().unwrap().insert(number);
                    let is_free = in_hand.lock().unwrap().insert(file(number));
                    if !is_first || !is_free {
                        // Lets everybody come to an end.
                        all.lock().unwrap().extend(0..TASKS);
                        panic!("{number} was handed out twice, or together with one like it");
                    }
                    std::thread::yield_now();
                    in_hand.lock().unwrap().remove(&file(number));
                    finish(&mut *board, &claimed);
                }
            });
        }
    });
    let done = TaskQuery { statuses: vec![Status::Done], limit: 0 };
    assert_eq!(place.open().list(&done).unwrap().total, TASKS as u64 + 2);
}

fn all_take(place: &Place) -> Vec<Claimed> {
    let together = Barrier::new(THREADS);
    let take = |n: usize| {
        let mut board = place.open();
        together.wait();
        let claims = std::iter::from_fn(|| board.claim(None, &format!("w{n}"), LEASE).unwrap());
        claims.take(TASKS).collect::<Vec<Claimed>>()
    };
    std::thread::scope(|scope| {
        let take = &take;
        let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || take(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

pub fn a_crowd_of_readers_sees_each_mail_once(place: &Place) {
    const EACH: u64 = 20;
    let senders = ["ann", "bob"];
    let seen: Mutex<BTreeMap<(String, u64), u32>> = Mutex::default();
    let all = senders.len() * usize::try_from(EACH).unwrap();
    let is_over =
        |seen: &BTreeMap<_, u32>| seen.len() == all || seen.values().any(|times| *times > 1);
    std::thread::scope(|scope| {
        for sender in senders {
            scope.spawn(move || {
                let mut mailbox = place.open();
                for n in 1..=EACH {
                    let receipt = mailbox.send(&mail(sender, "eve", n.to_string()));
                    assert_eq!(receipt.unwrap().seq, n);
                }
            });
        }
        for _ in 0..3 {
            let seen = &seen;
            scope.spawn(move || {
                let mut mailbox = place.open();
                while !is_over(&seen.lock().unwrap()) {
                    let Some(delivery) = mailbox.receive("eve", LEASE).unwrap() else {
                        std::thread::yield_now();
                        continue;
                    };
                    let mail = &delivery.mail;
                    assert_eq!(mail.text, mail.seq.to_string());
                    *seen.lock().unwrap().entry((mail.from.clone(), mail.seq)).or_default() += 1;
                    mailbox.settle(&delivery, &Outcome::Handled).unwrap();
                }
            });
        }
    });
    // Whoever finds nothing more has seen everything; nothing comes a second time.
    assert_eq!(place.open().receive("eve", LEASE).unwrap(), None);
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), all);
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}
