//! What workers report while they run.

use ostler_board::TaskId;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// One task in the hands of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskRef {
    pub worker: String,
    pub task: TaskId,
    pub title: String,
    pub attempt: u32,
    pub fence: u64,
}

/// A branch with what an attempt changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkBranch {
    pub branch: String,
    /// None: nothing was changed.
    pub commit: Option<String>,
    /// Repositories and special files, which cannot be part of a commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PathBuf>,
}

/// Each has a line for people, and an object for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkerEvent {
    Claimed {
        #[serde(flatten)]
        task: TaskRef,
    },
    Started {
        #[serde(flatten)]
        task: TaskRef,
        session: String,
        branch: String,
        path: String,
        /// Branches of earlier attempts.
        earlier: Vec<String>,
    },
    Finished {
        #[serde(flatten)]
        task: TaskRef,
        #[serde(flatten)]
        work: WorkBranch,
        cost_usd: Option<f64>,
    },
    Failed {
        #[serde(flatten)]
        task: TaskRef,
        #[serde(flatten)]
        work: Option<WorkBranch>,
        error: String,
    },
    /// The claim went back to the board.
    Returned {
        #[serde(flatten)]
        task: TaskRef,
        #[serde(flatten)]
        work: Option<WorkBranch>,
        reason: String,
    },
    /// Somebody else has the task now, or nobody is to do it any more.
    Lost {
        #[serde(flatten)]
        task: TaskRef,
        #[serde(flatten)]
        work: Option<WorkBranch>,
        reason: String,
    },
    /// Nothing to claim now.
    Waiting,
    /// Something outside failed; the next try comes later.
    Setback {
        reason: String,
        #[serde(serialize_with = "as_seconds")]
        wait: Duration,
    },
    Notice {
        text: String,
    },
}

fn as_seconds<S: serde::Serializer>(wait: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(wait.as_secs_f64())
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.worker, self.task)
    }
}

impl fmt::Display for WorkBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.commit {
            Some(commit) => {
                write!(f, "{} at {}", self.branch, commit.get(..12).unwrap_or(commit))
            }
            None => f.write_str("nothing was changed"),
        }
    }
}

impl fmt::Display for WorkerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = |work: &Option<WorkBranch>| match work {
            Some(WorkBranch { branch, commit: Some(_), .. }) => {
                format!("; its work is on {branch}")
            }
            _ => String::new(),
        };
        match self {
            WorkerEvent::Claimed { task } => {
                write!(f, "{task} claimed: {}", task.title)?;
                match task.attempt {
                    0 | 1 => Ok(()),
                    attempt => write!(f, " (attempt {attempt})"),
                }
            }
            WorkerEvent::Started { task, branch, earlier, .. } => {
                write!(f, "{task} started on {branch}")?;
                match earlier.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; earlier attempts: {}", earlier.join(", ")),
                }
            }
            WorkerEvent::Finished { task, work, .. } => write!(f, "{task} is done: {work}"),
            WorkerEvent::Failed { task, work, error } => {
                let first = error.lines().next().unwrap_or_default();
                write!(f, "{task} failed: {first}{}", kept(work))
            }
            WorkerEvent::Returned { task, work, reason } => {
                write!(f, "{task} returned to the board: {reason}{}", kept(work))
            }
            WorkerEvent::Lost { task, work, reason } => {
                write!(f, "{task} was lost: {reason}{}", kept(work))
            }
            WorkerEvent::Waiting => f.write_str("waiting for tasks"),
            WorkerEvent::Setback { reason, wait } => {
                write!(f, "{reason}; next try in {:.1} s", wait.as_secs_f64())
            }
            WorkerEvent::Notice { text } => f.write_str(text),
        }
    }
}

impl WorkerEvent {
    /// The branch that it names.
    pub(super) fn work(&self) -> Option<WorkBranch> {
        match self {
            WorkerEvent::Finished { work, .. } => Some(work.clone()),
            WorkerEvent::Failed { work, .. }
            | WorkerEvent::Returned { work, .. }
            | WorkerEvent::Lost { work, .. } => work.clone(),
            _ => None,
        }
    }
}
