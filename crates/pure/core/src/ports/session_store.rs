//! Where sessions live.

use crate::ids::SessionId;
use crate::session::{Entry, ForkPoint};
use crate::time::Timestamp;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {doing} {path}: {why}")]
    Io { doing: &'static str, path: PathBuf, why: String },
    #[error(
        "cannot use {path}: it belongs to another user ({owner}, not {me}). Remove it, or set OSTLER_HOME to another directory"
    )]
    OtherOwner { path: PathBuf, owner: u32, me: u32 },
    #[error("there is no session {0}. `ostler sessions` lists those of this directory")]
    NotFound(SessionId),
    #[error("session {0} exists already")]
    Exists(SessionId),
    #[error(
        "session {id} is open in another process ({owner}). Close it there, or fork the session"
    )]
    Locked { id: SessionId, owner: String },
    #[error(
        "session {id} was written by a newer version (format {format}). Update, or start a new session"
    )]
    TooNew { id: SessionId, format: u16 },
    #[error("{0} is not a session log: {1}")]
    NotALog(PathBuf, String),
    #[error(
        "session {0} cannot be resumed: its log {1} is empty. Delete the file and start a new session"
    )]
    Empty(SessionId, PathBuf),
    #[error("cannot fork at {at}: session {id} has {there_are}")]
    NoSuchPoint { id: SessionId, at: ForkPoint, there_are: String },
    #[error("blob {0} is missing or damaged")]
    BlobLost(String),
}

/// An open log: the only writer of its session until it is dropped.
pub trait SessionLog: Send + Sync {
    fn id(&self) -> &SessionId;
    /// One write; after a kill at most the last line is torn.
    fn append(&self, entry: &Entry) -> Result<(), StoreError>;
    /// Everything appended so far survives a loss of power. Blocks for the disk.
    fn sync(&self) -> Result<(), StoreError>;
    /// The same while nobody waits for it yet, so that the next sync has less to do. What fails is said by the next sync.
    fn sync_ahead(&self) {}
    /// Shows every entry written so far, oldest first, also what a boundary stands for, until `see` says that it has
    /// seen enough. What cannot be read is passed over. A log that keeps nothing shows nothing.
    fn visit(&self, see: &mut dyn FnMut(u64, Entry) -> ControlFlow<()>) -> Result<(), StoreError> {
        let _ = see;
        Ok(())
    }
}

/// A log that was opened again.
pub struct Loaded {
    pub log: Arc<dyn SessionLog>,
    pub entries: Vec<Entry>,
    /// What was found wrong and put aside, one line each.
    pub notices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SessionInfo {
    pub id: SessionId,
    pub title: String,
    pub messages: u64,
    pub created: Timestamp,
    pub modified: Timestamp,
}

pub trait SessionStore: Send + Sync {
    /// Starts a log; `first` is its `Opened` entry.
    fn create(&self, first: Entry) -> Result<Arc<dyn SessionLog>, StoreError>;
    fn open(&self, id: &SessionId) -> Result<Loaded, StoreError>;
    /// Copies what `from` holds into a new session; `first` is the new log's `Opened` entry.
    fn fork(&self, from: &SessionId, first: Entry) -> Result<Loaded, StoreError> {
        self.fork_at(from, ForkPoint::End, first)
    }
    /// The same up to a point. Calls that are open there are answered as after a crash.
    fn fork_at(&self, from: &SessionId, at: ForkPoint, first: Entry) -> Result<Loaded, StoreError>;
    /// Sessions of one workspace, newest first.
    fn list(&self, workspace: &Path) -> Result<Vec<SessionInfo>, StoreError>;
}
