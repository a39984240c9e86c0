//! What a board hands out, and what it refuses.

use crate::place::{LEASE, Place, Store};
use ostler_board::{
    Board, BoardError, Claimed, Limits, NewTask, Priority, Refusal, Status, TaskAction, TaskId,
    TaskQuery,
};

pub fn task(id: &str) -> NewTask {
    NewTask::new(TaskId(id.into()), format!("task {id}"))
}

pub fn depending(id: &str, on: &[&str]) -> NewTask {
    NewTask { depends_on: on.iter().map(ToString::to_string).collect(), ..task(id) }
}

pub fn touching(id: &str, globs: &[&str]) -> NewTask {
    NewTask { touches: globs.iter().map(ToString::to_string).collect(), ..task(id) }
}

/// The next one, if there is one.
pub fn claim(board: &mut dyn Store) -> Option<Claimed> {
    board.claim(None, "worker", LEASE).unwrap()
}

pub fn claim_id(board: &mut dyn Store) -> Option<String> {
    claim(board).map(|claimed| claimed.id.0)
}

pub fn finish(board: &mut dyn Store, claimed: &Claimed) {
    let action = TaskAction::Finish { fence: claimed.fence, result: None };
    assert_eq!(board.act(claimed.id.as_str(), &action).unwrap().status, Status::Done);
}

pub fn work(board: &mut dyn Store, id: &str) {
    let claimed = board.claim(Some(id), "worker", LEASE).unwrap().unwrap();
    finish(board, &claimed);
}

