//! The team of a session, as its tools know it.

use super::{BoxFuture, TaskBoard};
use crate::tool::ToolOutput;
use std::sync::Arc;

/// What one member of a team can do with the others. Each member has its own: it knows who is speaking.
pub trait Teamwork: Send + Sync {
    /// Whether this member gives tasks to the others.
    fn is_lead(&self) -> bool;

    /// Gives a task to a teammate and does not wait for it.
    fn assign(&self, to: &str, task: String) -> BoxFuture<'static, ToolOutput>;

    /// Approves the plan of a teammate that has this sha256.
    fn approve(&self, name: &str, sha256: String) -> BoxFuture<'static, ToolOutput>;

    /// Asks a teammate to end. It may finish its turn; the call does not wait for it.
    fn stop(&self, name: &str) -> ToolOutput;

    /// A message to a teammate, or to all of them (`*`). The call does not wait for an answer.
    fn send(&self, to: &str, message: String, wants_answer: bool)
    -> BoxFuture<'static, ToolOutput>;

    /// Whether a teammate has this name.
    fn is_teammate(&self, name: &str) -> bool;

    /// Who they are, and what they are doing.
    fn list(&self) -> BoxFuture<'static, ToolOutput>;

    /// The task board, for a member that works in the name of the team.
    fn board(&self) -> Option<Arc<dyn TaskBoard>>;

    /// Names of teammates with what they are for.
    fn teammates(&self) -> Vec<(String, String)>;
}
