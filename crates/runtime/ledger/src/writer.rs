//! The thread that writes rows and keeps leases alive, so that nobody waits for the disk.

use crate::completeness::missed;
use crate::error::Error;
use crate::reserve::{LEASE_MS, release};
use crate::row::{LedgerRow, insert, mark};
use crate::shared_ledger::{Account, LedgerFile};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Rows that wait; one more is left to the session's log.
const MOST_WAITING: usize = 4096;
const AT_ONCE: usize = 256;
/// As `nice` counts: of this thread alone.
const PRIORITY: i32 = 10;
/// How long somebody waits to hear whether rows were written.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) enum WriterJob {
    /// A session takes part: from here to its orderly end its log may know more than the file.
    Begin(Arc<Account>),
    Write(Arc<Account>, Work),
    /// A session has told everything; answered when it is written.
    End(Arc<Account>, SyncSender<()>),
    /// Says when everything before it is written.
    Flush(SyncSender<()>),
}

/// What changes the file.
pub(crate) enum Work {
    Record(Box<LedgerRow>),
    Release(String),
}

impl Work {
    pub(crate) fn is_row(&self) -> bool {
        matches!(self, Work::Record(_))
    }

    fn id(&self) -> &str {
        match self {
            Work::Record(row) => &row.charged.charge.id,
            Work::Release(id) => id,
        }
    }
}

pub(crate) struct Writer {
    jobs: Option<SyncSender<WriterJob>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(file: Arc<LedgerFile>) -> Self {
        let (jobs, received) = sync_channel(MOST_WAITING);
        let new = Loop { file, waiting: Vec::new() };
        let run = move || {
            // Nobody waits for it: a turn comes first. Where it is refused, both are equal.
            let _ = rustix::process::setpriority_process(None, PRIORITY);
            new.run(&received);
        };
        // Without a thread the log still has everything.
        let thread = std::thread::Builder::new().name("ledger".into()).spawn(run).ok();
        Writer { jobs: Some(jobs), thread }
    }

    /// Never waits. False if too much is waiting already: then the session's log alone knows.
    pub(crate) fn send(&self, job: WriterJob) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok())
    }

    pub(crate) fn flush(&self) {
        self.wait_for(WriterJob::Flush);
    }

    /// The last word of a session. Waits until everything it told is written, or cannot be.
    pub(crate) fn end(&self, account: &Arc<Account>) {
        self.wait_for(|done| WriterJob::End(account.clone(), done));
    }

    fn wait_for(&self, job: impl FnOnce(SyncSender<()>) -> WriterJob) {
        let (done, finished) = sync_channel(1);
        if self.jobs.as_ref().is_some_and(|jobs| jobs.send(job(done)).is_ok()) {
            // An error means that the thread is gone.
            let _ = finished.recv();
        }
    }

    /// The same as [`Writer::flush`], but for nobody who has no time.
    pub(crate) fn flush_soon(&self) {
        let (done, flushed) = sync_channel(1);
        if self.send(WriterJob::Flush(done)) {
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
    file: Arc<LedgerFile>,
    /// What could not be written yet.
    waiting: Vec<(Arc<Account>, Work)>,
}

impl Loop {
    fn run(mut self, jobs: &Receiver<WriterJob>) {
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
                    self.file.renew();
                }
                Err(RecvTimeoutError::Disconnected) => return self.write(),
            }
        }
    }

    fn take(&mut self, job: WriterJob) {
        match job {
            // Where this fails, the next write tries again.
            WriterJob::Begin(account) => drop(self.mark(&account, true)),
            WriterJob::Write(account, work) => {
                if self.waiting.len() < MOST_WAITING {
                    self.waiting.push((account, work));
                } else if work.is_row() {
                    account.told.missed("too many rows are waiting to be written");
                }
            }
            WriterJob::End(account, done) => {
                self.write();
                self.end(&account);
                let _ = done.send(());
            }
            WriterJob::Flush(done) => {
                self.write();
                // Nobody may be waiting any more.
                let _ = done.send(());
            }
        }
    }

    fn end(&self, account: &Arc<Account>) {
        let mut waiting = self.waiting.iter();
        let rows_wait = waiting.any(|(of, work)| Arc::ptr_eq(of, account) && work.is_row());
        if !rows_wait && !account.told.has_missed() {
            let _ = self.mark(account, false);
        } else if !account.is_marked(self.file.opening()) {
            missed(&self.file.path);
        }
    }

    fn mark(&self, account: &Account, unsettled: bool) -> Result<(), Error> {
        self.file.with_db(&account.told, |db, opening| {
            db.change(|tx| mark(tx, &account.session, unsettled))?;
            account.set_marked(if unsettled { opening } else { 0 });
            Ok(())
        })
    }

    /// What fails is tried again with what comes next.
    fn write(&mut self) {
        let Some((first, _)) = self.waiting.first() else { return };
        let written = self.file.with_db(&first.told, |db, opening| {
            db.change(|tx| {
                let mut marked: Option<&Arc<Account>> = None;
                self.waiting.iter().try_for_each(|(account, work)| {
                    if !marked.is_some_and(|marked| Arc::ptr_eq(marked, account)) {
                        mark(tx, &account.session, true)?;
                        marked = Some(account);
                    }
                    if let Work::Record(row) = work {
                        insert(tx, row)?;
                    }
                    // The row and the end of its reservation are one change: no moment has neither.
                    release(tx, work.id())
                })
            })?;
            Ok(opening)
        });
        match written {
            Ok(opening) => {
                for (account, work) in self.waiting.drain(..) {
                    account.set_marked(opening);
                    account.open().remove(work.id());
                }
            }
            Err(error) => {
                let rows = self.waiting.iter().filter(|(_, work)| work.is_row());
                rows.for_each(|(account, _)| account.told.late(&error.why()));
            }
        }
    }
}
