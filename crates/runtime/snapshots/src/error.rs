//! What can go wrong, in words for whoever wanted a snapshot.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("there are more than {0} files in the directories")]
    TooMany(u64),
    #[error("more than {} GB would have to be read at once", .0 >> 30)]
    TooMuch(u64),
    #[error("another process has been using the snapshots in {} for too long", .0.display())]
    Busy(PathBuf),
    #[error(
        "a command is running in this directory{0}: wait until it has ended, or stop it, and try again"
    )]
    Running(String),
    #[error("another undo is running in this directory; try again when it has ended")]
    Undoing,
    #[error("there is no snapshot {0}")]
    Unknown(u64),
    #[error("snapshots {0} and {1} cannot be compared: the records in between are lost")]
    Broken(u64, u64),
    #[error("the content {0} is missing or damaged in the snapshots")]
    Lost(String),
    #[error("cannot take snapshots of the whole disk: work in a project directory")]
    WholeDisk,
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Error::Io { doing, path: path.to_path_buf(), source: source.into() }
    }
}
