//! Whether the file knows what the logs know. A new one does not; nor does one that could not be written.

use crate::db::Db;
use crate::error::Error;
use crate::row::mark;
use ostler_database::beside;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// Stands for all sessions among those whose logs may know more.
pub(crate) const EVERY: &str = "*";
/// An empty file for what the database itself could not take.
const MISSED: &str = ".missed";

/// Tells the ledger what the logs of all sessions hold.
pub type Fill = Arc<dyn Fn(&mut Db) -> Result<(), Error> + Send + Sync>;

impl Db {
    /// Whether the logs of all sessions should be read, because nobody knows which of them know more.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn is_incomplete(&self) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM unsettled WHERE session = ?1)";
        let marked = self.connection.query_row(sql, [EVERY], |row| row.get(0));
        Ok(marked.map_err(Error::of(&self.path))? || beside(&self.path, MISSED).exists())
    }

    /// Has everything told that the logs hold, and remembers that it was. If `fill` fails, the next one tries again.
    ///
    /// # Errors
    /// If the file cannot be written, or `fill` failed.
    pub fn complete<E: From<Error>>(
        &mut self,
        fill: impl FnOnce(&mut Db) -> Result<(), E>,
    ) -> Result<(), E> {
        self.change(|tx| mark(tx, EVERY, true))?;
        // What is missed from here on makes a new one.
        let _ = fs::remove_file(beside(&self.path, MISSED));
        fill(self)?;
        Ok(self.change(|tx| mark(tx, EVERY, false))?)
    }
}

/// The database could not be told, not even that. An empty file often can be made on a full disk.
pub(crate) fn missed(path: &Path) {
    let _ = OpenOptions::new().create(true).append(true).mode(0o600).open(beside(path, MISSED));
}
