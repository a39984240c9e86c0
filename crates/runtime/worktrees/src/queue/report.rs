//! What a merge queue is given and what it answers.

use crate::commit::Author;
use crate::object_id::ObjectId;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// What the caller's check says of merged files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Green,
    /// It ran and failed.
    Red {
        report: String,
    },
    /// It could not be run.
    Unable {
        why: String,
    },
}

pub type CheckFuture<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Looks at merged files, for example by running the tests. The caller decides in which sandbox.
pub trait Check: Send {
    fn check<'a>(&'a mut self, files: &'a Path, commit: &'a ObjectId) -> CheckFuture<'a>;
}

#[derive(Debug, Clone)]
pub struct QueueOptions {
    /// The branch to merge into, without `refs/heads/`.
    pub target: String,
    /// How many branches are checked together.
    pub batch: usize,
    /// How often the check may run in one call.
    pub most_checks: u32,
    /// How often to start again because somebody else moved the target.
    pub retries: u32,
    pub author: Author,
}

impl QueueOptions {
    pub fn new(target: impl Into<String>) -> Self {
        QueueOptions {
            target: target.into(),
            batch: 8,
            most_checks: 100,
            retries: 5,
            author: Author::default(),
        }
    }
}

/// A branch that is to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedBranch {
    /// Without `refs/heads/`.
    pub branch: String,
    /// What is merged of it, wherever that comes from. None: the commit that the branch is at here.
    pub commit: Option<ObjectId>,
}

impl QueuedBranch {
    pub fn here(branch: impl Into<String>) -> Self {
        QueuedBranch { branch: branch.into(), commit: None }
    }
}

/// What became of a branch. Only `Merged` changes anything; in all other cases the branch is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum BranchOutcome {
    /// The target contains it, by this commit.
    Merged { commit: ObjectId },
    /// The target contained it before.
    AlreadyMerged,
    /// There is no such branch.
    Missing,
    /// It cannot be merged with the target as it is now; `with` are branches of this call that it conflicts with.
    Conflict {
        #[serde(serialize_with = "crate::lossy_paths::all")]
        files: Vec<PathBuf>,
        with: Vec<String>,
    },
    /// The check fails with it. `alone`: also without the other branches; else `with` names the one it takes.
    Red { report: String, alone: bool, with: Vec<String> },
    /// Merged and checked, but the target was not moved; see [`Landing::Held`].
    Ready { commit: ObjectId },
    /// The queue stopped before its turn.
    NotReached { why: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BranchReport {
    pub branch: String,
    #[serde(flatten)]
    pub outcome: BranchOutcome,
}

/// What became of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Landing {
    Unchanged,
    /// It moved; if it is checked out somewhere, the files there are up to date.
    Moved {
        #[serde(serialize_with = "crate::lossy_paths::maybe")]
        checkout: Option<PathBuf>,
    },
    /// The checkout of the target must not be touched now. The merged commit is kept under a ref.
    Held {
        why: String,
        reference: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueReport {
    pub target: String,
    pub before: ObjectId,
    pub after: ObjectId,
    pub landing: Landing,
    /// In the order in which they were given.
    pub branches: Vec<BranchReport>,
    pub checks: u32,
    /// An earlier merge was interrupted while it updated this checkout.
    pub interrupted: Option<String>,
}
