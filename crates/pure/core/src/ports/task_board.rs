//! The task board, as the tools know it. Leases and fences are left to the implementation.

use super::BoxFuture;
use crate::tool::ToolOutput;

/// What one agent can do with the board. Each agent has its own: it knows who claims.
pub trait TaskBoard: Send + Sync {
    fn add(&self, order: BoardOrder) -> BoxFuture<'static, ToolOutput>;

    fn look(&self, look: BoardLook) -> BoxFuture<'static, ToolOutput>;

    /// Claims the next task, or this one. The claim is kept alive until the task is updated or the session ends.
    fn claim(&self, id: Option<String>) -> BoxFuture<'static, ToolOutput>;

    fn update(&self, id: String, change: BoardChange) -> BoxFuture<'static, ToolOutput>;
}

/// A task to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoardOrder {
    pub title: String,
    pub description: String,
    /// By name; none: medium.
    pub priority: Option<String>,
    pub depends_on: Vec<String>,
    pub touches: Vec<String>,
}

/// What to show of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardLook {
    /// Those with this status, by name; none: all.
    List {
        status: Option<String>,
    },
    Task {
        id: String,
    },
}

/// What becomes of a task. The words come from the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardChange {
    /// Only for a task that this agent has claimed, like a failure.
    Done {
        result: Option<String>,
    },
    Failed {
        error: String,
    },
    /// It can be claimed again. Also for a task that failed, was parked or was cancelled.
    Returned {
        why: Option<String>,
    },
    Cancelled {
        reason: Option<String>,
    },
}
