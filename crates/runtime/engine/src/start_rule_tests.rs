//! The rule of starting: its laws on all combinations, its consequences on all orders, and a few cases to read.

use super::*;
use ostler_core::permission::PathScope;
use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Reads /a.
    Harmless,
    WriteA,
    WriteB,
    Unknown,
    /// Changes nothing, but somebody must say yes first.
    Asking,
    /// Changes nothing here, but reaches somebody.
    Contacting,
}
use Kind::*;

const KINDS: [Kind; 6] = [Harmless, WriteA, WriteB, Unknown, Asking, Contacting];
const STAGES: [Stage; 3] = [Stage::Waiting, Stage::Running, Stage::Done];

/// Written down by hand, so that a wrong `Access::conflicts` cannot agree with itself.
fn conflict(a: Kind, b: Kind) -> bool {
    let clash = |a, b| {
        a == Unknown || matches!((a, b), (WriteA, WriteA) | (WriteB, WriteB) | (WriteA, Harmless))
    };
    clash(a, b) || clash(b, a)
}

struct Accesses([(Kind, Access); 6]);

impl Accesses {
    fn new() -> Self {
        let file = |path: &str| PathScope::File(path.into());
        Accesses(KINDS.map(|kind| {
            let access = match kind {
                Harmless => Access::reading(file("/a")),
                WriteA => Access::writing(file("/a")),
                WriteB => Access::writing(file("/b")),
                Unknown => Access::unknown(),
                Asking => Access::reading(file("/elsewhere")),
                Contacting => Access { hosts: vec!["host".into()], ..Access::nothing() },
            };
            (kind, access)
        }))
    }

    fn startable(&self, calls: &[(Kind, Stage)], sealed: bool, room: usize) -> Vec<usize> {
        let slot = |(kind, stage): &(Kind, Stage)| Slot {
            access: &self.0[*kind as usize].1,
            asks: *kind == Asking,
            hooks_pending: false,
            stage: *stage,
            alone: false,
        };
        startable(&calls.iter().map(slot).collect::<Vec<_>>(), sealed, room)
    }
}

/// Why a waiting call may not start, whatever else happens; none if it may.
fn obstacle(calls: &[(Kind, Stage)], i: usize, sealed: bool) -> Option<&'static str> {
    let (kind, stage) = calls[i];
    if stage != Stage::Waiting {
        return Some("it does not wait");
    }
    if !sealed && kind != Harmless {
        return Some("the answer is open");
    }
    let blocked =
        calls[..i].iter().any(|(other, stage)| *stage != Stage::Done && conflict(*other, kind));
    if blocked {
        return Some("an earlier call conflicts");
    }
    let mut later = calls[i..].iter();
    let disturbs = later.any(|(other, stage)| *stage == Stage::Running && conflict(*other, kind));
    disturbs.then_some("a later call runs already")
}

fn check_laws(calls: &[(Kind, Stage)], sealed: bool, room: usize, started: &[usize]) {
    let case = || format!("{calls:?} sealed={sealed} room={room} started={started:?}");
    assert!(started.len() <= room, "room: {}", case());
    assert!(started.is_sorted_by(|a, b| a < b), "order: {}", case());
    for &i in started {
        assert_eq!(obstacle(calls, i, sealed), None, "{}", case());
    }
    for (n, &i) in started.iter().enumerate() {
        let together = started[..n].iter().any(|&j| conflict(calls[i].0, calls[j].0));
        assert!(!together, "two that conflict start together: {}", case());
    }
    // Nobody is left behind without a reason, and earlier calls come first when room is short.
    let may = (0..calls.len()).filter(|&i| obstacle(calls, i, sealed).is_none());
    assert!(may.take(room).eq(started.iter().copied()), "left behind: {}", case());
    let waiting = calls.iter().any(|(_, stage)| *stage == Stage::Waiting);
    let running = calls.iter().any(|(_, stage)| *stage == Stage::Running);
    assert!(
        !(waiting && sealed && !running && room > 0 && started.is_empty()),
        "stuck: {}",
        case()
    );
}

/// All combinations of kinds and stages, as a number in base 18.
fn combination(mut n: usize, calls: &mut [(Kind, Stage)]) {
    for call in calls {
        *call = (KINDS[n % 6], STAGES[n / 6 % 3]);
        n /= 18;
    }
}

#[test]
fn the_laws_hold_for_all_combinations_of_up_to_four_calls_and_any_room() {
    let accesses = Accesses::new();
    for len in 0..=4usize {
        let mut calls = vec![(Harmless, Stage::Waiting); len];
        for n in 0..18usize.pow(len as u32) {
            combination(n, &mut calls);
            for sealed in [false, true] {
                for room in [0, 1, 2, len] {
                    check_laws(&calls, sealed, room, &accesses.startable(&calls, sealed, room));
                }
            }
        }
    }
}

