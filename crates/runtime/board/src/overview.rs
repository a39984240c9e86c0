//! What is going on at a board, as one look at it.

use crate::task::{Status, Task};
use serde::Serialize;

/// Claims that are named, and mailboxes.
pub const MOST_SHOWN: usize = 1_000;
pub const MINUTE_MS: u64 = 60_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoardOverview {
    /// The file, or the address without its password.
    pub board: String,
    pub tasks: TaskCounts,
    pub finished: Throughput,
    /// Who works on what, by name; at most [`MOST_SHOWN`] claims.
    pub workers: Vec<WorkerClaim>,
    /// Mailboxes with mail that is not settled, by name.
    pub mail: Vec<MailBacklog>,
    /// What cannot be read and was set aside.
    pub damaged: Vec<DamagedEntry>,
    /// None if the board is a file.
    pub server: Option<ServerState>,
}

/// An entry of a board that somebody else has changed or removed. It is not used, and everything else is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedEntry {
    /// `task 3f2a81c09e4d` or `mail …`.
    pub entry: String,
    pub why: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    pub pending: u64,
    /// Pending, and everything it depends on is done.
    pub ready: u64,
    pub in_progress: u64,
    pub done: u64,
    pub failed: u64,
    pub parked: u64,
    pub cancelled: u64,
}

impl TaskCounts {
    /// In the order of [`Status::ALL`].
    pub fn of(counts: [u64; 6], ready: u64) -> Self {
        let [pending, in_progress, done, failed, parked, cancelled] = counts;
        TaskCounts { pending, ready, in_progress, done, failed, parked, cancelled }
    }
}

/// Tasks that were finished not longer ago than that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Throughput {
    pub last_minute: u64,
    pub last_5_minutes: u64,
}

/// Times are milliseconds since the Unix epoch, by the clock of the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkerClaim {
    pub worker: String,
    pub task: String,
    pub title: String,
    pub attempt: u32,
    pub fence: u64,
    pub lease_until: u64,
    /// When it was claimed or last renewed.
    pub heartbeat_ms: u64,
}

impl WorkerClaim {
    /// By worker and task. A task that is not in progress has none.
    pub fn all(tasks: Vec<Task>) -> Vec<WorkerClaim> {
        let held = tasks.into_iter().filter(|task| task.status == Status::InProgress);
        let mut claims: Vec<WorkerClaim> = held
            .map(|task| WorkerClaim {
                worker: task.claimed_by.unwrap_or_default(),
                task: task.id.0,
                title: task.title,
                attempt: task.attempt,
                fence: task.fence.unwrap_or_default(),
                lease_until: task.lease_until.unwrap_or_default(),
                heartbeat_ms: task.changed_ms,
            })
            .collect();
        claims.sort_by(|a, b| (&a.worker, &a.task).cmp(&(&b.worker, &b.task)));
        claims
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MailBacklog {
    pub to: String,
    pub unread: u64,
    /// In the hands of its reader.
    pub delivered: u64,
    /// When the oldest of them was sent.
    pub oldest_ms: u64,
}

/// What a server says of itself. None: it does not tell this user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerState {
    /// `redis` or `valkey`.
    pub product: Option<String>,
    pub version: Option<String>,
    /// `master` or `slave`, as the server calls it.
    pub role: Option<String>,
    pub replicas: Option<u64>,
    pub clients: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// 0: no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Whether changes are written to disk as they happen.
    pub aof: Option<bool>,
    /// `always`, `everysec` or `no`.
    pub aof_sync: Option<String>,
    pub aof_last_write: Option<String>,
}
