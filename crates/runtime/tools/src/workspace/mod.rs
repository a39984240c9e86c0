//! The one door to the disk for file tools, what the model has seen, and the way back.

mod atomic_write;
mod change;
mod door;
mod error;
mod files;
mod leftovers;
mod path_suggestion;
mod resolve;
mod seen_contents;
mod seen_files;
mod snapshots;

pub(crate) use change::{Needs, New, Old};
pub use error::{FileError, FileErrorKind};
pub use files::{FileContent, Files, MAX_CHANGE};
pub use leftovers::remove_leftovers;
pub(crate) use seen_contents::MAX_ONE;
pub use snapshots::{Reverted, level};

#[cfg(test)]
#[path = "races_tests.rs"]
mod races;
