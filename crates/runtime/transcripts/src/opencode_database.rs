//! The database in which opencode keeps sessions. A copy of it is read: opening the original, even for reading, would
//! lock it and could change the files beside it.

use crate::error::TranscriptError;
use crate::json_lines;
use crate::opencode::{StoredMessage, StoredMessages, StoredSession};
use ostler_core::time::Timestamp;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const MAX_DATABASE: u64 = 1 << 30;
/// Characters of a message or a part; a longer one counts as broken.
const MAX_VALUE: u32 = 64 << 20;
const SESSIONS: u32 = 5_000;
const MESSAGES: u32 = 100_000;

pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
    _copy: TempDir,
}

impl Database {
    pub fn open(path: &Path) -> Result<Self, TranscriptError> {
        let file = json_lines::open(path)?;
        let failed = |error: &dyn std::fmt::Display| TranscriptError::io("read", path, error);
        let copy = tempfile::tempdir().map_err(|error| failed(&error))?;
        let name = copy.path().join("copy.db");
        bounded_copy(file, &name, path)?;
        // What is not in the database itself yet.
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if let Ok(file) = json_lines::open(Path::new(&log)) {
            bounded_copy(file, &copy.path().join("copy.db-wal"), path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(&name, flags).map_err(|error| failed(&error))?;
        // The schema is somebody else's: nothing in it may run.
        connection.pragma_update(None, "trusted_schema", false).map_err(|error| failed(&error))?;
        Ok(Database { connection, path: path.to_owned(), _copy: copy })
    }

    pub fn sessions(&self) -> Result<Vec<StoredSession>, TranscriptError> {
        let query = "SELECT s.id, s.title, s.directory, s.parent_id, s.time_created, s.time_updated, \
             (SELECT count(*) FROM message m WHERE m.session_id = s.id) FROM session s \
             ORDER BY s.time_updated DESC LIMIT ?1";
        self.rows(query, [&SESSIONS], |row| {
            Ok(StoredSession {
                id: row.get(0)?,
                title: row.get(1)?,
                directory: PathBuf::from(row.get::<_, String>(2)?),
                is_child: row.get::<_, Option<String>>(3)?.is_some(),
                created: time(row, 4)?,
                updated: time(row, 5)?,
                messages: u64::from(row.get::<_, u32>(6)?),
            })
        })
    }

    pub fn messages(&self, session: &str) -> Result<StoredMessages, TranscriptError> {
        let query = "SELECT id, iif(length(data) <= ?3, data, '') FROM message WHERE session_id = ?1 \
             ORDER BY time_created, id LIMIT ?2";
        let texts = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let messages = self.rows(query, rusqlite::params![session, MESSAGES, MAX_VALUE], texts)?;
        let query = "SELECT id, iif(length(data) <= ?3, data, '') FROM part WHERE message_id = ?1 \
             ORDER BY id LIMIT ?2";
        let mut stored = StoredMessages::default();
        for (id, data) in messages {
            let Ok(info) = serde_json::from_str::<Value>(&data) else {
                stored.broken += 1;
                continue;
            };
            let mut parts = Vec::new();
            for (_, data) in self.rows(query, rusqlite::params![id, MESSAGES, MAX_VALUE], texts)? {
                match serde_json::from_str::<Value>(&data) {
                    Ok(part) => parts.push(part),
                    Err(_) => stored.broken += 1,
                }
            }
            stored.messages.push(StoredMessage { info, parts });
        }
        Ok(stored)
    }

    fn rows<T>(
        &self,
        query: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, TranscriptError> {
        let failed = |error: rusqlite::Error| TranscriptError::io("read", &self.path, error);
        let mut statement = self.connection.prepare(query).map_err(failed)?;
        let rows = statement.query_map(params, read).map_err(failed)?;
        rows.collect::<rusqlite::Result<Vec<T>>>().map_err(failed)
    }
}

fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    let millis: Option<i64> = row.get(at)?;
    Ok(Timestamp(millis.and_then(|millis| u64::try_from(millis).ok()).unwrap_or(0)))
}

fn bounded_copy(mut file: File, to: &Path, path: &Path) -> Result<(), TranscriptError> {
    let failed = |error: io::Error| TranscriptError::io("copy", path, error);
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > MAX_DATABASE {
        let (path, limit) = (path.to_owned(), MAX_DATABASE);
        return Err(TranscriptError::TooLarge { path, bytes, limit });
    }
    let mut copy = File::create_new(to).map_err(failed)?;
    io::copy(&mut file, &mut copy).map_err(failed)?;
    Ok(())
}
