//! Why a transcript cannot be used.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    #[error("cannot {doing} {path}: {why}")]
    Io { doing: &'static str, path: PathBuf, why: String },
    #[error("{path} is not a transcript: it is {what}, not a file")]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("{path} has {bytes} bytes; the limit for a transcript is {limit}")]
    TooLarge { path: PathBuf, bytes: u64, limit: u64 },
    #[error("{0} contains no conversation that can be read")]
    Empty(PathBuf),
    #[error("{prefix} matches several transcripts: {}. Give more of the id", .ids.join(", "))]
    Ambiguous { prefix: String, ids: Vec<String> },
}

impl TranscriptError {
    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
        why: impl std::fmt::Display,
    ) -> Self {
        TranscriptError::Io { doing, path: path.into(), why: why.to_string() }
    }
}
