//! The thread that writes rows and keeps leases alive, so that nobody waits for the disk.

use crate::broken::heal;
use crate::complete::missed;
use crate::db::Db;
use crate::error::Error;
use crate::file_ledger::Setup;
use crate::reserve::{LEASE_MS, release};
use crate::row::{Row, insert, mark};
use crate::told::Told;
use ostler_core::time::Clock;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Rows that wait; one more is left to the session's log.
const MOST_WAITING: usize = 4096;
const AT_ONCE: usize = 256;
/// How long somebody waits to hear whether rows were written.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) enum Job {
    Record(Box<Row>),
    Release(String),
    /// Says when everything before it is written.
    Flush(SyncSender<()>),
}

/// Reservations of this process.
pub(crate) type Open = Arc<Mutex<BTreeSet<String>>>;

pub(crate) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(setup: &Setup, open: Open, told: Arc<Told>) -> Self {
        let (jobs, received) = sync_channel(MOST_WAITING);
        let (path, clock) = (setup.path.clone(), setup.clock.clone());
        let session = setup.owner.session.clone();
        let (db, waiting) = (None, Vec::new());
        let new = Loop { path, session, clock, open, told, db, waiting, marked: false };
        let run = move || new.run(&received);
        // Without a thread the log still has everything.
        let thread = std::thread::Builder::new().name("ledger".into()).spawn(run).ok();
        Writer { jobs: Some(jobs), thread }
    }

    /// Never waits. False if too much is waiting already: then the session's log alone knows.
    pub(crate) fn send(&self, job: Job) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok())
    }

    pub(crate) fn flush(&self) {
        let (done, flushed) = sync_channel(1);
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(Job::Flush(done)).is_ok());
        if sent {
            // An error means that the thread is gone.
            let _ = flushed.recv();
        }
    }

    /// The same, but for nobody who has no time.
    pub(crate) fn flush_soon(&self) {
        let (done, flushed) = sync_channel(1);
        if self.send(Job::Flush(done)) {
            let _ = flushed.recv_timeout(LOOK);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Loop {
    path: PathBuf,
    session: String,
    clock: Arc<dyn Clock>,
    open: Open,
    told: Arc<Told>,
    /// Opened when there is something to write.
    db: Option<Db>,
    /// What could not be written yet.
    waiting: Vec<Job>,
    /// Whether the file knows that the session's log may know more.
    marked: bool,
}

impl Loop {
    fn run(mut self, jobs: &Receiver<Job>) {
        // From here to the orderly end its log may know more than the file. Where this fails, the next write tries again.
        let _ = self.mark(true);
        loop {
            match jobs.recv_timeout(Duration::from_millis(LEASE_MS / 3)) {
                Ok(job) => {
                    self.take(job);
                    while self.waiting.len() < AT_ONCE
                        && let Ok(job) = jobs.try_recv()
                    {
                        self.take(job);
                    }
                    self.write();
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.write();
                    self.renew();
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.write();
                    return self.end();
                }
            }
        }
    }

    fn end(&mut self) {
        let rows_wait = self.waiting.iter().any(is_row);
        if !rows_wait && !self.told.has_missed() {
            let _ = self.mark(false);
        } else if !self.marked {
            missed(&self.path);
        }
    }

    fn mark(&mut self, unsettled: bool) -> Result<(), Error> {
        let session = self.session.clone();
        self.db()?.change(|tx| mark(tx, &session, unsettled))?;
        self.marked = unsettled;
        Ok(())
    }

    fn take(&mut self, job: Job) {
        if let Job::Flush(done) = job {
            self.write();
            // Nobody may be waiting any more.
            let _ = done.send(());
        } else if self.waiting.len() < MOST_WAITING {
            self.waiting.push(job);
        } else if is_row(&job) {
            self.told.missed("too much waits to be written");
        }
    }

    /// What fails is tried again with what comes next.
    fn write(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let mut written = self.try_write();
        if written.as_ref().is_err_and(Error::is_damage) {
            self.db = None;
            written = heal(&self.path).and_then(|db| {
                self.db = Some(db);
                self.try_write()
            });
        }
        match written {
            Ok(()) => {
                self.marked = true;
                let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                for job in self.waiting.drain(..) {
                    open.remove(id(&job));
                }
            }
            Err(error) if self.waiting.iter().any(is_row) => self.told.late(&error.why()),
            Err(_) => {}
        }
    }

    fn try_write(&mut self) -> Result<(), Error> {
        let (waiting, session) = (std::mem::take(&mut self.waiting), self.session.clone());
        let written = self.db().and_then(|db| {
            db.change(|tx| {
                mark(tx, &session, true)?;
                waiting.iter().try_for_each(|job| {
                    if let Job::Record(row) = job {
                        insert(tx, row)?;
                    }
                    // The row and the end of its reservation are one change: no moment has neither.
                    release(tx, id(job))
                })
            })
        });
        self.waiting = waiting;
        written
    }

    fn renew(&mut self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<String> = open.iter().cloned().collect();
        drop(open);
        if !ids.is_empty() {
            let now = self.clock.now();
            // A lease that cannot be renewed runs out; at worst one request is not counted in time.
            let _ = self.db().and_then(|db| db.renew(&ids, now));
        }
    }

    fn db(&mut self) -> Result<&mut Db, Error> {
        let open = match self.db.take() {
            // One that was removed since is of no use to others.
            Some(open) if self.path.exists() => open,
            _ => {
                self.marked = false;
                Db::open(&self.path)?
            }
        };
        let db = self.db.insert(open);
        if let Some(words) = db.set_aside() {
            self.told.tell(words);
        }
        Ok(db)
    }
}

fn is_row(job: &Job) -> bool {
    matches!(job, Job::Record(_))
}

fn id(job: &Job) -> &str {
    match job {
        Job::Record(row) => &row.charged.charge.id,
        Job::Release(id) => id,
        Job::Flush(_) => "",
    }
}
