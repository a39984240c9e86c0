//! The one door to the disk for file tools, what the model has seen, and the way back.

mod atomic;
mod change;
mod door;
mod error;
mod files;
mod kept;
mod ledger;
mod leftovers;
mod nearby;
mod resolve;
mod snapshots;

pub(crate) use change::{Needs, New, Old};
pub use error::{FileError, Kind};
pub use files::{Content, Files, MAX_CHANGE};
pub(crate) use kept::MAX_ONE;
pub use leftovers::remove_leftovers;
pub use snapshots::{Reverted, level};

#[cfg(test)]
#[path = "races_tests.rs"]
mod races;