#[track_caller]
pub fn refusal<T: std::fmt::Debug>(result: Result<T, BoardError>) -> Refusal {
    match result.unwrap_err() {
        BoardError::Refused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

pub fn a_task_is_shown_as_it_was_added(place: &Place) {
    let mut board = place.open();
    let whole = NewTask {
        description: "first line\nsecond line ü".into(),
        priority: Priority::Low,
        depends_on: vec!["a".into(), "a".into()],
        touches: vec!["src/*.rs".into(), "docs".into()],
        ..task("b")
    };
    board.add(&[task("a"), whole.clone()]).unwrap();
    let shown = place.open().show("b").unwrap();
    assert_eq!((&shown.title, &shown.description), (&whole.title, &whole.description));
    assert_eq!((shown.status, shown.priority), (Status::Pending, Priority::Low));
    assert_eq!((shown.depends_on, shown.touches), (vec![TaskId("a".into())], whole.touches));
    assert_eq!((shown.created_ms, shown.attempt, shown.fence), (place.now(), 0, None));
    assert_eq!((shown.claimed_by, shown.lease_until, shown.error), (None, None, None));
    assert_eq!(board.show("a").unwrap().priority, Priority::Medium);
    assert_eq!(refusal(board.add(&[task("a")])), Refusal::Exists("a".into()));
    assert!(matches!(refusal(board.show("nowhere")), Refusal::NoSuchTask(_)));
}

pub fn next_is_the_most_urgent_then_the_oldest(place: &Place) {
    let mut board = place.open();
    let with = |id: &str, priority| NewTask { priority, ..task(id) };
    assert_eq!(board.next().unwrap(), None);
    board.add(&[with("low", Priority::Low), task("z")]).unwrap();
    board.add(&[task("a"), with("high", Priority::High), with("high2", Priority::High)]).unwrap();
    for expected in ["high", "high2", "z", "a", "low"] {
        assert_eq!(board.next().unwrap().unwrap().id.as_str(), expected, "looking is no claim");
        assert_eq!(claim_id(&mut *place.open()).as_deref(), Some(expected));
    }
    assert_eq!((board.next().unwrap(), claim(&mut *board)), (None, None));
}

pub fn a_task_waits_for_what_it_depends_on(place: &Place) {
    let mut board = place.open();
    board.add(&[depending("last", &["a", "b"]), task("a"), task("b")]).unwrap();
    let blocked: Vec<String> =
        board.show("last").unwrap().blocked_by.into_iter().map(|by| by.id.0).collect();
    assert_eq!(blocked, ["a", "b"]);
    let first = claim(&mut *board).unwrap();
    let second = claim(&mut *board).unwrap();
    assert_eq!((first.id.as_str(), second.id.as_str()), ("a", "b"));
    assert_eq!(claim(&mut *board), None);
    finish(&mut *board, &first);
    assert_eq!(claim(&mut *board), None, "one of two is not enough");
    finish(&mut *place.open(), &second);
    assert_eq!(board.show("last").unwrap().blocked_by, []);
    assert_eq!(claim_id(&mut *board).as_deref(), Some("last"));
    // What is done when it is added blocks nothing; a board that is opened again goes on.
    board.add(&[depending("later", &["a"])]).unwrap();
    drop(board);
    assert_eq!(claim_id(&mut *place.open()).as_deref(), Some("later"));
}

pub fn a_failed_or_cancelled_dependency_blocks_with_its_reason(place: &Place) {
    let mut board = place.open();
    board.add(&[task("a"), task("b"), depending("c", &["a", "b"])]).unwrap();
    let claimed = board.claim(Some("a"), "worker", LEASE).unwrap().unwrap();
    let fail = TaskAction::Fail { fence: claimed.fence, error: "no compiler".into() };
    assert_eq!(board.act("a", &fail).unwrap().status, Status::Failed);
    board.act("b", &TaskAction::Cancel { reason: Some("not needed".into()) }).unwrap();
    assert_eq!(claim(&mut *board), None);
    let by = board.show("c").unwrap().blocked_by;
    let seen: Vec<_> = by.iter().map(|by| (by.status, by.reason.as_deref())).collect();
    let expected = [(Status::Failed, Some("no compiler")), (Status::Cancelled, Some("not needed"))];
    assert_eq!(seen, expected);
    assert!(matches!(refusal(board.claim(Some("c"), "w", LEASE)), Refusal::Blocked { .. }));
    for id in ["a", "b"] {
        assert_eq!(board.act(id, &TaskAction::Retry).unwrap().error, None);
        work(&mut *board, id);
    }
    assert_eq!(claim_id(&mut *board).as_deref(), Some("c"));
}

/// Fault corpus G04, and G05 for tasks that do not exist.
pub fn phantoms_and_circles_are_refused_as_a_whole(place: &Place) {
    let mut board = place.open();
    board.add(&[task("old")]).unwrap();
    let phantom = refusal(board.add(&[task("x"), depending("y", &["nobody"])]));
    assert!(matches!(phantom, Refusal::NoSuchDependency { id, .. } if id == "nobody"));
    let itself = refusal(board.add(&[depending("x", &["x"])]));
    assert_eq!(itself, Refusal::Cycle(vec!["x".into(), "x".into()]));
    let circle = [
        depending("start", &["a"]),
        depending("a", &["b", "old"]),
        depending("b", &["c"]),
        depending("c", &["a"]),
    ];
    let Refusal::Cycle(path) = refusal(board.add(&circle)) else { panic!("no circle") };
    assert_eq!(path.len(), 4, "{path:?}");
    let mut names = path.clone();
    names.sort();
    names.dedup();
    assert_eq!((names, path.first()), (vec!["a".into(), "b".into(), "c".into()], path.last()));
    let ids: Vec<String> = board
        .list(&TaskQuery::default())
        .unwrap()
        .tasks
        .into_iter()
        .map(|task| task.id.0)
        .collect();
    assert_eq!(ids, ["old"], "nothing of a refused batch stays");
}

pub fn overlapping_tasks_are_never_handed_out_together(place: &Place) {
    let mut board = place.open();
    board
        .add(&[
            touching("all", &["src/**"]),
            touching("one", &["docs/a.md", "src/deep/x.rs"]),
            touching("docs", &["docs/*.md"]),
            task("free"),
            touching("deep", &["src/deep"]),
        ])
        .unwrap();
    let all = claim(&mut *board).unwrap();
    assert_eq!(all.id.as_str(), "all");
    let docs = claim(&mut *place.open()).unwrap();
    assert_eq!(docs.id.as_str(), "docs", "`one` has to wait");
    assert_eq!(claim_id(&mut *board).as_deref(), Some("free"), "touches nothing");
    assert_eq!(claim(&mut *board), None);
    let with = refusal(board.claim(Some("deep"), "w", LEASE));
    assert_eq!(with, Refusal::Overlaps { id: "deep".into(), with: "all".into() });
    finish(&mut *board, &all);
    assert_eq!(claim_id(&mut *board).as_deref(), Some("deep"), "`one` still waits for `docs`");
    finish(&mut *board, &docs);
    assert_eq!(claim(&mut *board), None, "now for `deep`");
    place.pass(LEASE);
    assert_eq!(claim_id(&mut *board).as_deref(), Some("one"), "its worker is dead");
}

/// Whoever waits claims again when it is woken. If a claim in vain woke everybody, nobody would ever wait.
pub fn a_claim_that_finds_nothing_wakes_nobody(place: &Place) {
    let mut board = place.open_with(Limits { losses: 1, ..Limits::default() });
    board.add(&[touching("a", &["x"]), touching("b", &["x"])]).unwrap();
    let mut held = None;
    assert!(place.is_woken_by(&mut || held = claim(&mut *board)), "others see what is taken");
    for _ in 0..2 {
        assert!(!place.is_woken_by(&mut || assert_eq!(claim(&mut *board), None)), "overlap");
    }
    assert!(!place.is_woken_by(&mut || assert!(board.claim(Some("b"), "w", LEASE).is_err())));
    finish(&mut *board, &held.unwrap());
    let second = claim(&mut *board).unwrap();
    assert_eq!(second.id.as_str(), "b");
    board.add(&[depending("c", &["b"])]).unwrap();
    assert!(!place.is_woken_by(&mut || assert_eq!(claim(&mut *board), None)), "blocked");
    place.pass(LEASE);
    // It finds nothing, but it parks the task whose worker is dead.
    assert!(place.is_woken_by(&mut || assert_eq!(claim(&mut *board), None)), "parked");
    assert!(!place.is_woken_by(&mut || assert_eq!(claim(&mut *board), None)), "nothing is left");
}

pub fn a_named_task_is_claimed_or_the_reason_is_given(place: &Place) {
    let mut board = place.open();
    board.add(&[task("a"), task("b"), depending("c", &["b"])]).unwrap();
    let claimed = board.claim(Some("b"), "me", LEASE).unwrap().unwrap();
    assert_eq!(claimed.id.as_str(), "b");
    let again = refusal(board.claim(Some("b"), "you", LEASE));
    assert!(matches!(again, Refusal::Status { status: Status::InProgress, .. }));
    assert!(matches!(refusal(board.claim(Some("c"), "you", LEASE)), Refusal::Blocked { .. }));
    assert!(matches!(refusal(board.claim(Some("q"), "you", LEASE)), Refusal::NoSuchTask(_)));
    assert_eq!(board.show("b").unwrap().claimed_by.as_deref(), Some("me"));
}

pub fn a_unique_prefix_is_enough(place: &Place) {
    let mut board = place.open();
    board.add(&[task("abc"), task("abd"), task("ab"), task("x-1")]).unwrap();
    assert_eq!(board.show("ab").unwrap().id.as_str(), "ab", "a whole id comes first");
    assert_eq!(board.show("abc").unwrap().id.as_str(), "abc");
    assert_eq!(board.show("x").unwrap().id.as_str(), "x-1");
    assert!(matches!(refusal(board.show("a")), Refusal::Ambiguous { .. }));
    for nothing in ["", "y", "%", "x_", "AB"] {
        assert!(matches!(refusal(board.show(nothing)), Refusal::NoSuchTask(_)), "{nothing}");
    }
    board.add(&[depending("y", &["x"])]).unwrap();
    assert_eq!(board.show("y").unwrap().depends_on, [TaskId("x-1".into())]);
}

pub fn done_is_final(place: &Place) {
    let mut board = place.open();
    board.add(&[task("a")]).unwrap();
    work(&mut *board, "a");
    for action in [TaskAction::Retry, TaskAction::Cancel { reason: None }] {
        let refused = refusal(board.act("a", &action));
        assert!(matches!(refused, Refusal::Status { status: Status::Done, .. }), "{refused}");
    }
    assert_eq!((claim(&mut *board), board.show("a").unwrap().status), (None, Status::Done));
}

pub fn sizes_and_counts_are_limited(place: &Place) {
    let limits = Limits {
        tasks: 3,
        title_bytes: 20,
        text_bytes: 100,
        dependencies: 1,
        globs: 1,
        ..Limits::default()
    };
    let mut board = place.open_with(limits);
    let bad = [
        NewTask { title: "x".repeat(21), ..task("a") },
        NewTask { title: " ".into(), ..task("a") },
        NewTask { title: "two\nlines".into(), ..task("a") },
        NewTask { description: "x".repeat(101), ..task("a") },
        touching("a", &["x", "y"]),
        touching("a", &["/etc"]),
        depending("a", &["b", "c"]),
    ];
    for task in bad {
        let why = refusal(board.add(std::slice::from_ref(&task))).to_string();
        assert!(!why.contains('\n') && !why.is_empty(), "{why}");
    }
    board.add(&[task("a"), task("b")]).unwrap();
    assert!(matches!(refusal(board.add(&[task("c"), task("d")])), Refusal::TooMany { .. }));
    board.add(&[task("c")]).unwrap();
    for lease in [0, 86_401] {
        let lease = std::time::Duration::from_secs(lease);
        assert!(matches!(refusal(board.claim(None, "w", lease)), Refusal::Lease { .. }));
    }
    // What a worker reports is cut, not refused: its work is done.
    let claimed = claim(&mut *board).unwrap();
    let action = TaskAction::Finish { fence: claimed.fence, result: Some("x".repeat(1000)) };
    let result = board.act("a", &action).unwrap().result.unwrap();
    assert!(result.len() <= 100 && result.starts_with("xxx"), "{result}");
}

pub fn lists_are_filtered_and_limited(place: &Place) {
    let mut board = place.open();
    let tasks: Vec<NewTask> = (0..5).map(|n| task(&format!("t{n}"))).collect();
    board.add(&tasks).unwrap();
    work(&mut *board, "t1");
    work(&mut *board, "t3");
    let list = |board: &mut dyn Board, statuses: &[Status], limit| {
        let found = board.list(&TaskQuery { statuses: statuses.to_vec(), limit }).unwrap();
        (found.tasks.into_iter().map(|task| task.id.0).collect::<Vec<_>>(), found.total)
    };
    let (done, pending) = (Status::Done, Status::Pending);
    assert_eq!(list(&mut *board, &[done], 10), (vec!["t1".into(), "t3".into()], 2));
    assert_eq!(list(&mut *board, &[pending], 2), (vec!["t0".into(), "t2".into()], 3));
    assert_eq!(list(&mut *board, &[done, pending], 10).1, 5);
    assert_eq!(list(&mut *board, &[], 1), (vec!["t0".into()], 5));
}
