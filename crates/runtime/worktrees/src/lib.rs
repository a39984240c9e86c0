//! Git worktrees for agents, and the queue that merges their branches.
//!
//! An agent that works in a tree of its own disturbs neither the user nor other agents. The harness makes the tree,
//! commits its content, merges the branch and removes the tree; no model takes part in any of it.
//!
//! Invariants:
//! - **Only git changes a repository, and nothing of the repository runs**: no hooks, no pager, no editor, no prompts;
//!   filters and merge drivers only if the user's own settings name them ([`Git`]).
//! - **The network is used only by `remote.rs`**, which pushes nothing but branches of ours, and never with force, by
//!   `remote_branches.rs`, which fetches such branches to refs of their own, **and by `plain_clone.rs`**, which fetches one commit by one protocol and runs nothing of it.
//! - **Writes go to objects and refs of ours** (`refs/heads/ostler/*`, `refs/ostler/*`), each ref by compare-and-swap.
//!   The exception is the target of a merge, which moves by compare-and-swap, too.
//! - **Work that exists nowhere else is never removed without a person's decision**: commits that no other branch has,
//!   changes that are not committed, untracked and ignored files. Only ignored files go with a tree whose owner ends its
//!   work without having changed anything.
//! - **What a killed process leaves is recognized by its record** and finished or undone at the next start.
//! - **A tree is not trusted**: git is told where the repository is, and a `.git` in the tree is not read.
//! - **A checkout with changes is never touched.**
//! - Bounded: time and output of each call of git, what is copied, what is committed.
//!
//! Deliberately absent: sessions, models, tasks, trust, and running commands of the project; callers pass those in.

mod access;
mod commit;
mod create;
mod dependencies;
mod diff;
mod error;
mod files;
mod git;
mod git_settings;
mod include;
mod list;
mod lossy_paths;
mod names;
mod object_id;
mod overlap;
mod owner;
mod plain_clone;
mod private_view;
mod prune;
mod queue;
mod registry;
mod remote;
mod remote_branches;
mod remove;
mod repository;
mod status;
mod worktrees;

pub use access::TreeAccess;
pub use commit::{Author, Committed};
pub use create::NewTree;
pub use dependencies::Start;
pub use diff::{ChangedFile, TreeDiff};
pub use error::WorktreeError;
pub use git::{Git, GitLimits};
pub use include::{INCLUDE_FILE, read_include_file};
pub use list::{TreeEntry, TreeState};
pub use names::tree_name;
pub use object_id::ObjectId;
pub use overlap::{LineRange, Overlap, SharedFile, TrialMerge};
pub use owner::{Owner, OwnerKind, ProcessMark};
pub use plain_clone::{CloneLimits, GitSource, clone_files};
pub use prune::{Discarded, KeepReason, KeptTree, PruneOptions, PruneReport};
pub use queue::{
    BranchOutcome, BranchReport, Check, CheckFuture, CleanCheckout, Landing, MergeQueue,
    QueueOptions, QueueReport, QueuedBranch, Verdict,
};
pub use registry::{Stage, TreeRecord};
pub use remote::Fetched;
pub use remote_branches::{MOST_FETCHED, RemoteBranch, RemoteBranches};
pub use repository::{Repository, StartPoint, TreeWarning};
pub use status::{PathSample, Uncommitted};
pub use worktrees::{
    BRANCH_PREFIX, CommandFuture, TreeCommands, TreeLimits, Worktree, WorktreeSetup, Worktrees,
};
