//! What can go wrong with the file.

use ostler_core::ports::LedgerError;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "cannot use the ledger {path}: {why}. If it is damaged, remove it and run `ostler cost --rebuild`"
    )]
    File { path: PathBuf, why: String },
    #[error(
        "the ledger {0} was written by a newer version (format {1}). Update, or remove the file"
    )]
    TooNew(PathBuf, i64),
}

impl Error {
    pub(crate) fn of(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
        |error| Error::File { path: path.to_owned(), why: error.to_string() }
    }

    pub(crate) fn for_engine(&self, path: &Path) -> LedgerError {
        LedgerError { path: path.display().to_string(), why: self.to_string() }
    }
}
