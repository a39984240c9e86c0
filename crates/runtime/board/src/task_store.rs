//! The task board in an SQLite file.

use crate::board::{Board, Claimed, TaskList, TaskQuery};
use crate::board_file::{BoardFile, Done, Durability, signed, unsigned};
use crate::error::BoardError;
use crate::limits::clipped;
use crate::rules::Change;
use crate::task::{NewTask, Status, Task, TaskId};
use crate::task_action::TaskAction;
use crate::task_changes::{
    add, apply, check_batch, check_claimable, claim, expire, is_any_pending, lapsed, next,
};
use crate::task_rows::{Detail, find, status_number, task};
use rusqlite::{Transaction, params_from_iter};
use std::time::Duration;

impl Board for BoardFile {
    fn add(&mut self, tasks: &[NewTask]) -> Result<Vec<TaskId>, BoardError> {
        let limits = self.limits.clone();
        check_batch(tasks, &limits)?;
        let ids = tasks.iter().map(|task| task.id.clone()).collect();
        let tasks = tasks.to_vec();
        self.change(Durability::Synced, move |tx, now| add(tx, &tasks, &limits, now))?;
        Ok(ids)
    }

    fn claim(
        &mut self,
        id: Option<&str>,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, BoardError> {
        let limits = self.limits.clone();
        limits.name("the name of a worker", worker)?;
        let lease = limits.lease(lease)?;
        if id.is_none() && !self.may_have_work()? {
            return Ok(None);
        }
        let (id, worker) = (id.map(str::to_owned), worker.to_owned());
        self.change_if_needed(Durability::Written, move |tx, now| {
            let has_expired = expire(tx, &limits, now)?;
            let seq = match &id {
                None => next(tx)?,
                Some(id) => {
                    let row = find(tx, id)?;
                    check_claimable(tx, &row)?;
                    Some(row.seq)
                }
            };
            let Some(seq) = seq else { return Ok((None, has_expired)) };
            let until = now.saturating_add(lease);
            let state = claim(tx, seq, &worker, until, &limits, now)?;
            let id = TaskId(crate::task_rows::numbered(tx, seq)?.id);
            let claimed = Claimed { id, fence: state.fence, lease_until: state.lease_until };
            Ok((Some(claimed), true))
        })
    }

    fn act(&mut self, id: &str, action: &TaskAction) -> Result<Task, BoardError> {
        let limits = self.limits.clone();
        let (mut change, name, fence) = match action {
            TaskAction::Renew { fence, lease } => {
                // From the moment when it is granted.
                (Change::Renew { fence: *fence, until: limits.lease(*lease)? }, "renewed", *fence)
            }
            TaskAction::Finish { fence, result } => {
                let result = result.as_deref().map(|text| clipped(text, limits.text_bytes));
                (Change::Finish { fence: *fence, result }, "finished", *fence)
            }
            TaskAction::Fail { fence, error } => {
                let error = clipped(error, limits.error_bytes);
                (Change::Fail { fence: *fence, error }, "failed", *fence)
            }
            TaskAction::Return { fence, reason } => {
                let reason = clipped(reason, limits.error_bytes);
                (Change::Return { fence: *fence, reason }, "returned", *fence)
            }
            TaskAction::Retry => (Change::Retry, "retried", 0),
            TaskAction::Cancel { reason } => {
                let reason = reason.as_deref().map(|text| clipped(text, limits.error_bytes));
                (Change::Cancel { reason }, "cancelled", 0)
            }
        };
        let id = id.to_owned();
        let act = move |tx: &Transaction<'_>, now: u64| {
            if let Change::Renew { until, .. } = &mut change {
                *until = now.saturating_add(*until);
            }
            // In the same transaction: a refusal then leaves the lapsed lease for the next one.
            expire(tx, &limits, now)?;
            let row = find(tx, &id)?;
            apply(tx, &row, &change, (name, fence), &limits, now)?;
            Ok(task(tx, row.seq, Detail::Whole)?)
        };
        match action {
            // Nothing that anybody waits for.
            TaskAction::Renew { .. } => self.change_in_silence(Durability::Written, act),
            _ => self.change(Durability::Synced, act),
        }
    }

    fn show(&mut self, id: &str) -> Result<Task, BoardError> {
        self.return_lapsed()?;
        self.read(|tx| Ok(task(tx, find(tx, id)?.seq, Detail::Whole)?))
    }

    fn next(&mut self) -> Result<Option<Task>, BoardError> {
        self.return_lapsed()?;
        self.read(|tx| Ok(next(tx)?.map(|seq| task(tx, seq, Detail::Whole)).transpose()?))
    }

    fn list(&mut self, query: &TaskQuery) -> Result<TaskList, BoardError> {
        self.return_lapsed()?;
        self.read(|tx| list(tx, query))
    }
}

impl BoardFile {
    /// Whether a claim is worth a transaction: whoever looks in vain must not stop those who work.
    fn may_have_work(&mut self) -> Result<bool, BoardError> {
        let now = self.now();
        self.read(|tx| Ok(!lapsed(tx, now)?.is_empty() || is_any_pending(tx)?))
    }

    /// Readers see tasks whose lease has ended as returned.
    fn return_lapsed(&mut self) -> Result<(), BoardError> {
        let (limits, now) = (self.limits.clone(), self.now());
        if self.read(|tx| Ok(lapsed(tx, now)?.is_empty()))? {
            return Ok(());
        }
        self.change_if_needed(Durability::Written, move |tx, now| {
            Ok(((), expire(tx, &limits, now)?))
        })
    }
}

fn list(tx: &Transaction<'_>, query: &TaskQuery) -> Done<TaskList> {
    let wanted = if query.statuses.is_empty() { &Status::ALL[..] } else { &query.statuses };
    let marks = vec!["?"; wanted.len()].join(", ");
    let numbers = || wanted.iter().map(|status| status_number(*status));
    let sql = format!("SELECT count(*) FROM tasks WHERE status IN ({marks})");
    let total: i64 =
        tx.prepare_cached(&sql)?.query_row(params_from_iter(numbers()), |row| row.get(0))?;
    let sql = format!("SELECT seq FROM tasks WHERE status IN ({marks}) ORDER BY seq LIMIT ?");
    let mut statement = tx.prepare_cached(&sql)?;
    let limit = signed(query.limit as u64);
    let parameters = params_from_iter(numbers().chain([limit]));
    let seqs: Vec<i64> =
        statement.query_map(parameters, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let read = |seq: &i64| task(tx, *seq, Detail::Listed);
    let tasks = seqs.iter().map(read).collect::<rusqlite::Result<_>>()?;
    Ok(TaskList { tasks, total: unsigned(total), damaged: Vec::new() })
}
