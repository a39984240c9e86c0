//! The durable conversation: facts, and what they fold to.

mod entry;
mod project;

pub use entry::{Entry, FORMAT, Fork, SnapshotCost, Verdict};
pub use project::{Checkpoint, Measured, Pending, Session, Snapshot};
