//! Opening a database: private, checked for its version, shared with other processes.

use super::withdrawal;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The layout this program writes. A higher one is refused untouched.
const VERSION: i64 = 1;
/// How long another process may hold the database.
const PATIENCE: Duration = Duration::from_secs(5);
/// Databases set aside, at most; more and something else is wrong.
const MOST_ASIDE: u32 = 100;

const LAYOUT: &str = "
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    kind TEXT NOT NULL,
    session TEXT,
    turn INTEGER,
    source TEXT,
    key TEXT,
    at INTEGER NOT NULL,
    used INTEGER NOT NULL
);
CREATE UNIQUE INDEX memories_by_key ON memories (session, key) WHERE key IS NOT NULL;
CREATE TABLE vectors (id INTEGER PRIMARY KEY, model TEXT NOT NULL, scale REAL NOT NULL, vector BLOB NOT NULL);
-- Hashes of what was forgotten: not learnt again by itself.
CREATE TABLE forgotten (hash TEXT PRIMARY KEY) WITHOUT ROWID;
-- Moves on when something is taken away, so that other processes read everything again.
CREATE TABLE taken (n INTEGER NOT NULL);
INSERT INTO taken VALUES (0);
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER memories_in AFTER INSERT ON memories BEGIN
    INSERT INTO words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER memories_out AFTER DELETE ON memories BEGIN
    INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
    DELETE FROM vectors WHERE id = old.id;
    UPDATE taken SET n = n + 1;
END;
PRAGMA user_version = 1;
";

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error(
        "it was written by a newer version of this program (layout {0}). Update, or move it away"
    )]
    Newer(i64),
}

pub fn open(path: &Path) -> Result<Connection, OpenError> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    // Made by us first, so that it is private from its first byte; its log gets the same rights.
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    drop(file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    match connection.pragma_update(None, "journal_mode", "wal") {
        // Another process is at it at this moment, which is as good.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {}
        other => other?,
    }
    connection.pragma_update(None, "synchronous", "normal")?;
    // What is removed is overwritten.
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.pragma_update(None, "trusted_schema", "off")?;
    if version(&connection)? == 0 {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if version(&transaction)? == 0 {
            transaction.execute_batch(LAYOUT)?;
        }
        transaction.commit()?;
    }
    match version(&connection)? {
        VERSION => {
            connection.execute_batch(withdrawal::LAYOUT)?;
            Ok(connection)
        }
        newer => Err(OpenError::Newer(newer)),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Gives the database and its log another name.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let named = |ending: &str| {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        path.with_file_name(name)
    };
    for n in 1..=MOST_ASIDE {
        let aside = named(&format!(".broken-{n}"));
        if aside.exists() {
            continue;
        }
        for ending in ["-wal", "-shm"] {
            let part = named(ending);
            if part.exists() {
                fs::rename(part, named(&format!(".broken-{n}{ending}")))?;
            }
        }
        fs::rename(path, &aside)?;
        return Ok(aside);
    }
    Err(io::Error::other("too many broken databases stand beside it; remove some"))
}
