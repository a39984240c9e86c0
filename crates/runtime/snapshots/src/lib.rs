//! Incremental snapshots of directories, and the way back.
//!
//! ```text
//! <dir>/index            the last known state of every folder, in one piece
//! <dir>/journal          one record a snapshot: what differs from the one before, with both sides of it
//! <dir>/objects/<2>/<62> contents by hash; objects of git by a further name of the same file
//! <dir>/lock             one process at a time
//! <dir>/undoing          one undo at a time
//! <dir>/alive-<32>       signs of life of a command whose end was not seen yet
//! <dir>/roots, denied    where sessions worked, and the deny rules of the last one
//! <dir>/visitors         sessions of other projects that were resumed here
//! <dir>/commands         held by running commands together, by an undo alone
//! <dir>/edits            what file tools wrote
//! ```
//!
//! Invariants
//! - **What is unchanged is looked at, not read**: stamps are compared; a file that changed too shortly before it was
//!   read is read again. "Before" is by the file system's own clock, which a file made there tells ([`Moment`]).
//! - **A process that dies at any point leaves a readable store.** Files are replaced whole, records are appended with
//!   a checksum, and the index is at most older than the journal. Nothing is synced: after a power cut a content may
//!   be damaged, which is found by its hash before it is used.
//! - **Nothing is restored over what a person changed since**: see [`merge`].
//! - **Links are never followed**; directories are opened from their root's descriptor.
//! - **What was not seen before was not made by a command**: a directory that becomes readable, small enough or a root is
//!   taken over as it is.
//! - **What is not kept is known**: [`Snapshots::left_out`].
//!
//! Deliberately absent: owners, times and extended attributes of files, the clock (it is passed in), async, starting
//! git.

mod apply;
mod clock;
mod codec;
mod diff;
mod disk;
mod door;
mod edits;
mod error;
mod git_index;
mod git_refs;
mod index;
mod item;
mod journal;
mod label;
pub mod merge;
mod objects;
mod occupancy;
mod plan;
mod prune;
mod record;
mod repositories;
mod restore;
mod resumption;
mod session_memo;
mod signs_of_life;
mod special_names;
mod store;
mod undo_notes;
mod walk;

pub use clock::Moment;
pub use diff::DiffPart;
pub use edits::ToolEdit;
pub use error::Error;
pub use item::{Hash, SnapshotItem, What, Why};
pub use label::Label;
pub use objects::LARGE;
pub use occupancy::{Alone, Occupied};
pub use plan::{Fate, PathState, PlanOutcome, RestoreAction, RestorePlan, UndoUnit, WantedState};
pub use prune::{PruneRule, Pruned};
pub use record::RecordedChange;
pub use signs_of_life::{Alive, Lived};
pub use special_names::{BUILD_BYTES, BUILD_FILES};
pub use store::{AFTER_COMMAND, Config, ListedSnapshot, Snapshots, Taken};
pub use undo_notes::NotesRead;
