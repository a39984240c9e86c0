//! Tasks as they are read from the file.

use crate::board_file::{Done, signed, unsigned};
use crate::error::Refusal;
use crate::rules::TaskState;
use crate::task::{Blocker, HistoryEntry, Priority, Status, Task, TaskId};
use rusqlite::{OptionalExtension, Row, Transaction};

/// Candidates that a prefix which fits several tasks names.
const MOST_NAMED: usize = 4;

/// How much of a task is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Whole,
    Listed,
}

/// A task's place in the file.
#[derive(Clone, Debug)]
pub(crate) struct TaskRow {
    pub(crate) seq: i64,
    pub(crate) id: String,
    pub(crate) state: TaskState,
}

/// The task with this id, or the only one whose id begins so.
pub(crate) fn find(tx: &Transaction<'_>, id: &str) -> Done<TaskRow> {
    match exact(tx, id)? {
        Some(row) => Ok(row),
        None => by_prefix(tx, id),
    }
}

fn by_prefix(tx: &Transaction<'_>, prefix: &str) -> Done<TaskRow> {
    let missing = || Refusal::NoSuchTask(prefix.escape_debug().to_string());
    if !is_id(prefix) {
        return Err(missing().into());
    }
    // Ids consist of ASCII, so the range ends before the next character.
    let sql = "SELECT id FROM tasks WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2";
    let mut statement = tx.prepare_cached(sql)?;
    let ids = statement.query_map((prefix, signed(MOST_NAMED as u64)), |row| row.get(0))?;
    let ids: Vec<String> = ids.collect::<rusqlite::Result<_>>()?;
    match ids.as_slice() {
        [] => Err(missing().into()),
        [only] => exact(tx, only)?.ok_or_else(|| missing().into()),
        _ => Err(Refusal::Ambiguous { prefix: prefix.to_owned(), ids }.into()),
    }
}

pub(crate) fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

pub(crate) fn exact(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<TaskRow>> {
    tx.prepare_cached("SELECT * FROM tasks WHERE id = ?1")?.query_row([id], row).optional()
}

pub(crate) fn numbered(tx: &Transaction<'_>, seq: i64) -> rusqlite::Result<TaskRow> {
    tx.prepare_cached("SELECT * FROM tasks WHERE seq = ?1")?.query_row([seq], row)
}

fn row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow { seq: row.get("seq")?, id: row.get("id")?, state: state(row)? })
}

fn state(row: &Row<'_>) -> rusqlite::Result<TaskState> {
    Ok(TaskState {
        status: status(row.get("status")?),
        worker: row.get("worker")?,
        fence: unsigned(row.get("fence")?),
        lease_until: unsigned(row.get("lease_until")?),
        attempt: row.get("attempt")?,
        losses: row.get("losses")?,
        result: row.get("result")?,
        error: row.get("error")?,
    })
}

pub(crate) fn status_number(status: Status) -> i64 {
    Status::ALL.iter().position(|each| *each == status).map_or(0, |at| signed(at as u64))
}

/// A number that this version never writes counts as parked: it is not handed out.
fn status(number: i64) -> Status {
    let at = usize::try_from(number).ok();
    at.and_then(|at| Status::ALL.get(at).copied()).unwrap_or(Status::Parked)
}

pub(crate) fn priority_number(priority: Priority) -> i64 {
    Priority::ALL.iter().position(|each| *each == priority).map_or(1, |at| signed(at as u64))
}

pub(crate) fn priority(number: i64) -> Priority {
    let at = usize::try_from(number).ok();
    at.and_then(|at| Priority::ALL.get(at).copied()).unwrap_or_default()
}

pub(crate) fn globs(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Everything that is shown of a task.
pub(crate) fn task(tx: &Transaction<'_>, seq: i64, detail: Detail) -> rusqlite::Result<Task> {
    let is_whole = detail == Detail::Whole;
    let mut task =
        tx.prepare_cached("SELECT * FROM tasks WHERE seq = ?1")?.query_row([seq], |row| {
            let state = state(row)?;
            let is_held = state.status == Status::InProgress;
            Ok(Task {
                id: TaskId(row.get("id")?),
                status: state.status,
                title: row.get("title")?,
                description: if is_whole { row.get("description")? } else { String::new() },
                priority: priority(row.get("priority")?),
                depends_on: Vec::new(),
                touches: globs(&row.get::<_, String>("touches")?),
                claimed_by: state.worker.filter(|_| state.status != Status::Pending),
                fence: Some(state.fence).filter(|fence| *fence > 0),
                lease_until: Some(state.lease_until).filter(|_| is_held),
                attempt: state.attempt,
                result: state.result.filter(|_| is_whole),
                error: state.error,
                blocked_by: Vec::new(),
                created_ms: unsigned(row.get("created")?),
                changed_ms: unsigned(row.get("changed")?),
                history: Vec::new(),
            })
        })?;
    let needed = needed(tx, seq)?;
    task.depends_on = needed.iter().map(|blocker| blocker.id.clone()).collect();
    if task.status == Status::Pending {
        let open = needed.into_iter().filter(|blocker| blocker.status != Status::Done);
        task.blocked_by = open.collect();
    }
    if is_whole {
        task.history = history(tx, seq)?;
    }
    Ok(task)
}

/// What a task depends on, done or not.
pub(crate) fn needed(tx: &Transaction<'_>, seq: i64) -> rusqlite::Result<Vec<Blocker>> {
    let sql = "SELECT tasks.id, tasks.status, tasks.error FROM dependencies JOIN tasks ON tasks.seq = needs
        WHERE task = ?1 ORDER BY position";
    let read = |row: &Row<'_>| {
        let status = status(row.get(1)?);
        let is_stuck = matches!(status, Status::Failed | Status::Parked | Status::Cancelled);
        let reason = row.get::<_, Option<String>>(2)?.filter(|_| is_stuck);
        Ok(Blocker { id: TaskId(row.get(0)?), status, reason })
    };
    tx.prepare_cached(sql)?.query_map([seq], read)?.collect()
}

fn history(tx: &Transaction<'_>, seq: i64) -> rusqlite::Result<Vec<HistoryEntry>> {
    let sql = "SELECT at, event FROM history WHERE task = ?1 ORDER BY number";
    let mut statement = tx.prepare_cached(sql)?;
    let mut rows = statement.query([seq])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        // An event of a newer version is left out.
        if let Ok(event) = serde_json::from_str(&row.get::<_, String>(1)?) {
            entries.push(HistoryEntry { at_ms: unsigned(row.get(0)?), event });
        }
    }
    Ok(entries)
}
