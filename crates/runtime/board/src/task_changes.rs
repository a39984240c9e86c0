//! Changes of tasks as they are written to the file: each asks the rules first.

use crate::board_file::{Abort, Done, count, counter, signed, unsigned};
use crate::error::Refusal;
use crate::limits::{Limits, within};
use crate::rules::{Candidate, Change, Step, TaskState, cycle, first_claimable, step};
use crate::task::{NewTask, Status, TaskEvent};
use crate::task_rows::{
    TaskRow, exact, find, globs, is_id, needed, numbered, priority, priority_number, status_number,
};
use crate::touches::Touches;
use rusqlite::{Transaction, params};
use std::collections::{HashMap, HashSet};

const FENCE: &str = "fence";
const TASKS: &str = "tasks";

pub(crate) fn add(tx: &Transaction<'_>, tasks: &[NewTask], limits: &Limits, now: u64) -> Done<()> {
    let count_now = counter(tx, TASKS)? + tasks.len() as u64;
    if count_now > limits.tasks {
        let what = "tasks on this board";
        return Err(Refusal::TooMany { what, count: count_now, most: limits.tasks }.into());
    }
    let new: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let mut dependencies = Vec::with_capacity(tasks.len());
    for task in tasks {
        if has_twins(tasks) || exact(tx, task.id.as_str())?.is_some() {
            return Err(Refusal::Exists(task.id.to_string()).into());
        }
        dependencies.push(resolved(tx, task, &new)?);
    }
    let graph: Vec<(&str, Vec<&str>)> = tasks
        .iter()
        .zip(&dependencies)
        .map(|(task, ids)| (task.id.as_str(), ids.iter().map(String::as_str).collect()))
        .collect();
    if let Some(path) = cycle(&graph) {
        return Err(Refusal::Cycle(path.iter().map(ToString::to_string).collect()).into());
    }
    let mut places = HashMap::new();
    for task in tasks {
        places.insert(task.id.as_str(), insert(tx, task, now)?);
    }
    for (task, ids) in tasks.iter().zip(&dependencies) {
        if let Some(seq) = places.get(task.id.as_str()) {
            connect(tx, *seq, ids)?;
        }
    }
    count(tx, TASKS, tasks.len() as u64)?;
    Ok(())
}

/// What can be said of tasks that are added together without looking at the board.
///
/// # Errors
/// If they are too many, or one of them is refused.
pub fn check_batch(tasks: &[NewTask], limits: &Limits) -> Result<(), Refusal> {
    few("tasks at once", tasks.len(), limits.batch)?;
    tasks.iter().try_for_each(|task| check(task, limits))
}

/// Whether two of them have the same id.
pub fn has_twins(tasks: &[NewTask]) -> bool {
    let ids: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    ids.len() != tasks.len()
}

fn check(task: &NewTask, limits: &Limits) -> Result<(), Refusal> {
    if !is_id(task.id.as_str()) {
        return Err(Refusal::Id(task.id.as_str().escape_debug().to_string()));
    }
    if task.title.trim().is_empty() || task.title.chars().any(char::is_control) {
        return Err(Refusal::Title);
    }
    within("the title", &task.title, limits.title_bytes)?;
    within("the description", &task.description, limits.text_bytes)?;
    few("dependencies", task.depends_on.len(), limits.dependencies)?;
    few("globs", task.touches.len(), limits.globs)?;
    for glob in &task.touches {
        within("a glob", glob, limits.glob_bytes)?;
    }
    Touches::parse(&task.touches).map(drop).map_err(Refusal::Glob)
}

fn few(what: &'static str, count: usize, most: usize) -> Result<(), Refusal> {
    match count > most {
        true => Err(Refusal::TooMany { what, count: count as u64, most: most as u64 }),
        false => Ok(()),
    }
}

