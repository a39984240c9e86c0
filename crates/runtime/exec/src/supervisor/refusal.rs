//! Why a command was not started: a code for the client, and words where a code is not enough.

use crate::wire::{LaunchStage, WireFailure};

#[derive(Debug)]
pub(super) struct LaunchRefusal {
    pub failure: WireFailure,
    pub words: String,
}

impl LaunchRefusal {
    pub(super) fn sandbox(words: impl Into<String>) -> Self {
        Self { failure: WireFailure { stage: LaunchStage::Sandbox, errno: 0 }, words: words.into() }
    }
}

impl From<WireFailure> for LaunchRefusal {
    fn from(failure: WireFailure) -> Self {
        Self { failure, words: String::new() }
    }
}
