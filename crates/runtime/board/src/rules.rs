//! The rules of the task board: what may happen to a task, which one is next, what may depend on what.
//!
//! No I/O, no clock, no randomness: the store passes in the time and the fence. Tested by walking every state of small
//! boards (`rules_tests.rs`).

use crate::task::{Priority, Status, TaskEvent};
use crate::touches::Touches;
use std::collections::HashMap;

/// What the rules know of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskState {
    pub status: Status,
    pub worker: Option<String>,
    /// Of the last claim; 0 before the first.
    pub fence: u64,
    pub lease_until: u64,
    pub attempt: u32,
    /// Leases in a row that ended without a word from the worker.
    pub losses: u32,
    pub result: Option<String>,
    pub error: Option<String>,
}

impl TaskState {
    pub fn new() -> Self {
        TaskState {
            status: Status::Pending,
            worker: None,
            fence: 0,
            lease_until: 0,
            attempt: 0,
            losses: 0,
            result: None,
            error: None,
        }
    }

    /// In progress, but its lease has ended: the next look at the board returns it.
    pub fn has_lapsed(&self, now: u64) -> bool {
        self.status == Status::InProgress && self.lease_until <= now
    }
}

impl Default for TaskState {
    fn default() -> Self {
        TaskState::new()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The store chose the fence; it is higher than every one before.
    Claim {
        worker: String,
        fence: u64,
        until: u64,
    },
    Renew {
        fence: u64,
        until: u64,
    },
    Finish {
        fence: u64,
        result: Option<String>,
    },
    Fail {
        fence: u64,
        error: String,
    },
    Return {
        fence: u64,
        reason: String,
    },
    /// The lease has ended.
    Expire {
        most_losses: u32,
    },
    Retry,
    Cancel {
        reason: Option<String>,
    },
}

/// What a change leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    To(TaskState, Option<TaskEvent>),
    /// The same was recorded before: a repeated request.
    Recorded,
}

/// Why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// Somebody else has claimed it since, or nobody did.
    Stale,
    /// The lease ended; whoever held it may have been replaced already.
    LeaseOver,
    Status(Status),
}

/// Applies one change to one task. Blocked and overlapping tasks are the business of [`first_claimable`].
///
/// # Errors
/// If the task is not in a state for it, or the fence is not the current one.
pub fn step(state: &TaskState, change: &Change, now: u64) -> Result<Step, Objection> {
    let mut to = state.clone();
    let event = match change {
        Change::Claim { worker, fence, until } => {
            expect(state, &[Status::Pending])?;
            to.status = Status::InProgress;
            to.worker = Some(worker.clone());
            (to.fence, to.lease_until) = (*fence, *until);
            to.attempt = state.attempt.saturating_add(1);
            (to.result, to.error) = (None, None);
            Some(TaskEvent::Claimed { worker: worker.clone(), fence: *fence })
        }
        Change::Renew { fence, until } => {
            held(state, *fence, now)?;
            to.lease_until = (*until).max(state.lease_until);
            None
        }
        Change::Finish { fence, .. }
        | Change::Fail { fence, .. }
        | Change::Return { fence, .. }
            if is_recorded(state, change, *fence) =>
        {
            return Ok(Step::Recorded);
        }
        Change::Finish { fence, result } => {
            held(state, *fence, now)?;
            (to.status, to.result, to.losses) = (Status::Done, result.clone(), 0);
            Some(TaskEvent::Finished { fence: *fence })
        }
        Change::Fail { fence, error } => {
            held(state, *fence, now)?;
            (to.status, to.error, to.losses) = (Status::Failed, Some(error.clone()), 0);
            Some(TaskEvent::Failed { fence: *fence, error: error.clone() })
        }
        Change::Return { fence, reason } => {
            held(state, *fence, now)?;
            (to.status, to.losses) = (Status::Pending, 0);
            Some(TaskEvent::Returned { fence: *fence, reason: reason.clone() })
        }
        Change::Expire { most_losses } => return expired(state, *most_losses, now),
        Change::Retry => {
            expect(state, &[Status::Failed, Status::Parked, Status::Cancelled])?;
            (to.status, to.error, to.losses) = (Status::Pending, None, 0);
            Some(TaskEvent::Retried)
        }
        Change::Cancel { .. } if state.status == Status::Cancelled => return Ok(Step::Recorded),
        Change::Cancel { reason } => {
            let open = [Status::Pending, Status::InProgress, Status::Failed, Status::Parked];
            expect(state, &open)?;
            (to.status, to.error) = (Status::Cancelled, reason.clone());
            Some(TaskEvent::Cancelled { reason: reason.clone() })
        }
    };
    if to.status != Status::InProgress {
        to.lease_until = 0;
    }
    Ok(Step::To(to, event))
}

