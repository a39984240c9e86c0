//! Why a command was not started: a code for the client, and words where a code is not enough.

use crate::wire::{Failure, Stage};

#[derive(Debug)]
pub(super) struct Refused {
    pub failure: Failure,
    pub words: String,
}

impl Refused {
    pub(super) fn sandbox(words: impl Into<String>) -> Self {
        Self { failure: Failure { stage: Stage::Sandbox, errno: 0 }, words: words.into() }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { failure, words: String::new() }
    }
}
