//! Several connections of one process beside another process.

use crate::child;
use rusqlite::Connection;
use rustix::fs::{FlockOperation, fcntl_lock};
use std::path::Path;
use std::time::Duration;

fn open(path: &Path) -> Connection {
    ostler_database::open(path, Duration::from_secs(20)).unwrap()
}

fn count(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
}

/// Says how many rows there are, and whether the file seems to be unused.
#[test]
fn child_looks() {
    let Some(path) = child::file() else { return };
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let unused = fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    drop(file);
    let connection = open(&path);
    let rows = count(&connection);
    drop(connection);
    child::done(format!("{rows} rows, unused: {unused}"));
}

/// Who closes a file that nobody else uses removes its write-ahead log. While we have it open it is in use, whichever of
/// our connections came last.
#[test]
fn another_process_sees_that_the_file_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let first = open(&path);
    first.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)").unwrap();
    // A second connection of the same process, as the ledger has for reserving and for recording.
    let second = open(&path);
    for rows in 1..4 {
        let seen = child::said(&child::output(&[], "sharing::child_looks", &path));
        assert_eq!(seen, format!("{rows} rows, unused: false"));
        let connection = if rows % 2 == 0 { &first } else { &second };
        connection.execute("INSERT INTO t VALUES (2)", []).unwrap();
    }
    drop((first, second));
    assert_eq!(count(&open(&path)), 4);
}