/// Five calls in every combination, each with one of the six rooms, on both cores.
#[test]
fn the_laws_hold_for_all_combinations_of_five_calls() {
    std::thread::scope(|scope| {
        for sealed in [false, true] {
            scope.spawn(move || {
                let accesses = Accesses::new();
                let mut calls = [(Harmless, Stage::Waiting); 5];
                for n in 0..18usize.pow(5) {
                    combination(n, &mut calls);
                    // 7 shares no factor with 18, so that rooms and combinations do not go in step.
                    let room = if n % 7 < 2 { 5 } else { n % 7 - 2 };
                    check_laws(&calls, sealed, room, &accesses.startable(&calls, sealed, room));
                }
            });
        }
    });
}

/// Walks every order in which calls can arrive, be sealed, start and finish: two that conflict never run together,
/// every call gets its turn, and calls that conflict run in the order they were made.
#[test]
fn in_every_order_conflicts_run_alone_and_all_calls_finish() {
    let accesses = Accesses::new();
    for len in 1..=4usize {
        for n in 0..6usize.pow(len as u32) {
            let kinds: Vec<_> = (0..len).map(|i| KINDS[n / 6usize.pow(i as u32) % 6]).collect();
            for room in [1, 2, len] {
                walk(&accesses, &kinds, room);
            }
        }
    }
}

fn walk(accesses: &Accesses, kinds: &[Kind], room: usize) {
    let mut seen = HashSet::new();
    let mut todo = vec![(Vec::new(), false)];
    let mut ends = 0;
    while let Some((mut stages, sealed)) = todo.pop() {
        let running = |stages: &[u8]| stages.iter().filter(|stage| **stage == 1).count();
        let calls: Vec<_> =
            kinds.iter().copied().zip(stages.iter().map(|stage| STAGES[*stage as usize])).collect();
        for i in accesses.startable(&calls, sealed, room - running(&stages)) {
            stages[i] = 1;
        }
        if !seen.insert((stages.clone(), sealed)) {
            continue;
        }
        check_running(kinds, &stages, sealed, room);
        if stages.len() == kinds.len() && stages.iter().all(|stage| *stage == 2) && sealed {
            ends += 1;
        }
        if stages.len() < kinds.len() {
            todo.push(([stages.as_slice(), &[0]].concat(), sealed));
        } else if !sealed {
            todo.push((stages.clone(), true));
        } else {
            let stuck = running(&stages) == 0 && stages.contains(&0);
            assert!(!stuck, "stuck: {kinds:?} {stages:?} room={room}");
        }
        for i in (0..stages.len()).filter(|&i| stages[i] == 1) {
            let mut next = stages.clone();
            next[i] = 2;
            todo.push((next, sealed));
        }
    }
    assert_eq!(ends, 1, "{kinds:?} room={room}");
}

fn check_running(kinds: &[Kind], stages: &[u8], sealed: bool, room: usize) {
    let case = || format!("{kinds:?} {stages:?} sealed={sealed} room={room}");
    assert!(stages.iter().filter(|stage| **stage == 1).count() <= room, "{}", case());
    for i in 0..stages.len() {
        assert!(sealed || stages[i] == 0 || kinds[i] == Harmless, "early: {}", case());
        for j in 0..i {
            let clash = conflict(kinds[i], kinds[j]);
            assert!(!(clash && stages[i] == 1 && stages[j] == 1), "together: {}", case());
            assert!(!(clash && stages[i] != 0 && stages[j] != 2), "out of order: {}", case());
        }
    }
}

/// Waiting calls, except those marked as running (`>`) or done (`.`).
fn starts(calls: &str, sealed: bool, room: usize) -> Vec<usize> {
    let call = |word: &str| {
        let (stage, name) = match word.as_bytes()[0] {
            b'>' => (Stage::Running, &word[1..]),
            b'.' => (Stage::Done, &word[1..]),
            _ => (Stage::Waiting, word),
        };
        let kind = match name {
            "read" => Harmless,
            "writeA" => WriteA,
            "writeB" => WriteB,
            "unknown" => Unknown,
            "ask" => Asking,
            "fetch" => Contacting,
            other => panic!("{other}"),
        };
        (kind, stage)
    };
    let calls: Vec<_> = calls.split_whitespace().map(call).collect();
    Accesses::new().startable(&calls, sealed, room)
}

#[test]
fn while_the_answer_is_open_only_readers_start() {
    assert_eq!(starts("read read", false, 9), [0, 1]);
    assert_eq!(starts("writeB read", false, 9), [1]);
    assert_eq!(starts("ask fetch writeA unknown", false, 9), [] as [usize; 0]);
    assert_eq!(starts("ask fetch read", false, 9), [2]);
}

#[test]
fn a_reader_waits_for_an_earlier_write_to_its_file() {
    assert_eq!(starts("writeA read", false, 9), [] as [usize; 0]);
    assert_eq!(starts("writeA read", true, 9), [0]);
    assert_eq!(starts(">writeA read", true, 9), [] as [usize; 0]);
    assert_eq!(starts(".writeA read", true, 9), [1]);
    assert_eq!(starts("writeB read", true, 9), [0, 1]);
}

