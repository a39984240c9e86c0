//! What callbacks are told about the session as it is at that moment.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

#[derive(Debug, Default)]
pub struct LiveFacts {
    mode: Mutex<String>,
    transcript: OnceLock<PathBuf>,
    session: OnceLock<String>,
}

impl LiveFacts {
    pub fn mode(&self) -> String {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_mode(&self, mode: &str) {
        mode.clone_into(&mut self.mode.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Empty before it is open.
    pub fn session(&self) -> &str {
        self.session.get().map(String::as_str).unwrap_or_default()
    }

    pub fn set_session(&self, id: &str) {
        let _ = self.session.set(id.to_owned());
    }

    pub fn transcript(&self) -> Option<String> {
        self.transcript.get().map(|path| path.to_string_lossy().into_owned())
    }

    pub fn set_transcript(&self, path: &Path) {
        let _ = self.transcript.set(path.to_owned());
    }
}
