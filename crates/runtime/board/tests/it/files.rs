//! Files that are no board, damaged, newer, or cannot be written.

use crate::board_cases::task;
use crate::place::{LEASE, open_file};
use ostler_board::{Board, BoardError, BoardFile, Limits, NewTask, Setup, TaskAction};
use ostler_core::time::{Clock, SteppingClock};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

fn clock() -> Arc<dyn Clock> {
    Arc::new(SteppingClock::default())
}

fn opened(path: &Path) -> Result<BoardFile, BoardError> {
    BoardFile::open(path, Setup { clock: clock(), limits: Limits::default() })
}

#[track_caller]
fn why_not(path: &Path) -> String {
    let why = opened(path).map(drop).unwrap_err().to_string();
    assert!(why.contains(path.to_str().unwrap()) && !why.contains('\n'), "{why}");
    why
}

fn made_readable_for_all(path: &Path) -> (Vec<u8>, u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    contents_and_mode(path)
}

fn contents_and_mode(path: &Path) -> (Vec<u8>, u32) {
    let mode = std::fs::metadata(path).unwrap().permissions().mode();
    (std::fs::read(path).unwrap(), mode & 0o7777)
}

#[test]
fn a_file_that_cannot_be_used_is_left_alone_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.db");
    std::fs::write(&path, "no database at all, but long enough to have a header".repeat(100))
        .unwrap();
    let before = made_readable_for_all(&path);
    let why = why_not(&path);
    assert!(
        why.contains("damaged, or it is not a task board") && why.contains("Restore a copy"),
        "{why}"
    );
    assert_eq!(contents_and_mode(&path), before, "nothing was changed");

    let path = folder.path().join("foreign.db");
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE photos (name TEXT)").unwrap();
    drop(foreign);
    let before = made_readable_for_all(&path);
    assert!(why_not(&path).contains("another program"));
    assert_eq!(contents_and_mode(&path), before, "also its kind of journal is as it was");
    let wait = std::time::Duration::from_secs(1);

    let path = folder.path().join("newer.db");
    drop(opened(&path).unwrap());
    let newer = ostler_database::open(&path, wait).unwrap();
    newer.pragma_update(None, "user_version", 7).unwrap();
    let why = why_not(&path);
    assert!(why.contains("newer version of Ostler") && why.contains("format 7"), "{why}");

    assert!(why_not(&folder.path().join("nowhere/board.db")).contains("Create its directory"));
    assert!(why_not(folder.path()).contains("irectory"));
}

/// Otherwise a worker would report to a file that nobody else sees.
#[test]
fn a_file_that_is_gone_is_noticed_by_whoever_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.db");
    let mut board = opened(&path).unwrap();
    board.add(&[task("a")]).unwrap();
    let fence = board.claim(None, "w", LEASE).unwrap().unwrap().fence;
    for name in ["board.db", "board.db-wal", "board.db-shm"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let finish = TaskAction::Finish { fence, result: None };
    let mut refused = || {
        for why in [board.act("a", &finish).map(drop), board.show("a").map(drop)] {
            let why = why.unwrap_err().to_string();
            assert!(why.contains("its file was removed or replaced"), "{why}");
        }
    };
    refused();
    // Another board in its place is not the same one.
    let mut other = opened(&path).unwrap();
    other.add(&[task("a")]).unwrap();
    refused();
    assert_eq!(other.show("a").unwrap().attempt, 0);
}

/// Fault corpus G17: SQLite refuses most of what a person could get wrong; what was wrong before is named.
#[test]
fn a_file_that_is_edited_by_hand_is_refused_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.db");
    opened(&path).unwrap().add(&[task("a"), task("b")]).unwrap();
    let wait = std::time::Duration::from_secs(1);
    let hand = ostler_database::open(&path, wait).unwrap();
    for change in [
        "tasks SET status = 17",
        "tasks SET status = 'done'",
        "tasks SET priority = 'high'",
        "tasks SET priority = 3",
        "tasks SET touches = 'src/**'",
        "tasks SET title = x'ff00'",
        "tasks SET lease_until = 'tomorrow'",
        "tasks SET waits_for = -1",
        "history SET event = 'added'",
    ] {
        let done = hand.execute_batch(&format!("UPDATE {change}"));
        let error = done.expect_err(change).to_string();
        assert!(error.contains("constraint") || error.contains("cannot store"), "{error}");
    }
    // As in files of earlier versions, which accepted everything.
    hand.pragma_update(None, "writable_schema", "ON").unwrap();
    let open_schema =
        "UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'tasks'";
    assert_eq!(hand.execute(open_schema, []).unwrap(), 1);
    drop(hand);
    let hand = ostler_database::open(&path, wait).unwrap();
    hand.execute_batch("UPDATE tasks SET lease_until = 'tomorrow' WHERE id = 'a'").unwrap();
    let why = opened(&path).unwrap().show("a").unwrap_err().to_string();
    assert!(why.contains("an entry in it is damaged (") && why.contains("Restore a copy"), "{why}");
    assert!(!why.contains('\n'), "{why}");
}

/// Fault corpus G17, torn: a page in the middle is overwritten: whoever meets it says so, and does not go on.
#[test]
fn damage_that_is_met_later_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.db");
    let mut board = opened(&path).unwrap();
    let tasks: Vec<NewTask> = (0..500).map(|n| task(&format!("t{n}"))).collect();
    board.add(&tasks).unwrap();
    drop(board);
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 20 * 4096);
    bytes[4096..].fill(0x55);
    std::fs::write(&path, bytes).unwrap();
    let failed = opened(&path).and_then(|mut board| board.claim(None, "w", LEASE));
    let why = failed.unwrap_err().to_string();
    assert!(why.contains("damaged") && why.contains("Restore a copy"), "{why}");
}

#[test]
fn its_files_are_private_and_it_is_whole_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.db");
    let mut board = open_file(&path, clock());
    board.add(&[task("a")]).unwrap();
    for name in ["board.db", "board.db-wal", "board.db-shm", "board.db.bell"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    drop(board);
    assert_eq!(open_file(&path, clock()).show("a").unwrap().title, "task a");
}

/// Whoever comes second may look at the file at any moment of its making.
#[test]
fn a_new_board_can_be_made_by_several_at_once() {
    const ROUNDS: usize = 100;
    const THREADS: usize = 6;
    let folder = tempfile::tempdir().unwrap();
    let together = std::sync::Barrier::new(THREADS);
    let make = || {
        (0..ROUNDS).filter_map(|round| {
            together.wait();
            opened(&folder.path().join(format!("{round}.db"))).err()
        })
    };
    let failed: Vec<BoardError> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(|| make().collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} failed, the first because {}", failed.len(), failed[0]);
}

#[test]
fn the_default_limits_hold_in_a_file() {
    crate::default_limits::of_mail(&crate::place::sqlite());
}