#[test]
fn a_write_waits_for_an_earlier_reader_of_its_file() {
    assert_eq!(starts(">read writeA", true, 9), [] as [usize; 0]);
    assert_eq!(starts(".read writeA", true, 9), [1]);
    assert_eq!(starts(">read writeB", true, 9), [1]);
}

#[test]
fn disjoint_writes_go_together_and_unknown_ones_alone() {
    assert_eq!(starts("writeA writeB writeA", true, 9), [0, 1]);
    assert_eq!(starts("unknown read writeB", true, 9), [0]);
    assert_eq!(starts("read unknown read", true, 9), [0]);
    assert_eq!(starts(".read unknown", true, 9), [1]);
    assert_eq!(starts(".unknown unknown read", true, 9), [1]);
}

#[test]
fn room_is_kept_and_given_to_the_earliest() {
    assert_eq!(starts("read read read", true, 2), [0, 1]);
    assert_eq!(starts("read read", true, 0), [] as [usize; 0]);
    assert_eq!(starts(">unknown read fetch", true, 1), [] as [usize; 0]);
}

/// Readers of different files; `?` marks one whose hooks were not asked, `>?` one whose hooks are being asked.
fn starts_with_hooks(calls: &str, sealed: bool) -> Vec<usize> {
    let access = |n: usize| Access::reading(PathScope::File(format!("/{n}").into()));
    let accesses: Vec<_> = (0..9).map(access).collect();
    let slot = |(n, word): (usize, &str)| Slot {
        access: &accesses[n],
        asks: word.ends_with('?'),
        hooks_pending: word.ends_with('?'),
        stage: match word.as_bytes()[0] {
            b'>' => Stage::Running,
            b'.' => Stage::Done,
            _ => Stage::Waiting,
        },
        alone: false,
    };
    let slots: Vec<_> = calls.split_whitespace().enumerate().map(slot).collect();
    startable(&slots, sealed, 9)
}

/// What a hook makes of a call is not known before it has spoken: later calls do not run, but their hooks may be asked.
#[test]
fn nothing_runs_before_the_hooks_of_earlier_calls_have_spoken() {
    assert_eq!(starts_with_hooks("? r ?", true), [0, 2]);
    assert_eq!(starts_with_hooks(">? r >?", true), [] as [usize; 0]);
    assert_eq!(starts_with_hooks("r ? r", true), [0, 1]);
    assert_eq!(starts_with_hooks("r ? r", false), [0]);
    assert_eq!(starts_with_hooks("> r >?", true), [1]);
    assert_eq!(starts_with_hooks(". >? r", true), [] as [usize; 0]);
}

/// Commands that write the named file; `.` marks one that is over, `-` one that only reads, `!` a call that runs none.
fn beside(calls: &str, index: usize) -> bool {
    let words: Vec<&str> = calls.split_whitespace().collect();
    let access = |word: &&str| {
        let file = PathScope::File(word.trim_start_matches(['.', '-', '!']).into());
        let access = match word.starts_with('-') {
            true => Access::reading(file),
            false => Access::writing(file),
        };
        let runs = (!word.starts_with('!')).then(Default::default);
        Access { runs, ..access }
    };
    let accesses: Vec<Access> = words.iter().map(access).collect();
    let slot = |(word, access): (&&str, _)| Slot {
        access,
        asks: false,
        hooks_pending: false,
        stage: if word.starts_with('.') { Stage::Done } else { Stage::Waiting },
        alone: false,
    };
    let slots: Vec<_> = words.iter().zip(&accesses).map(slot).collect();
    runs_beside_others(&slots, index)
}

#[test]
fn only_changing_commands_that_can_overlap_have_company() {
    assert!(!beside("/a", 0));
    assert!(beside("/a /b", 0) && beside("/a /b", 1));
    assert!(!beside("/a /a", 0) && !beside("/a /a", 1));
    assert!(beside("/a /a /b", 0));
    assert!(!beside("/a ./b", 0));
    assert!(!beside("/a -/b", 0) && !beside("/a -/b", 1));
    assert!(!beside("/a !/b", 0) && !beside("/a !/b", 1));
}

/// A command that runs beside none may not get company, whatever a person made of a call that it did not wait for.
#[test]
fn a_command_that_runs_alone_stays_alone() {
    let command = |path: &str| {
        let access = Access::writing(PathScope::File(path.into()));
        Access { runs: Some(Default::default()), ..access }
    };
    let (a, b) = (command("/a"), command("/b"));
    let edit = Access::writing(PathScope::File("/b".into()));
    let starts = |access: &Access, alone: bool| {
        let slot = |access, stage, alone| {
            let (asks, hooks_pending) = (false, false);
            Slot { access, asks, hooks_pending, stage, alone }
        };
        let slots = [slot(access, Stage::Waiting, false), slot(&a, Stage::Running, alone)];
        !startable(&slots, true, 9).is_empty()
    };
    assert!(starts(&b, false) && !starts(&b, true));
    assert!(starts(&edit, true), "a file tool has snapshots of its own");
    assert!(!starts(&a, false));
}
