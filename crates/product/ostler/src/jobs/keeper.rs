//! The keeper of a job: this program in another role, which runs one command, outlives Ostler and writes down how the
//! command ended.
//!
//! It holds the job's lock while it lives. If it is killed, its own supervisor ends the command.

use crate::init::{ROLE as SUPERVISOR, block_on};
use ostler_core::job::{JobEnd, JobStatus};
use ostler_exec::{Executor, KeeperChannel, Stopper, SupervisorProgram};
use ostler_store::JobFolder;
use ostler_tools::KeptJob;
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
    let executor = Executor::new(SupervisorProgram::this_binary([SUPERVISOR]));
    let started = KeptJob::start(&executor, order, &folder.output()).await;
    let job = match started {
        Ok(job) => job,
        Err(why) => {
            folder.remove_undescribed();
            return Err(why);
        }
    };
    channel.started(job.pid());
    let (end, is_known) = followed(job, channel, &mut signals).await;
    let end = match folder.is_stopped() {
        true => end.stopped_from_outside(),
        false => end,
    };
    // Nothing runs any more when the lock is free. If something cannot be ended, our supervisor tries on without us.
    let _ = executor.shutdown().await;
    let _ = folder.finish_durably(&end);
    if !is_known {
        folder.remove_undescribed();
    }
    Ok(())
}

/// How the job ended, and whether whoever ordered it had written it down.
async fn followed(
    job: KeptJob,
    channel: &KeeperChannel,
    signals: &mut EndSignals,
) -> (JobEnd, bool) {
    let stopper: Stopper = job.stopper();
    let finished = job.finished();
    tokio::pin!(finished);
    let mut confirmed = None;
    loop {
        tokio::select! {
            biased;
            end = &mut finished => {
                let is_known = match confirmed {
                    Some(is_known) => is_known,
                    // It was faster than the one who writes it down.
                    None => timeout(CONFIRMATION, channel.confirmed()).await == Ok(true),
                };
                return match is_known {
                    true => (end, true),
                    false => (not_recorded(end), false),
                };
            }
            said = channel.confirmed(), if confirmed.is_none() => {
                confirmed = Some(said);
                if !said {
                    stopper.kill();
                }
            }
            () = signals.next() => stopper.stop(),
        }
    }
}

fn not_recorded(end: JobEnd) -> JobEnd {
    let words = "was stopped because Ostler ended while the job was being started";
    match end.status {
        JobStatus::Stopped => JobEnd { words: words.to_owned(), ..end },
        _ => end,
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
