//! What can go wrong with the file, and what to do about it.

use ostler_core::ports::LedgerError;
use ostler_database::{OpenError, is_damage, is_out_of_room};
use rusqlite::ErrorCode;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the ledger {path} cannot be used: {why}. {}", trouble.hint())]
    File { path: PathBuf, why: String, trouble: Trouble },
    #[error(
        "the ledger {0} was written by a newer version (format {1}). Update, or remove the file"
    )]
    TooNew(PathBuf, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Damaged,
    NoRoom,
    NoRight,
    Other,
}

impl Trouble {
    fn hint(self) -> &'static str {
        match self {
            Trouble::Damaged => "It is damaged: remove it, and run `ostler cost --rebuild`",
            Trouble::NoRoom => "Free some disk space",
            Trouble::NoRight => "Check that you can write the file and its directory",
            Trouble::Other => "Check the file and its directory",
        }
    }
}

impl Error {
    pub(crate) fn of(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
        |error| {
            let trouble = match error.sqlite_error_code() {
                _ if is_damage(&error) => Trouble::Damaged,
                _ if is_out_of_room(&error) => Trouble::NoRoom,
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Trouble::NoRight,
                _ => Trouble::Other,
            };
            let why = match trouble {
                Trouble::NoRoom => "the disk is full".to_owned(),
                _ => error.to_string(),
            };
            Error::File { path: path.to_owned(), why, trouble }
        }
    }

    pub(crate) fn opening(path: &Path) -> impl Fn(OpenError) -> Error + '_ {
        |error| match error {
            OpenError::Io(error) => Error::io(path)(error),
            OpenError::Foreign => Error::io(path)(std::io::Error::other(error)),
            OpenError::Sqlite(error) => Error::of(path)(error),
        }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
        |error| {
            let trouble = match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Trouble::NoRoom,
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Trouble::NoRight,
                _ => Trouble::Other,
            };
            Error::File { path: path.to_owned(), why: error.to_string(), trouble }
        }
    }

    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Error::File { trouble: Trouble::Damaged, .. })
    }

    /// Without the name of the file.
    pub(crate) fn why(&self) -> String {
        match self {
            Error::File { why, .. } => why.clone(),
            Error::TooNew(_, format) => format!("a newer version wrote it (format {format})"),
        }
    }

    pub(crate) fn for_engine(&self, path: &Path) -> LedgerError {
        let hint = match self {
            Error::File { trouble, .. } => trouble.hint(),
            Error::TooNew(..) => "Update, or remove the file",
        };
        let why = format!("{}. {hint}", self.why());
        LedgerError { path: path.display().to_string(), why }
    }
}
