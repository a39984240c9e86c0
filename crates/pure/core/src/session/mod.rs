//! The durable conversation: facts, and what they fold to.

mod agent_record;
mod changed_input;
mod entry;
mod fork_point;
mod pending_calls;
mod project;
mod turn_starts;

pub use agent_record::{AgentRecord, AgentState};
pub use changed_input::{changed_input_line, tell_changed_input};
pub use entry::{Entry, FORMAT, Fork, SnapshotCost, StartedBy, Verdict};
pub use fork_point::ForkPoint;
pub use pending_calls::Pending;
pub use project::{Checkpoint, Measured, SessionRecord, Snapshot};
pub use turn_starts::TurnStarts;
