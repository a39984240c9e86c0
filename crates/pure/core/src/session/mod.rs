//! The durable conversation: facts, and what they fold to.

mod entry;
mod fork_point;
mod project;
mod turn_starts;

pub use entry::{Entry, FORMAT, Fork, SnapshotCost, Verdict};
pub use fork_point::ForkPoint;
pub use project::{Checkpoint, Measured, Pending, SessionRecord, Snapshot};
pub use turn_starts::TurnStarts;
