//! The overview of a board in an SQLite file.

use crate::board::{Board, TaskQuery};
use crate::board_file::{BoardFile, Done, signed, unsigned};
use crate::error::BoardError;
use crate::overview::{
    BoardOverview, MINUTE_MS, MOST_SHOWN, MailBacklog, TaskCounts, Throughput, WorkerClaim,
};
use crate::task::Status;
use crate::task_rows::status_number;
use rusqlite::Transaction;

impl BoardFile {
    pub(crate) fn look_over(&mut self) -> Result<BoardOverview, BoardError> {
        let in_progress = TaskQuery { statuses: vec![Status::InProgress], limit: MOST_SHOWN };
        // Leases that have ended are returned first.
        let workers = WorkerClaim::all(self.list(&in_progress)?.tasks);
        let (board, now) = (self.path.display().to_string(), self.now());
        self.read(|tx| {
            let finished = Throughput {
                last_minute: finished_since(tx, now.saturating_sub(MINUTE_MS))?,
                last_5_minutes: finished_since(tx, now.saturating_sub(5 * MINUTE_MS))?,
            };
            let (tasks, mail) = (counts(tx)?, backlogs(tx)?);
            Ok(BoardOverview {
                board,
                tasks,
                finished,
                workers,
                mail,
                damaged: Vec::new(),
                server: None,
            })
        })
    }
}

fn counts(tx: &Transaction<'_>) -> Done<TaskCounts> {
    let one = |sql: &str, number: i64| {
        tx.prepare_cached(sql)?.query_row([number], |row| row.get::<_, i64>(0)).map(unsigned)
    };
    let mut counts = [0; 6];
    for (count, status) in counts.iter_mut().zip(Status::ALL) {
        *count = one("SELECT count(*) FROM tasks WHERE status = ?1", status_number(status))?;
    }
    let ready = one("SELECT count(*) FROM tasks WHERE status = 0 AND waits_for = ?1", 0)?;
    Ok(TaskCounts::of(counts, ready))
}

/// Nothing happens to a task after it is done.
fn finished_since(tx: &Transaction<'_>, since: u64) -> Done<u64> {
    let sql = "SELECT count(*) FROM tasks WHERE status = ?1 AND changed > ?2";
    let parameters = (status_number(Status::Done), signed(since));
    let found: i64 = tx.prepare_cached(sql)?.query_row(parameters, |row| row.get(0))?;
    Ok(unsigned(found))
}

fn backlogs(tx: &Transaction<'_>) -> Done<Vec<MailBacklog>> {
    let sql = "SELECT recipient, sum(status = 0), sum(status = 1), min(sent) FROM mail
        WHERE archived IS NULL GROUP BY recipient ORDER BY recipient LIMIT ?1";
    let mut statement = tx.prepare_cached(sql)?;
    let found = statement.query_map([signed(MOST_SHOWN as u64)], |row| {
        Ok(MailBacklog {
            to: row.get(0)?,
            unread: unsigned(row.get(1)?),
            delivered: unsigned(row.get(2)?),
            oldest_ms: unsigned(row.get(3)?),
        })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}
