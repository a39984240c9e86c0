//! What a task board does, whatever keeps it.

use crate::error::BoardError;
use crate::overview::DamagedEntry;
use crate::task::{NewTask, Status, Task, TaskId};
use crate::task_action::TaskAction;
use std::time::Duration;

/// One handle of a board. Several, in any number of threads and processes, may share one board; each thread has its own.
///
/// Every backend passes the same suite (`tests/it/board_cases.rs`).
pub trait Board: Send {
    /// Adds all of them or none. Nothing else sees a part of them.
    ///
    /// # Errors
    /// If one is refused, or the board cannot be used; so for all functions here.
    fn add(&mut self, tasks: &[NewTask]) -> Result<Vec<TaskId>, BoardError>;

    /// Claims the next task, or this one. None: there is nothing to claim now.
    fn claim(
        &mut self,
        id: Option<&str>,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, BoardError>;

    /// Everything that happens to one task after it was added, except a claim and the end of a lease.
    fn act(&mut self, id: &str, action: &TaskAction) -> Result<Task, BoardError>;

    /// Everything about one task.
    fn show(&mut self, id: &str) -> Result<Task, BoardError>;

    /// The task that [`Board::claim`] would hand out now.
    fn next(&mut self) -> Result<Option<Task>, BoardError>;

    fn list(&mut self, query: &TaskQuery) -> Result<TaskList, BoardError>;
}

/// A task that is now yours, until the lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub id: TaskId,
    pub fence: u64,
    pub lease_until: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskQuery {
    /// None: all.
    pub statuses: Vec<Status>,
    pub limit: usize,
}

impl Default for TaskQuery {
    fn default() -> Self {
        TaskQuery { statuses: Vec::new(), limit: 1_000 }
    }
}

/// In the order in which they were added. Descriptions, results and histories are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    pub tasks: Vec<Task>,
    /// How many fit, shown or not.
    pub total: u64,
    /// What cannot be read and was set aside: on a server, others can write.
    pub damaged: Vec<DamagedEntry>,
}
