//! How the files are made, and what is not taken for one.

use crate::child;
use ostler_database::{OpenError, open};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(20);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn child_makes_the_files() {
    let Some(path) = child::file() else { return };
    let connection = open(&path, WAIT).unwrap();
    connection.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
    let modes = ["", "-wal", "-shm"].map(|end| mode(&ostler_database::beside(&path, end)));
    child::done(modes.map(|mode| format!("{mode:o}")).join(" "));
}

#[test]
fn all_files_are_private_whatever_the_umask() {
    for mask in ["000", "022", "077"] {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = ["sh", "-c", "umask $0; exec \"$@\"", mask];
        let path = folder.path().join("x.db");
        let output = child::output(&wrapper, "files::child_makes_the_files", &path);
        assert_eq!(child::said(&output), "600 600 600", "umask {mask}");
    }
    // One that an earlier version left open to others is closed.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(&path, WAIT).unwrap());
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_link_is_no_database_but_a_directory_above_may_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.db"), folder.path().join("link.db"));
    drop(open(&real, WAIT).unwrap());
    symlink(&real, &link).unwrap();
    let error = open(&link, WAIT).unwrap_err();
    assert!(matches!(&error, OpenError::Io(io) if io.to_string().contains("a link")), "{error}");
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    fs::create_dir(&there).unwrap();
    symlink(&there, &here).unwrap();
    drop(open(&here.join("x.db"), WAIT).unwrap());
    assert!(there.join("x.db").is_file());
}

#[test]
fn what_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    fs::create_dir(&path).unwrap();
    let error = open(&path, WAIT).unwrap_err().to_string();
    assert!(error.contains("Is a directory"), "{error}");
    let error = open(&folder.path().join("none/x.db"), WAIT).unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}

/// A mapped page that the disk cannot back would end the process, and a cache as large as the file would grow with it.
#[test]
fn neither_mapped_nor_kept_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("x.db"), WAIT).unwrap();
    connection.execute_batch("CREATE TABLE t (text TEXT)").unwrap();
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    assert_eq!(number("mmap_size"), Ok(0));
    let kilobytes = number("cache_size").unwrap();
    assert!((-1_024..0).contains(&kilobytes), "{kilobytes}");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let folder = folder.path().to_str().unwrap();
    // The index of the write-ahead log is, and SQLite has written each page of it before.
    assert!(maps.lines().filter(|line| line.contains(folder)).all(|line| line.ends_with("-shm")));
}
