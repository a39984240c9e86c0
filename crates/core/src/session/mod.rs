//! The durable conversation: facts, and what they fold to.

mod entry;
mod project;

pub use entry::{Entry, FORMAT, Fork, Verdict};
pub use project::{Pending, Session, Snapshot, Spend};
