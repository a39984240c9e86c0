//! What can go wrong, each in one line that says what to do.

use crate::rules::Objection;
use crate::task::Status;
use ostler_database::{OpenError, is_damage, is_out_of_room};
use rusqlite::ErrorCode;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, thiserror::Error)]
pub enum BoardError {
    #[error("cannot use the task board {}: {why}. {hint}", path.display())]
    File { path: PathBuf, why: String, hint: &'static str },
    #[error(
        "cannot use the task board {}: a newer version of Ostler wrote it (format {format}). Update Ostler, or choose another file with --board",
        path.display()
    )]
    TooNew { path: PathBuf, format: i64 },
    /// The address without its password.
    #[error("cannot use the task board {address}: {why}. {hint}")]
    Server { address: String, why: String, hint: &'static str },
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The board works, but this is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no task {0}; `ostler tasks list` shows all of them")]
    NoSuchTask(String),
    #[error("{prefix} fits several tasks: {}; use a longer prefix", ids.join(", "))]
    Ambiguous { prefix: String, ids: Vec<String> },
    #[error("cannot add \"{title}\": it depends on {id}, which does not exist")]
    NoSuchDependency { title: String, id: String },
    #[error("cannot add these tasks: they depend on each other in a cycle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    #[error("task {0} already exists")]
    Exists(String),
    #[error("task {id} is {}, so it cannot be {action}", status.name())]
    Status { id: String, status: Status, action: &'static str },
    #[error(
        "task {id} is not claimed with fence {fence}: {why}. What you did for it is not recorded"
    )]
    Stale { id: String, fence: u64, why: &'static str },
    #[error("task {id} is blocked: it depends on {by}, which is {}{}", status.name(), because(reason.as_deref()))]
    Blocked { id: String, by: String, status: Status, reason: Option<String> },
    #[error("task {id} has to wait: {with} is in progress and touches the same files")]
    Overlaps { id: String, with: String },
    #[error(
        "task {id} cannot be used: its entry on the server is damaged ({why}). Restore the server's data, or add the task again"
    )]
    Damaged { id: String, why: String },
    #[error("{what} has {bytes} bytes, and at most {most} are allowed")]
    TooLong { what: &'static str, bytes: usize, most: usize },
    #[error("there are {count} {what}, and at most {most} are allowed")]
    TooMany { what: &'static str, count: u64, most: u64 },
    #[error("{what} is empty or contains control characters: \"{name}\"")]
    Name { what: &'static str, name: String },
    #[error("a task id has up to 64 letters, digits, \"-\" and \"_\", unlike \"{0}\"")]
    Id(String),
    #[error("the title of a task is one line without control characters, and not empty")]
    Title,
    #[error("{0}")]
    Glob(String),
    #[error("a lease of {seconds} seconds is not possible; choose {least} to {most}")]
    Lease { seconds: u64, least: u64, most: u64 },
    #[error("there is no mail {0}; `ostler mail list --all` shows all of it")]
    NoSuchMail(String),
    #[error("a different mail {0} already exists")]
    MailExists(String),
    #[error("the mailbox of {to} is full: {unread} unread. Wait until {to} has read some")]
    MailboxFull { to: String, unread: u64 },
    #[error("the delivery of mail {0} is over: it was delivered again, or is settled")]
    StaleDelivery(String),
    #[error(
        "mail {0} came from Ostler itself and cannot be answered; acknowledge it without a reply"
    )]
    NoReply(String),
    #[error("{0} is a name that Ostler uses itself; choose another one")]
    Reserved(String),
}

fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

impl Refusal {
    /// What the rules object to, in words.
    pub fn of(objection: Objection, id: &str, action: &'static str, fence: u64) -> Refusal {
        let id = id.to_owned();
        match objection {
            Objection::Status(status) => Refusal::Status { id, status, action },
            Objection::Stale => {
                Refusal::Stale { id, fence, why: "that is not the fence of its last claim" }
            }
            Objection::LeaseOver => Refusal::Stale { id, fence, why: "that lease has expired" },
        }
    }
}

fn is_unreadable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

const DAMAGED: &str = "Restore a copy, or move the file away to start an empty board";
const CHECK: &str = "Check the file and its directory";

impl BoardError {
    pub(crate) fn of(path: &Path) -> impl Fn(rusqlite::Error) -> BoardError + '_ {
        |error| {
            let (why, hint) = match error.sqlite_error_code() {
                _ if is_damage(&error) => {
                    ("it is damaged, or it is not a task board".to_owned(), DAMAGED)
                }
                // Somebody has edited it by hand.
                _ if is_unreadable(&error) => {
                    (format!("an entry in it is damaged ({error})"), DAMAGED)
                }
                _ if is_out_of_room(&error) => {
                    ("the disk is full".to_owned(), "Free some disk space")
                }
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    ("another process keeps it locked".to_owned(), "Try again")
                }
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                    (error.to_string(), "Check that you can write the file and its directory")
                }
                _ => (error.to_string(), CHECK),
            };
            BoardError::File { path: path.to_owned(), why, hint }
        }
    }

    pub(crate) fn opening(path: &Path) -> impl Fn(OpenError) -> BoardError + '_ {
        |error| match error {
            OpenError::Sqlite(error) => BoardError::of(path)(error),
            OpenError::Io(error) => BoardError::io(path)(error),
            OpenError::Foreign => BoardError::foreign(path),
        }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> BoardError + '_ {
        |error| {
            let hint = match error.kind() {
                ErrorKind::NotFound => "Create its directory first",
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "Free some disk space",
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    "Check that you can write the file and its directory"
                }
                _ => CHECK,
            };
            BoardError::File { path: path.to_owned(), why: error.to_string(), hint }
        }
    }

    pub(crate) fn gone(path: &Path) -> BoardError {
        let why = "its file was removed or replaced while it was open".to_owned();
        let hint = "Restore it, or start again to use the new one";
        BoardError::File { path: path.to_owned(), why, hint }
    }

    pub(crate) fn foreign(path: &Path) -> BoardError {
        let why = "it is a database of another program".to_owned();
        BoardError::File { path: path.to_owned(), why, hint: "Choose another file with --board" }
    }
}
