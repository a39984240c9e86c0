//! The file: opening it, its format, and transactions.

use crate::completeness::EVERY;
use crate::damaged_file::{heal, is_mended};
use crate::error::Error;
use crate::row::mark;
use ostler_database::{open, patient};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SCHEMA: &str = include_str!("schema.sql");
const FORMAT: i64 = 2;
/// From format 1: whose a reservation is.
const WHOSE: &str = include_str!("whose.sql");
/// How long one process waits for another's transaction; each takes well under a millisecond.
const BUSY: Duration = Duration::from_secs(10);

/// An open ledger. Not shared between threads: each opens its own.
#[derive(Debug)]
pub struct Db {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    pub(crate) set_aside: Option<PathBuf>,
}

impl Db {
    /// Opens the file, or makes it, readable by its owner alone. A damaged one is set aside, and a new one made.
    ///
    /// # Errors
    /// If it cannot be read and written, or is of a newer version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        match Db::open_as_it_is(path) {
            Err(Error::TooNew(path, format)) => Err(Error::TooNew(path, format)),
            // Whoever repairs it may be moving it this very moment: again, after them.
            Err(error) if error.is_damage() || is_mended(path) => heal(path),
            done => done,
        }
    }

    /// Where the damaged file is that this one replaced, in words; told once.
    pub fn set_aside(&mut self) -> Option<String> {
        let aside = self.set_aside.take()?;
        let path = self.path.display();
        Some(format!(
            "The ledger {path} was damaged. It is now {}, and a new one is built from the logs.",
            aside.display()
        ))
    }

    pub(crate) fn open_as_it_is(path: &Path) -> Result<Self, Error> {
        let connection = open(path, BUSY).map_err(Error::opening(path))?;
        let mut db = Db { path: path.into(), connection, set_aside: None };
        db.prepare()?;
        Ok(db)
    }

    fn prepare(&mut self) -> Result<(), Error> {
        let path = self.path.clone();
        match self.format()? {
            FORMAT => Ok(()),
            newer if newer > FORMAT => Err(Error::TooNew(path, newer)),
            _ => self.change(|tx| {
                // Another process may have been here in the meantime.
                let now: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
                match now {
                    0 => tx.execute_batch(SCHEMA).and_then(|()| mark(tx, EVERY, true))?,
                    1 => tx.execute_batch(WHOSE)?,
                    _ => return Ok(()),
                }
                tx.pragma_update(None, "user_version", FORMAT)?;
                Ok(())
            }),
        }
    }

    fn format(&self) -> Result<i64, Error> {
        patient(|| self.connection.pragma_query_value(None, "user_version", |row| row.get(0)))
            .map_err(Error::of(&self.path))
    }

    /// One transaction that nobody writes beside: what is read in it still holds when it is written.
    pub(crate) fn change<T>(
        &mut self,
        act: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let path = &self.path;
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let tx = tx.map_err(Error::of(path))?;
        let done = act(&tx).map_err(Error::of(path))?;
        tx.commit().map_err(Error::of(path))?;
        Ok(done)
    }
}
