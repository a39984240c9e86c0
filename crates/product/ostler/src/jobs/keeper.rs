//! The keeper of a job: this program in another role, which runs one command, outlives Ostler and writes down how the
//! command ended.
//!
//! It holds the job's lock while it lives. If it is killed, its own supervisor ends the command.

use crate::init::{ROLE as SUPERVISOR, block_on};
use crate::system::SystemClock;
use ostler_core::job::{JobEnd, JobStatus};
use ostler_core::time::Clock;
use ostler_exec::{Executor, KeeperChannel, RemovalWatch, Stopper, SupervisorProgram};
use ostler_store::JobFolder;
use ostler_tools::{KeptJob, OwedInspection};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

/// How the keeper's copy of the program knows its role; the directory of its job follows.
pub(crate) const ROLE: &str = "__ostler-keeper";

/// How long a job that has ended waits for being written down.
const CONFIRMATION: Duration = Duration::from_secs(60);

/// Its directory, that of its session, and that of all jobs.
const WATCHED: usize = 3;
/// How often it looks for its directory where the system cannot watch it.
const LOOK: Duration = Duration::from_secs(5);

const NOT_RECORDED: &str = "was stopped because Ostler ended while the job was being started";
const REMOVED: &str = "was stopped because its directory or its lock file was removed";

/// Exit codes; nobody but a person who runs it by hand sees them.
const NOT_STARTED_BY_US: i32 = 2;
const FAULT: i32 = 70;

/// This program as the keeper of the job in this directory.
pub(super) fn program(folder: &Path) -> SupervisorProgram {
    SupervisorProgram::this_binary([OsString::from(ROLE), folder.as_os_str().to_owned()])
}

/// The main function of a keeper. Call it first thing in `main`.
pub(crate) fn keep_job(folder: Option<OsString>) -> ! {
    let code = match (folder.map(PathBuf::from), KeeperChannel::take()) {
        (Some(folder), Ok((channel, order))) => match block_on(keep(&folder, &channel, &order)) {
            Ok(()) => 0,
            Err(error) => {
                channel.failed(&error.to_string());
                FAULT
            }
        },
        _ => NOT_STARTED_BY_US,
    };
    std::process::exit(code)
}

async fn keep(folder: &Path, channel: &KeeperChannel, order: &[u8]) {
    if let Err(why) = run(folder.to_owned(), channel, order).await {
        channel.failed(&why);
    }
}

async fn run(folder: PathBuf, channel: &KeeperChannel, order: &[u8]) -> Result<(), String> {
    let folder = JobFolder::hold(folder).map_err(|error| error.to_string())?;
    let mut signals = EndSignals::new().map_err(|error| error.to_string())?;
    let owed = OwedInspection::of(order).ok_or("the order is damaged")?;
    folder.owe_inspection(owed).map_err(|error| error.to_string())?;
    let executor = Executor::new(SupervisorProgram::this_binary([SUPERVISOR]));
    let started = KeptJob::start(&executor, order, &folder.output()).await;
    let job = match started {
        Ok(job) => job,
        Err(why) => {
            folder.forget_inspection();
            folder.remove_undescribed();
            return Err(why);
        }
    };
    channel.started(job.pid());
    let FollowedJob { end, is_known, is_inspected } =
        followed(job, &folder, channel, &mut signals).await;
    let end = match folder.is_stopped() {
        true => end.stopped_from_outside(),
        false => end,
    };
    let end = JobEnd { at: Some(SystemClock.now()), ..end };
    // Nothing runs any more when the lock is free. If something cannot be ended, our supervisor tries on without us.
    let _ = executor.shutdown().await;
    // If this cannot be written, the next process that finds the job looks again.
    if folder.finish_durably(&end).is_ok() && is_inspected {
        folder.forget_inspection();
    }
    if !is_known {
        folder.remove_undescribed();
    }
    Ok(())
}

/// A job that has ended.
struct FollowedJob {
    end: JobEnd,
    /// Whoever ordered it had written it down.
    is_known: bool,
    /// Everything that it left in the project was looked at.
    is_inspected: bool,
}

async fn followed(
    job: KeptJob,
    folder: &JobFolder,
    channel: &KeeperChannel,
    signals: &mut EndSignals,
) -> FollowedJob {
    let stopper: Stopper = job.stopper();
    let finished = job.finished();
    let removed = removed(folder);
    tokio::pin!(finished, removed);
    let (mut confirmed, mut is_removed) = (None, false);
    loop {
        tokio::select! {
            biased;
            (end, is_inspected) = &mut finished => {
                let is_known = match confirmed {
                    Some(is_known) => is_known,
                    // It was faster than the one who writes it down.
                    None => timeout(CONFIRMATION, channel.confirmed()).await == Ok(true),
                };
                let end = match (is_known, is_removed) {
                    (true, false) => end,
                    (true, true) => stopped_because(end, REMOVED),
                    (false, _) => stopped_because(end, NOT_RECORDED),
                };
                return FollowedJob { end, is_known, is_inspected };
            }
            said = channel.confirmed(), if confirmed.is_none() => {
                confirmed = Some(said);
                if !said {
                    stopper.kill();
                }
            }
            () = &mut removed, if !is_removed => {
                is_removed = true;
                stopper.stop();
            }
            () = signals.next() => stopper.stop(),
        }
    }
}

fn stopped_because(end: JobEnd, words: &str) -> JobEnd {
    match end.status {
        JobStatus::Stopped => JobEnd { words: words.to_owned(), ..end },
        _ => end,
    }
}

/// Comes back when others cannot find the job any more: then nobody could stop it.
async fn removed(folder: &JobFolder) {
    let directories = || folder.path().ancestors().take(WATCHED);
    let watch = RemovalWatch::new(directories()).ok();
    while folder.is_in_place() {
        let is_told = match &watch {
            Some(watch) => watch.removed().await.is_ok(),
            None => false,
        };
        if !is_told {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The signals that ask a keeper to end its job.
struct EndSignals([Signal; 3]);

impl EndSignals {
    fn new() -> io::Result<Self> {
        let [terminate, interrupt, hangup] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        Ok(EndSignals([signal(terminate)?, signal(interrupt)?, signal(hangup)?]))
    }

    async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
