//! The one door to the disk for file tools, what the model has seen, and the way back.

mod atomic;
mod error;
mod files;
mod ledger;
mod nearby;
mod resolve;
mod snapshots;

pub use error::{FileError, Kind};
pub use files::{Content, Files, MAX_CHANGE};
pub use nearby::hint;
pub use snapshots::Reverted;
