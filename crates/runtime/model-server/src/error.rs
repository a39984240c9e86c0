//! What can go wrong at the crate's boundary.

use std::net::SocketAddr;
use std::time::Duration;

/// A script that cannot be used, with the line where that was seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(*.line))]
pub struct ScriptError {
    pub line: Option<u64>,
    pub message: String,
}

fn place(line: Option<u64>) -> String {
    line.map(|line| format!("script line {line}: ")).unwrap_or_else(|| "script: ".into())
}

impl ScriptError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }

    pub(crate) fn at(line: u64, message: impl Into<String>) -> Self {
        Self { line: (line > 0).then_some(line), message: message.into() }
    }

    /// Keeps a line that is already known: the innermost place is the useful one.
    pub(crate) fn or_at(mut self, line: u64) -> Self {
        self.line = self.line.or((line > 0).then_some(line));
        self
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("the model server listens on loopback only, not on {0}; use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    #[error("the model server cannot listen on {addr}: {source}")]
    Listen { addr: SocketAddr, source: std::io::Error },
    #[error("the model server cannot start its thread: {0}")]
    Thread(std::io::Error),
    #[error("waited {waited:?} for {what}; {seen}")]
    Waited { waited: Duration, what: String, seen: String },
    #[error("the model server has stopped")]
    Stopped,
}
