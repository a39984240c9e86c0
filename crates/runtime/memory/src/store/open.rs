//! Opening a database: private, checked for its version, shared with other processes.

use super::withdrawal;
use rusqlite::{Connection, TransactionBehavior};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// The layout this program writes. A higher one is refused untouched.
const VERSION: i64 = 1;
/// How long another process may keep the database locked.
const PATIENCE: Duration = Duration::from_secs(5);

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
pub enum MemoryOpenError {
    #[error("{0}")]
    File(#[from] ostler_database::OpenError),
    #[error(
        "it was written by a newer version of Ostler (layout {0}). Update Ostler, or move the file away"
    )]
    Newer(i64),
}

impl From<io::Error> for MemoryOpenError {
    fn from(error: io::Error) -> Self {
        MemoryOpenError::File(error.into())
    }
}

impl From<rusqlite::Error> for MemoryOpenError {
    fn from(error: rusqlite::Error) -> Self {
        MemoryOpenError::File(error.into())
    }
}

pub fn open(path: &Path) -> Result<Connection, MemoryOpenError> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    let mut connection = ostler_database::open(path, PATIENCE)?;
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
        newer => Err(MemoryOpenError::Newer(newer)),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