/// The whole ids of what a task depends on, each once.
fn resolved(tx: &Transaction<'_>, task: &NewTask, new: &HashSet<&str>) -> Done<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    for name in &task.depends_on {
        let id = match new.contains(name.as_str()) {
            true => name.clone(),
            false => find(tx, name).map(|row| row.id).map_err(|abort| match abort {
                Abort::Refused(Refusal::NoSuchTask(id)) => {
                    Refusal::NoSuchDependency { title: task.title.clone(), id }.into()
                }
                other => other,
            })?,
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn insert(tx: &Transaction<'_>, task: &NewTask, now: u64) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO tasks (id, title, description, priority, touches, status, waits_for, fence, lease_until,
            attempt, losses, events, created, changed)
        VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, 0, 0, 0, 0, ?6, ?6)";
    let touches = serde_json::to_string(&task.touches).unwrap_or_default();
    let (id, priority) = (task.id.as_str(), priority_number(task.priority));
    tx.prepare_cached(sql)?.execute(params![
        id,
        task.title,
        task.description,
        priority,
        touches,
        signed(now)
    ])?;
    let seq = tx.last_insert_rowid();
    record(tx, seq, &TaskEvent::Added, u32::MAX, now)?;
    Ok(seq)
}

fn connect(tx: &Transaction<'_>, seq: i64, ids: &[String]) -> Done<()> {
    let sql = "INSERT INTO dependencies (task, position, needs) SELECT ?1, ?2, seq FROM tasks WHERE id = ?3";
    let mut insert = tx.prepare_cached(sql)?;
    for (position, id) in ids.iter().enumerate() {
        insert.execute(params![seq, signed(position as u64), id])?;
    }
    let sql = "UPDATE tasks SET waits_for = (SELECT count(*) FROM dependencies JOIN tasks AS other ON other.seq = needs
        WHERE task = ?1 AND other.status <> 2) WHERE seq = ?1";
    tx.prepare_cached(sql)?.execute([seq])?;
    Ok(())
}

/// The next task to hand out.
pub(crate) fn next(tx: &Transaction<'_>) -> rusqlite::Result<Option<i64>> {
    let held: Vec<Touches> = in_progress(tx)?.into_iter().map(|(_, touches)| touches).collect();
    let sql = "SELECT seq, priority, touches FROM tasks INDEXED BY claimable
        WHERE status = 0 AND waits_for = 0 ORDER BY priority, seq";
    let mut statement = tx.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut failed = None;
    // Many tasks may touch the same files: what had to wait once is not parsed and compared again.
    let mut waiting: HashSet<String> = HashSet::new();
    let candidates = std::iter::from_fn(|| {
        loop {
            let row = match rows.next() {
                Ok(row) => row?,
                Err(error) => {
                    failed = Some(error);
                    return None;
                }
            };
            match candidate(row) {
                Ok((text, _)) if !held.is_empty() && waiting.contains(&text) => {}
                Ok((text, candidate)) => {
                    if !candidate.touches.is_empty() && waiting.len() < 10_000 {
                        waiting.insert(text);
                    }
                    return Some(candidate);
                }
                Err(error) => {
                    failed = Some(error);
                    return None;
                }
            }
        }
    });
    let found = first_claimable(candidates, &held);
    failed.map_or(Ok(found), Err)
}

/// Whether a task waits for nothing but a worker, and perhaps for those that touch the same files.
pub(crate) fn is_any_pending(tx: &Transaction<'_>) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tasks INDEXED BY claimable WHERE status = 0 AND waits_for = 0)";
    tx.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

fn candidate(row: &rusqlite::Row<'_>) -> rusqlite::Result<(String, Candidate<i64>)> {
    let (seq, text): (i64, String) = (row.get(0)?, row.get(2)?);
    let touches = parsed(&text);
    let priority = priority(row.get(1)?);
    Ok((text, Candidate { key: seq, priority, order: unsigned(seq), is_unblocked: true, touches }))
}

/// They were checked when the task was added.
fn parsed(text: &str) -> Touches {
    match text {
        "[]" => Touches::default(),
        text => Touches::parse(&globs(text)).unwrap_or_default(),
    }
}

fn in_progress(tx: &Transaction<'_>) -> rusqlite::Result<Vec<(String, Touches)>> {
    let sql =
        "SELECT id, touches FROM tasks INDEXED BY held_files WHERE status = 1 AND touches <> '[]'";
    let read =
        |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, parsed(&row.get::<_, String>(1)?)));
    tx.prepare_cached(sql)?.query_map([], read)?.collect()
}

