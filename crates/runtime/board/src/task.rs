//! A task, and what happened to it.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// Unique on a board. People may shorten it to any prefix that fits one task only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub String);

impl TaskId {
    /// A short id from a random UUID.
    pub fn from_uuid(uuid: &str) -> Self {
        TaskId(short_id(uuid))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One of a board that somebody else wrote to may contain anything.
        self.0.chars().take(SHOWN).try_for_each(|letter| match letter {
            '-' | '_' | '.' => f.write_char(letter),
            letter if letter.is_ascii_alphanumeric() => f.write_char(letter),
            _ => f.write_char('?'),
        })
    }
}

/// Characters of an id that are shown.
const SHOWN: usize = 64;

/// 48 bits of it. The store refuses an id that exists.
pub(crate) fn short_id(uuid: &str) -> String {
    uuid.chars().filter(|letter| *letter != '-').take(12).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Done,
    Failed,
    /// Taken out of circulation because its workers keep dying.
    Parked,
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 6] = [
        Status::Pending,
        Status::InProgress,
        Status::Done,
        Status::Failed,
        Status::Parked,
        Status::Cancelled,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Parked => "parked",
            Status::Cancelled => "cancelled",
        }
    }
}

/// The first is handed out first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    High,
    #[default]
    Medium,
    Low,
}

impl Priority {
    pub const ALL: [Priority; 3] = [Priority::High, Priority::Medium, Priority::Low];

    pub fn name(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Medium => "medium",
            Priority::Low => "low",
        }
    }
}

/// A task to add. Adding the same id again is refused, so a repeated request adds nothing twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    pub id: TaskId,
    pub title: String,
    pub description: String,
    pub priority: Priority,
    /// Ids of tasks that are added together with this one, or ids or unique prefixes of tasks on the board.
    pub depends_on: Vec<String>,
    /// Globs of the files that it will change.
    pub touches: Vec<String>,
}

impl NewTask {
    pub fn new(id: TaskId, title: impl Into<String>) -> Self {
        NewTask {
            id,
            title: title.into(),
            description: String::new(),
            priority: Priority::Medium,
            depends_on: Vec::new(),
            touches: Vec::new(),
        }
    }
}

/// A task as it is now. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    pub id: TaskId,
    pub status: Status,
    pub title: String,
    /// Left out of lists, like the result and the history.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub priority: Priority,
    pub depends_on: Vec<TaskId>,
    pub touches: Vec<String>,
    pub claimed_by: Option<String>,
    /// Of the last claim, if there was one.
    pub fence: Option<u64>,
    /// Until when the claim is valid; none unless it is in progress.
    pub lease_until: Option<u64>,
    /// How often it was claimed.
    pub attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    pub error: Option<String>,
    /// What keeps a pending task from being handed out.
    pub blocked_by: Vec<Blocker>,
    pub created_ms: u64,
    pub changed_ms: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
}

/// A dependency that is not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocker {
    pub id: TaskId,
    pub status: Status,
    /// Why it will not be done by itself: its error.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    pub at_ms: u64,
    #[serde(flatten)]
    pub event: TaskEvent,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TaskEvent {
    Added,
    Claimed {
        worker: String,
        fence: u64,
    },
    Finished {
        fence: u64,
    },
    Failed {
        fence: u64,
        error: String,
    },
    /// Its worker gave it back.
    Returned {
        fence: u64,
        reason: String,
    },
    /// The lease ended without a word from the worker; the task can be claimed again.
    LeaseExpired {
        worker: String,
        fence: u64,
    },
    Parked {
        reason: String,
    },
    Retried,
    Cancelled {
        reason: Option<String>,
    },
}
