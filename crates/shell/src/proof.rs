//! What a proof says.

use ostler_core::permission::script::Script;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Every command in the text is known, and only reads.
    Harmless {
        /// Every file it names. What is not here is not read, apart from what the programs themselves need.
        reads: Vec<ReadPath>,
        /// It runs git: the proof holds only under [`GIT_OVERRIDES`](crate::GIT_OVERRIDES) and behind
        /// [`GIT_PRELUDE`](crate::GIT_PRELUDE).
        git: bool,
    },
    /// Nothing is claimed. Most such commands are fine; somebody else has to say so.
    Unproved {
        why: String,
        /// What could be understood.
        script: Option<Script>,
    },
}

impl Proof {
    pub fn is_harmless(&self) -> bool {
        matches!(self, Proof::Harmless { .. })
    }
}

/// A path as written, after quote removal: relative to the working directory of the command, not resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPath {
    pub path: String,
    pub kind: ReadKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// This file.
    File,
    /// This file, or the directory and everything below it. Links below it are not followed.
    Tree,
    /// A pattern: whatever it matches, and everything below that. A match can be a link to anywhere, so a gate that
    /// does not expand the pattern itself must take it for a path outside the workspace.
    Glob,
}
