//! Threads that change a board at the same time share one transaction, and so one sync of the disk.
//!
//! There is no thread for it. Whoever comes first leads: it takes everything that waits, performs it on its own connection
//! and commits. Meanwhile others queue up, and one of them leads next. A caller that is alone pays for nothing but an
//! uncontended lock. At most one job per thread waits, so the queue has no limit of its own.
//!
//! Each job has a savepoint: one that is refused leaves nothing behind and does not affect the others. Nobody gets an
//! answer before the commit.

use crate::board_file::{Abort, Done, Durability};
use crate::error::BoardError;
use crate::registry::lock;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Jobs in one transaction. More would keep other processes from writing for too long.
const MOST: usize = 256;

/// The jobs of all handles of one board in this process.
#[derive(Default)]
pub(crate) struct GroupCommit {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    has_leader: bool,
}

trait Job: Send {
    fn durability(&self) -> Durability;
    fn run(&mut self, tx: &Transaction<'_>) -> Result<(), Abort>;
    /// Ends it: with what it returned, or with an error.
    fn report(&mut self, failure: Option<BoardError>);
    /// Its thread is to lead.
    fn promote(&self);
}

struct Task<T, F> {
    durability: Durability,
    act: Option<F>,
    done: Option<T>,
    answer: Arc<Answer<T>>,
}

struct Answer<T> {
    turn: Mutex<Turn<T>>,
    changed: Condvar,
}

enum Turn<T> {
    Waiting,
    Leads,
    Over(Result<T, BoardError>),
}

impl<T> Answer<T> {
    fn set(&self, turn: Turn<T>) {
        *lock(&self.turn) = turn;
        self.changed.notify_one();
    }

    /// None: this thread is to lead.
    fn wait(&self) -> Option<Result<T, BoardError>> {
        let mut turn = lock(&self.turn);
        loop {
            match std::mem::replace(&mut *turn, Turn::Waiting) {
                Turn::Waiting => {}
                Turn::Leads => return None,
                Turn::Over(result) => return Some(result),
            }
            turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T: Send, F: FnOnce(&Transaction<'_>) -> Done<T> + Send> Job for Task<T, F> {
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, tx: &Transaction<'_>) -> Result<(), Abort> {
        if let Some(act) = self.act.take() {
            self.done = Some(act(tx)?);
        }
        Ok(())
    }

    fn report(&mut self, failure: Option<BoardError>) {
        let result = match (failure, self.done.take()) {
            (Some(failure), _) => Err(failure),
            (None, Some(done)) => Ok(done),
            (None, None) => return,
        };
        self.answer.set(Turn::Over(result));
    }

    fn promote(&self) {
        self.answer.set(Turn::Leads);
    }
}

impl GroupCommit {
    /// Performs it in a transaction, together with what other threads want at this moment.
    pub(crate) fn perform<T: Send + 'static>(
        &self,
        connection: &mut Connection,
        path: &Path,
        durability: Durability,
        act: impl FnOnce(&Transaction<'_>) -> Done<T> + Send + 'static,
    ) -> Result<T, BoardError> {
        let answer = Arc::new(Answer { turn: Mutex::new(Turn::Waiting), changed: Condvar::new() });
        let job = Task { durability, act: Some(act), done: None, answer: answer.clone() };
        let mut queue = lock(&self.queue);
        queue.jobs.push_back(Box::new(job));
        let leads = !std::mem::replace(&mut queue.has_leader, true);
        drop(queue);
        if !leads && let Some(result) = answer.wait() {
            return result;
        }
        self.lead(connection, path);
        // The own job was the first of the queue, so it was part of the group.
        answer.wait().unwrap_or_else(|| Err(lost(path)))
    }

    fn lead(&self, connection: &mut Connection, path: &Path) {
        let mut group = {
            let mut queue = lock(&self.queue);
            let count = queue.jobs.len().min(MOST);
            let jobs = queue.jobs.drain(..count).collect();
            Group { jobs, failures: BTreeMap::new(), commits: self, path }
        };
        group.commit(connection);
    }

    fn hand_over(&self) {
        let mut queue = lock(&self.queue);
        match queue.jobs.front() {
            Some(next) => next.promote(),
            None => queue.has_leader = false,
        }
    }
}

fn lost(path: &Path) -> BoardError {
    let why = "a thread of this process panicked while it used the board".to_owned();
    BoardError::File { path: path.to_owned(), why, hint: "Start Ostler again" }
}

/// Whatever happens to the leader, those who wait get an answer and a new leader.
struct Group<'a> {
    jobs: Vec<Box<dyn Job>>,
    /// Why some of them failed, by their places. They are told only after the commit: what they saw of the others may
    /// otherwise never have happened.
    failures: BTreeMap<usize, BoardError>,
    commits: &'a GroupCommit,
    path: &'a Path,
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !self.jobs.is_empty() {
            self.fail(&lost(self.path));
        }
        self.commits.hand_over();
    }
}

impl Group<'_> {
    fn commit(&mut self, connection: &mut Connection) {
        let failed = BoardError::of(self.path);
        let is_synced = self.jobs.iter().any(|job| job.durability() == Durability::Synced);
        let level = if is_synced { "FULL" } else { "NORMAL" };
        let begun = connection
            .pragma_update(None, "synchronous", level)
            .and_then(|()| connection.transaction_with_behavior(TransactionBehavior::Immediate));
        let committed = begun.and_then(|tx| {
            self.run(&tx)?;
            let is_worth_it = self.failures.len() < self.jobs.len();
            if is_worth_it { tx.commit() } else { tx.rollback() }
        });
        match committed {
            Err(error) => self.fail(&failed(error)),
            Ok(()) => {
                for (at, mut job) in self.jobs.drain(..).enumerate() {
                    job.report(self.failures.remove(&at));
                }
            }
        }
    }

    /// An error concerns all of them: SQLite has rolled everything back.
    fn run(&mut self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        // A job that is alone is undone together with the transaction.
        let is_alone = self.jobs.len() == 1;
        for (at, job) in self.jobs.iter_mut().enumerate() {
            if !is_alone {
                tx.prepare_cached("SAVEPOINT job")?.execute([])?;
            }
            let failure = match job.run(tx) {
                Ok(()) => None,
                Err(Abort::Sqlite(error)) if tx.is_autocommit() => return Err(error),
                Err(Abort::Sqlite(error)) => Some(BoardError::of(self.path)(error)),
                Err(Abort::Refused(refusal)) => Some(refusal.into()),
            };
            if failure.is_some() && !is_alone {
                tx.prepare_cached("ROLLBACK TO job")?.execute([])?;
            }
            if !is_alone {
                tx.prepare_cached("RELEASE job")?.execute([])?;
            }
            self.failures.extend(failure.map(|failure| (at, failure)));
        }
        Ok(())
    }

    fn fail(&mut self, failure: &BoardError) {
        self.jobs.drain(..).for_each(|mut job| job.report(Some(failure.clone())));
    }
}

#[cfg(test)]
#[path = "group_commit_tests.rs"]
mod tests;
