//! A disk that fills up, at every page that one of the three files may need.

use crate::child;
use rusqlite::Connection;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PAGE: usize = 4096;
/// Enough for a new database, its log and the log's index, and some rows.
const PAGES: usize = 48;

fn open(path: &Path) -> Result<Connection, ostler_database::OpenError> {
    let connection = ostler_database::open(path, Duration::from_secs(20))?;
    connection.execute_batch("CREATE TABLE IF NOT EXISTS t (n INTEGER, text TEXT)")?;
    Ok(connection)
}

/// Takes all room but so many pages.
fn fill(folder: &Path, but: usize) {
    let spare = folder.join("spare");
    fs::write(&spare, vec![1; but * PAGE]).unwrap();
    let mut rest = fs::File::create(folder.join("rest")).unwrap();
    while rest.write_all(&[2; PAGE]).is_ok() {}
    fs::remove_file(spare).unwrap();
}

/// Writes until the disk is full, makes room, and finds everything that was acknowledged; again and again.
#[test]
fn child_on_a_small_disk() {
    let Some(path) = child::file() else { return };
    let folder = path.parent().unwrap();
    let (mut refused, mut kept) = (0, 0);
    for room in 0..PAGES {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(ostler_database::beside(&path, ending));
        }
        fill(folder, room);
        let mut acknowledged = 0u32;
        let opened = open(&path);
        match &opened {
            Ok(connection) => {
                let text = "x".repeat(3_000);
                while let Ok(1) = connection.execute("INSERT INTO t VALUES (1, ?1)", [&text]) {
                    acknowledged += 1;
                    assert!(acknowledged < 500, "the disk never fills");
                }
                // Still nothing worse than an error, also for who comes later.
                assert!(connection.execute("INSERT INTO t VALUES (1, ?1)", [&text]).is_err());
                let _ = open(&path).map(|other| other.execute("INSERT INTO t VALUES (2, '')", []));
            }
            Err(_) => refused += 1,
        }
        drop(opened);
        fs::remove_file(folder.join("rest")).unwrap();
        let connection = open(&path).unwrap();
        let ours = "SELECT count(*) FROM t WHERE n = 1";
        let rows: u32 = connection.query_row(ours, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, acknowledged, "with {room} pages");
        let check = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        assert_eq!(check, Ok("ok".to_owned()));
        kept += rows;
    }
    child::done(format!("{refused} refused, {kept} rows kept"));
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are part of the result")]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        println!(
            "SKIPPED full disk: `unshare -rm` is not possible, so no small disk can be mounted"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o size=1m,mode=700 none "$0" && exec "$@""#;
    let wrapper = ["unshare", "-rm", "sh", "-c", mount, folder.path().to_str().unwrap()];
    let path = folder.path().join("x.db");
    let output = child::output(&wrapper, "full_disk::child_on_a_small_disk", &path);
    println!("full disk, {PAGES} sizes: {}", child::said(&output));
}
