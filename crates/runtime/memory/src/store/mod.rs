//! One database of memories. Several processes may use it at once; a broken one is set aside, never removed.

mod open;
mod rows;
mod salvage;
mod withdrawal;
mod word_search;

use crate::index::VectorIndex;
use ostler_core::memory::{MemoryError, Scope};
use ostler_database::{OpenError as FileError, is_damage};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use rows::Stored;

/// Entries of one database; beyond this the least useful go.
pub const MOST_ENTRIES: usize = 100_000;

pub(crate) struct Store {
    path: PathBuf,
    scope: Scope,
    most: usize,
    inner: Mutex<Inner>,
}

pub(crate) struct Inner {
    connection: Option<Connection>,
    index: VectorIndex,
    /// What the person should know, once.
    notices: Vec<String>,
}

impl Store {
    /// Opens nothing yet: a session that remembers nothing pays nothing.
    pub(crate) fn new(path: PathBuf, scope: Scope, most: usize) -> Self {
        let inner = Inner { connection: None, index: VectorIndex::default(), notices: Vec::new() };
        Store { path, scope, most, inner: Mutex::new(inner) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.inner().notices)
    }

    pub(crate) fn id(&self, row: i64) -> String {
        let letter = match self.scope {
            Scope::Project => 'p',
            Scope::User => 'u',
        };
        format!("{letter}{row}")
    }

    /// Does something with the database. If it proves broken it is set aside, and the work is done on a new one.
    fn with<T>(
        &self,
        mut work: impl FnMut(&mut Connection, &mut VectorIndex) -> rusqlite::Result<T>,
    ) -> Result<T, MemoryError> {
        let mut inner = self.inner();
        let mut last = None;
        for _ in 0..2 {
            let outcome = match inner.connected(&self.path) {
                Ok((connection, index)) => {
                    work(connection, index).map_err(open::MemoryOpenError::from)
                }
                Err(error) => Err(error),
            };
            match outcome {
                Ok(value) => return Ok(value),
                Err(open::MemoryOpenError::File(FileError::Sqlite(error))) if is_damage(&error) => {
                    inner.set_aside(&self.path, &error)?;
                    last = Some(error.to_string());
                }
                Err(error) => return Err(self.unavailable(&error.to_string())),
            }
        }
        Err(self.unavailable(&last.unwrap_or_default()))
    }

    fn unavailable(&self, why: &str) -> MemoryError {
        MemoryError::Unavailable(format!("{}: {why}", self.path.display()))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn connected(
        &mut self,
        path: &Path,
    ) -> Result<(&mut Connection, &mut VectorIndex), open::MemoryOpenError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => open::open(path)?,
        };
        Ok((self.connection.insert(connection), &mut self.index))
    }

    fn set_aside(&mut self, path: &Path, why: &rusqlite::Error) -> Result<(), MemoryError> {
        self.connection = None;
        self.index = VectorIndex::default();
        let aside = ostler_database::set_aside(path).map_err(|error| {
            MemoryError::Unavailable(format!("{}: {why}; {error}", path.display()))
        })?;
        let saved = match salvage::salvage(&aside, path) {
            0 => "nothing in it could be read".to_owned(),
            1 => "one entry was recovered".to_owned(),
            n => format!("{n} entries were recovered"),
        };
        self.notices.push(format!(
            "The memory {} was damaged ({why}). It was renamed to {}, and a new one was created; {saved}.",
            path.display(),
            aside.display()
        ));
        Ok(())
    }
}
