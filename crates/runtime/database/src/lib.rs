//! An SQLite file that several processes share.
//!
//! Invariants
//! - **Private**: the file is readable by its owner alone from its first byte, and so are the files next to it.
//! - **Only SQLite opens the file.** The kernel's locks belong to a process, not to a descriptor: closing any descriptor
//!   of the file drops those that SQLite holds. Another process would then take the file for unused, remove its
//!   write-ahead log, and what is written after that would be lost.
//! - **A full disk is an error, not a signal.** No page of the file is mapped. The index of the write-ahead log is, and
//!   SQLite writes each page of it before it maps it.
//! - **A damaged file is set aside, never removed.**

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{Access, CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PRIVATE: u32 = 0o600;
/// Two first openings at once may meet; one of them tries again.
const TRIES: u32 = 200;
const BETWEEN: Duration = Duration::from_millis(5);
/// Pages that one connection keeps in memory, in KB below zero. More would only grow with the file.
const CACHE: i64 = -512;
/// Files set aside, at most; more and something else is wrong.
const MOST_ASIDE: u32 = 100;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("it belongs to another program")]
    Foreign,
}

/// Opens the file, or creates it. `wait` is how long another process may keep it locked.
///
/// # Errors
/// If it cannot be read and written.
pub fn open(path: &Path, wait: Duration) -> Result<Connection, OpenError> {
    open_if(path, wait, |connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).map(|_| true)
    })
}

/// Like `open`, for a path that the user has chosen: a file of another program stays as it is, its mode and journal
/// included. SQLite looks at it, since any other reader would release the locks of this process when it closes the file.
///
/// # Errors
/// `Foreign` if `is_ours` says no, and as `open`.
pub fn open_if(
    path: &Path,
    wait: Duration,
    is_ours: impl Fn(&Connection) -> rusqlite::Result<bool>,
) -> Result<Connection, OpenError> {
    make(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(real(path)?, flags)?;
    connection.busy_timeout(wait)?;
    if !patient(|| is_ours(&connection))? {
        return Err(OpenError::Foreign);
    }
    make_private(path)?;
    patient(|| connection.pragma_update(None, "journal_mode", "WAL"))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(connection)
}

/// Made without opening it, and with our mode, because SQLite would use that of the umask.
fn make(path: &Path) -> io::Result<()> {
    match mknodat(CWD, path, FileType::RegularFile, Mode::from_raw_mode(PRIVATE), 0) {
        Ok(()) => return Ok(()),
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Err(io::Error::other("it is a link. Remove it"));
    }
    if metadata.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK)?;
    Ok(())
}

fn make_private(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o7777 != PRIVATE {
        fs::set_permissions(path, Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

/// SQLite refuses links anywhere in the path; those above the file are the user's own.
fn real(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if !folder.as_os_str().is_empty() => {
            Ok(folder.canonicalize()?.join(name))
        }
        _ => Ok(path.to_owned()),
    }
}

/// Changing the journal's mode does not wait for others by itself, nor does the first look at a new file.
///
/// # Errors
/// The error of `act`, unless the database was only busy and became free within a second.
pub fn patient<T>(mut act: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let mut tries = 0;
    loop {
        match act() {
            Err(error) if tries < TRIES && is_busy(&error) => std::thread::sleep(BETWEEN),
            done => return done,
        }
        tries += 1;
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// SQLite has two codes for it, depending on which of its files had to grow.
pub fn is_out_of_room(error: &rusqlite::Error) -> bool {
    let grow =
        |error: &rusqlite::ffi::Error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
    error.sqlite_error_code() == Some(ErrorCode::DiskFull) || error.sqlite_error().is_some_and(grow)
}

/// Gives the file and what belongs to it another name: `<name>.broken-1`.
///
/// # Errors
/// If that is not possible.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    for n in 1..=MOST_ASIDE {
        let aside = beside(path, &format!(".broken-{n}"));
        if aside.exists() {
            continue;
        }
        for ending in ["-wal", "-shm"] {
            let part = beside(path, ending);
            if part.exists() {
                fs::rename(part, beside(path, &format!(".broken-{n}{ending}")))?;
            }
        }
        fs::rename(path, &aside)?;
        return Ok(aside);
    }
    Err(io::Error::other("there are too many broken databases next to it; remove some"))
}

/// The file whose name is this one's with an ending.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}
