//! Jobs that outlive Ostler, as the session sees them that started them or was opened again.

use super::keeper;
use super::owed_inspections::look;
use super::table::JobTable;
use crate::system::SystemClock;
use ostler_core::ids::JobId;
use ostler_core::job::{self, JobRecord};
use ostler_core::ports::{JobWork, Jobs, Recorder};
use ostler_core::session::Entry;
use ostler_core::time::Clock;
use ostler_exec::{GroupSignal, KeptCommand, OtherProcess};
use ostler_store::{ProcessMark, process_mark, process_words};
use ostler_tools::JobOutputReader;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How long a keeper may take to end its job before it is killed, with everything it runs: the grace of a command and
/// what is settled after it.
const ENDING: Duration = Duration::from_secs(10);
/// Without a runtime, one look after the other takes this long.
const LOOK: Duration = Duration::from_secs(3600);
/// Bytes of the newest output.
const NEWEST: u64 = 4 * job::PREVIEW as u64;

/// A job that a keeper runs.
struct KeeperWork {
    keeper: OtherProcess,
    command: Option<i32>,
    output: Mutex<JobOutputReader>,
    asked: Notify,
}

impl JobWork for KeeperWork {
    fn pid(&self) -> Option<i32> {
        self.command
    }

    fn new_output(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).new_output()
    }

    fn newest(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).newest(NEWEST)
    }

    fn stop(&self) {
        self.keeper.signal(GroupSignal::Terminate);
        self.asked.notify_one();
    }
}

/// The process that has this mark, if it still runs.
pub(super) fn marked_process(mark: ProcessMark) -> Option<OtherProcess> {
    let process = OtherProcess::open(mark.pid).ok()?;
    // Looked at now that we hold it: the number may have changed its owner before.
    (process_mark(mark.pid) == Some(mark)).then_some(process)
}

/// The keeper of the job in this directory, if it still runs. Anybody could have written the mark, so the process must
/// have been started as the keeper of this very job.
pub(super) fn keeper_of(folder: &Path, mark: ProcessMark) -> Option<OtherProcess> {
    let process = marked_process(mark)?;
    let folder = folder.canonicalize().ok();
    let is_folder = |word: &OsString| Path::new(word).canonicalize().ok() == folder;
    let words = process_words(mark.pid);
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let is_keeper =
        folder.is_some() && pairs.any(|(role, at)| *role == keeper::ROLE && is_folder(at));
    is_keeper.then_some(process)
}

impl JobTable {
    /// Starts a keeper, and lets it outlive us once the job is on record.
    pub(super) async fn start_keeper(
        &self,
        record: JobRecord,
        order: Vec<u8>,
    ) -> Result<(), String> {
        let folders = self.folders().ok_or("it has no directory")?;
        let folder = folders.folder(&record.id);
        let kept = KeptCommand::start(&keeper::program(&folder), &order).await?;
        let marks = [kept.command(), kept.keeper()].map(process_mark);
        let keeper = OtherProcess::open(kept.keeper());
        let keeper = keeper.map_err(|error| format!("its supervisor has ended ({error})"))?;
        let work = KeeperWork::new(keeper, Some(kept.command()), &record);
        let id = record.id.clone();
        self.begin_kept(record, marks, work.clone(), &kept)?;
        follow(work, self.weak(), id);
        Ok(())
    }

    /// What is dropped before the keeper is confirmed ends with it.
    fn begin_kept(
        &self,
        record: JobRecord,
        [process, keeper]: [Option<ProcessMark>; 2],
        work: Arc<KeeperWork>,
        kept: &KeptCommand,
    ) -> Result<(), String> {
        let folders = self.folders().ok_or("it has no directory")?;
        self.add_kept(record, work, |record, room| {
            room?;
            let described = folders.describe(record, self.cwd(), process, keeper);
            described.map_err(|error| error.to_string())?;
            let entry = Entry::Detached { job: Box::new(record.clone()) };
            self.journal().record(entry).map_err(|error| error.to_string())?;
            kept.confirm();
            Ok(())
        })
    }

    /// Goes on with a kept job of an earlier process. False: it does not run any more. One that runs and whose keeper
    /// cannot be found, as in another container, is left to the next opening.
    pub(super) fn follow_again(&self, record: &JobRecord) -> bool {
        let Some(folders) = self.folders() else { return false };
        let description = folders.description(&record.id);
        let keeper = description.as_ref().and_then(|description| description.keeper);
        let folder = folders.folder(&record.id);
        let Some(keeper) = keeper.and_then(|mark| keeper_of(&folder, mark)) else {
            return folders.runs(&record.id);
        };
        let command = description.and_then(|description| description.process);
        let work = KeeperWork::new(keeper, command.map(|mark| mark.pid), record);
        let _ = self.add_kept(record.clone(), work.clone(), |_, _| Ok(()));
        follow(work, self.weak(), record.id.clone());
        true
    }

    /// Its keeper is gone, so its end is written down, or nobody saw it.
    fn keeper_ended(&self, id: &JobId) {
        if let Some(folders) = self.folders() {
            let looked = look(&folders.folder(id), Some(SystemClock.now()));
            self.end(id, looked.end);
        }
    }
}

impl KeeperWork {
    fn new(keeper: OtherProcess, command: Option<i32>, record: &JobRecord) -> Arc<Self> {
        let output = record.output.as_deref().unwrap_or(Path::new(""));
        let output = Mutex::new(JobOutputReader::new(output));
        Arc::new(KeeperWork { keeper, command, output, asked: Notify::new() })
    }

    /// Waits for the end of the keeper. One that was asked to end and does not is killed.
    async fn over(&self) {
        let ended = self.keeper.ended();
        tokio::pin!(ended);
        let mut until = None;
        loop {
            tokio::select! {
                biased;
                _ = &mut ended => return,
                () = self.asked.notified(), if until.is_none() => until = Some(Instant::now() + ENDING),
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    self.keeper.signal(GroupSignal::Kill);
                    until = Some(Instant::now() + ENDING);
                }
            }
        }
    }
}

/// Reports the end of a job to its table, if that still exists then.
fn follow(work: Arc<KeeperWork>, table: Weak<JobTable>, id: JobId) {
    let report = move || {
        if let Some(table) = table.upgrade() {
            table.keeper_ended(&id);
        }
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn(async move {
            work.over().await;
            let _ = tokio::task::spawn_blocking(report).await;
        })),
        // A program without a runtime only looks at its session.
        Err(_) => {
            let wait = move || {
                while !work.keeper.wait(LOOK) {}
                report();
            };
            let _ = std::thread::Builder::new().name("kept-job".into()).spawn(wait);
        }
    }
}