fn expired(state: &TaskState, most_losses: u32, now: u64) -> Result<Step, Objection> {
    if !state.has_lapsed(now) {
        return Err(Objection::Status(state.status));
    }
    let mut to = state.clone();
    (to.lease_until, to.losses) = (0, state.losses.saturating_add(1));
    let worker = state.worker.clone().unwrap_or_default();
    if to.losses >= most_losses {
        let reason =
            format!("{} workers in a row lost their lease on it, the last was {worker}", to.losses);
        (to.status, to.error) = (Status::Parked, Some(reason.clone()));
        return Ok(Step::To(to, Some(TaskEvent::Parked { reason })));
    }
    to.status = Status::Pending;
    let event = TaskEvent::LeaseExpired { worker, fence: state.fence };
    Ok(Step::To(to, Some(event)))
}

fn expect(state: &TaskState, allowed: &[Status]) -> Result<(), Objection> {
    if allowed.contains(&state.status) { Ok(()) } else { Err(Objection::Status(state.status)) }
}

/// The caller still holds the lease.
fn held(state: &TaskState, fence: u64, now: u64) -> Result<(), Objection> {
    if state.fence != fence || fence == 0 {
        return Err(Objection::Stale);
    }
    match state.status {
        Status::InProgress if state.lease_until > now => Ok(()),
        Status::InProgress | Status::Pending | Status::Parked => Err(Objection::LeaseOver),
        status => Err(Objection::Status(status)),
    }
}

/// The holder of this very claim has reported the same end before.
fn is_recorded(state: &TaskState, change: &Change, fence: u64) -> bool {
    let end = match change {
        Change::Finish { .. } => Status::Done,
        // The end of the lease has returned it as well.
        Change::Return { .. } => Status::Pending,
        _ => Status::Failed,
    };
    fence != 0 && state.fence == fence && state.status == end
}

/// A pending task, as the choice of the next one sees it.
#[derive(Clone, Debug)]
pub struct Candidate<K> {
    pub key: K,
    pub priority: Priority,
    /// Tasks were added in this order.
    pub order: u64,
    /// All of its dependencies are done.
    pub is_unblocked: bool,
    pub touches: Touches,
}

/// The rank of a candidate: lower is handed out earlier.
pub fn rank<K>(candidate: &Candidate<K>) -> (Priority, u64) {
    (candidate.priority, candidate.order)
}

/// The first of the candidates, which come in the order of their [`rank`], that is unblocked and touches nothing that a
/// task in progress touches.
pub fn first_claimable<K>(
    candidates: impl IntoIterator<Item = Candidate<K>>,
    in_progress: &[Touches],
) -> Option<K> {
    candidates
        .into_iter()
        .find(|candidate| {
            candidate.is_unblocked
                && !in_progress.iter().any(|held| held.overlap(&candidate.touches))
        })
        .map(|candidate| candidate.key)
}

/// A cycle among tasks that are added together, as a path that ends where it began. Tasks that exist cannot be part of
/// one: they depend on nothing that is new.
pub fn cycle<'a>(tasks: &[(&'a str, Vec<&'a str>)]) -> Option<Vec<&'a str>> {
    let index: HashMap<&str, usize> =
        tasks.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    let mut is_clear = vec![false; tasks.len()];
    for start in 0..tasks.len() {
        // The path from `start`, each with the number of the dependency to look at next.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((at, position)) = path.pop() {
            let (id, dependencies) = tasks.get(at)?;
            let Some(name) = dependencies.get(position) else {
                if let Some(clear) = is_clear.get_mut(at) {
                    *clear = true;
                }
                continue;
            };
            path.push((at, position + 1));
            let Some(next) = index.get(name).copied() else { continue };
            if let Some(from) = path.iter().position(|(on_path, _)| *on_path == next) {
                let ids = path.iter().skip(from).filter_map(|(at, _)| tasks.get(*at));
                let mut found: Vec<&str> = ids.map(|(id, _)| *id).collect();
                found.push(found.first().copied().unwrap_or(*id));
                return Some(found);
            }
            if !is_clear.get(next).copied().unwrap_or(true) {
                path.push((next, 0));
            }
        }
    }
    None
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