/// Why this task in particular cannot be claimed now, if that is so.
pub(crate) fn check_claimable(tx: &Transaction<'_>, row: &TaskRow) -> Done<()> {
    let id = row.id.clone();
    if row.state.status != Status::Pending {
        return Err(Refusal::Status { id, status: row.state.status, action: "claimed" }.into());
    }
    let open = needed(tx, row.seq)?.into_iter().find(|other| other.status != Status::Done);
    if let Some(by) = open {
        let (status, reason) = (by.status, by.reason);
        return Err(Refusal::Blocked { id, by: by.id.to_string(), status, reason }.into());
    }
    let sql = "SELECT touches FROM tasks WHERE seq = ?1";
    let text: String = tx.prepare_cached(sql)?.query_row([row.seq], |row| row.get(0))?;
    let touches = parsed(&text);
    match in_progress(tx)?.into_iter().find(|(_, held)| held.overlap(&touches)) {
        Some((with, _)) => Err(Refusal::Overlaps { id, with }.into()),
        None => Ok(()),
    }
}

pub(crate) fn claim(
    tx: &Transaction<'_>,
    seq: i64,
    worker: &str,
    until: u64,
    limits: &Limits,
    now: u64,
) -> Done<TaskState> {
    let row = numbered(tx, seq)?;
    let fence = count(tx, FENCE, 1)?;
    let change = Change::Claim { worker: worker.to_owned(), fence, until };
    apply(tx, &row, &change, ("claimed", fence), limits, now)
}

/// Asks the rules and writes what they say. `asked` is for the refusal: what was to be done, with which fence.
pub(crate) fn apply(
    tx: &Transaction<'_>,
    row: &TaskRow,
    change: &Change,
    asked: (&'static str, u64),
    limits: &Limits,
    now: u64,
) -> Done<TaskState> {
    let refused = |objection| Refusal::of(objection, &row.id, asked.0, asked.1);
    let (to, event) = match step(&row.state, change, now).map_err(refused)? {
        Step::Recorded => return Ok(row.state.clone()),
        Step::To(to, event) => (to, event),
    };
    let sql = "UPDATE tasks SET status = ?2, worker = ?3, fence = ?4, lease_until = ?5, attempt = ?6, losses = ?7,
        result = ?8, error = ?9, changed = ?10 WHERE seq = ?1";
    tx.prepare_cached(sql)?.execute(params![
        row.seq,
        status_number(to.status),
        to.worker,
        signed(to.fence),
        signed(to.lease_until),
        to.attempt,
        to.losses,
        to.result,
        to.error,
        signed(now)
    ])?;
    if to.status == Status::Done {
        let sql = "UPDATE tasks SET waits_for = waits_for - 1 WHERE seq IN (SELECT task FROM dependencies WHERE needs = ?1)";
        tx.prepare_cached(sql)?.execute([row.seq])?;
    }
    if let Some(event) = &event {
        record(tx, row.seq, event, limits.history, now)?;
    }
    Ok(to)
}

/// Returns every task whose lease has ended. Says whether there was one.
pub(crate) fn expire(tx: &Transaction<'_>, limits: &Limits, now: u64) -> Done<bool> {
    let lapsed = lapsed(tx, now)?;
    for seq in &lapsed {
        let change = Change::Expire { most_losses: limits.losses };
        let row = numbered(tx, *seq)?;
        // It is over since then, whoever notices it when.
        let ended = row.state.lease_until.min(now);
        apply(tx, &row, &change, ("returned", 0), limits, ended)?;
    }
    Ok(!lapsed.is_empty())
}

pub(crate) fn lapsed(tx: &Transaction<'_>, now: u64) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT seq FROM tasks INDEXED BY leases WHERE status = 1 AND lease_until <= ?1";
    tx.prepare_cached(sql)?.query_map([signed(now)], |row| row.get(0))?.collect()
}

fn record(
    tx: &Transaction<'_>,
    seq: i64,
    event: &TaskEvent,
    most: u32,
    now: u64,
) -> rusqlite::Result<()> {
    let sql = "UPDATE tasks SET events = events + 1 WHERE seq = ?1 RETURNING events";
    let number: i64 = tx.prepare_cached(sql)?.query_row([seq], |row| row.get(0))?;
    let text = serde_json::to_string(event).unwrap_or_default();
    let sql = "INSERT INTO history (task, number, at, event) VALUES (?1, ?2, ?3, ?4)";
    tx.prepare_cached(sql)?.execute(params![seq, number, signed(now), text])?;
    if number > i64::from(most) {
        let sql = "DELETE FROM history WHERE task = ?1 AND number > 1 AND number <= ?2";
        tx.prepare_cached(sql)?.execute(params![seq, number - i64::from(most) + 1])?;
    }
    Ok(())
}
