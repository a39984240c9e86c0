//! What can still be read of a damaged database continues in the new one, under the same numbers. Each row is checked
//! by its hash, so that no damaged text is taken over.

use super::open::{self, MemoryOpenError};
use crate::text::hash_of;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use std::path::Path;

const ENTRIES: &str =
    "SELECT id, hash, text, kind, session, turn, source, key, at, used FROM memories ORDER BY id";
const ENTRIES_BACKWARDS: &str = "SELECT id, hash, text, kind, session, turn, source, key, at, used FROM memories ORDER BY id DESC";
const PUT: &str =
    "INSERT OR IGNORE INTO memories (id, hash, text, kind, session, turn, source, key, at, used)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// How many entries were saved. Reads up to the damage from the beginning, then from the end.
pub fn salvage(from: &Path, to: &Path) -> usize {
    saved(from, to).unwrap_or(0)
}

fn saved(from: &Path, to: &Path) -> Result<usize, MemoryOpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let old = Connection::open_with_flags(from, flags)?;
    let mut new = open::open(to)?;
    let transaction = new.transaction()?;
    let mut count = 0;
    for direction in [ENTRIES, ENTRIES_BACKWARDS] {
        let Ok(mut statement) = old.prepare(direction) else { continue };
        let Ok(mut rows) = statement.query([]) else { continue };
        while let Ok(Some(row)) = rows.next() {
            let values: rusqlite::Result<Vec<Value>> = (0..10).map(|at| row.get(at)).collect();
            let Ok(values) = values else { break };
            let whole = matches!(values.as_slice(), [_, Value::Text(hash), Value::Text(text), ..] if hash_of(text) == *hash);
            if whole {
                count += transaction.prepare_cached(PUT)?.execute(params_from_iter(values))?;
            }
        }
    }
    if let Ok(mut statement) = old.prepare("SELECT hash FROM forgotten")
        && let Ok(mut rows) = statement.query([])
    {
        while let Ok(Some(row)) = rows.next() {
            let Ok(hash) = row.get::<_, String>(0) else { break };
            transaction.execute("INSERT OR IGNORE INTO forgotten VALUES (?1)", [hash])?;
        }
    }
    transaction.commit()?;
    Ok(count)
}
