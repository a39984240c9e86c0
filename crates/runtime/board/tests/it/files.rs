//! Files that are no board, damaged, newer, or cannot be written.

use crate::board_cases::task;
use crate::place::{LEASE, open_file};
use ostler_board::{Board, BoardError, BoardFile, Limits, NewTask, Setup};
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

#[test]
fn a_file_that_cannot_be_used_is_left_alone_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.db");
    std::fs::write(&path, "no database at all, but long enough to have a header".repeat(100))
        .unwrap();
    let before = std::fs::read(&path).unwrap();
    let why = why_not(&path);
    assert!(why.contains("damaged or no task board") && why.contains("Restore a copy"), "{why}");
    assert_eq!(std::fs::read(&path).unwrap(), before, "nothing was changed");

    let path = folder.path().join("foreign.db");
    let wait = std::time::Duration::from_secs(1);
    let foreign = ostler_database::open(&path, wait).unwrap();
    foreign.execute_batch("CREATE TABLE photos (name TEXT)").unwrap();
    assert!(why_not(&path).contains("another program"));

    let path = folder.path().join("newer.db");
    drop(opened(&path).unwrap());
    let newer = ostler_database::open(&path, wait).unwrap();
    newer.pragma_update(None, "user_version", 7).unwrap();
    let why = why_not(&path);
    assert!(why.contains("newer version of Ostler") && why.contains("format 7"), "{why}");

    assert!(why_not(&folder.path().join("nowhere/board.db")).contains("Create its directory"));
    assert!(why_not(folder.path()).contains("irectory"));
}

/// A page in the middle is overwritten: whoever meets it says so, and does not go on.
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
