//! The jobs of all sessions on this machine, as any terminal sees them.

use super::kept_jobs::marked_process;
use crate::error::Error;
use ostler_core::job::{JobKind, JobView};
use ostler_exec::{GroupSignal, OtherProcess, signal_group};
use ostler_store::{FoundJob, ProcessMark, found_jobs, process_mark};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between SIGTERM and SIGKILL, and until a killed job must be gone.
const GRACE: Duration = Duration::from_secs(2);
const GONE: Duration = Duration::from_secs(10);
/// A keeper allows its command the same grace.
const ENDING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// Until an agent must be gone with everything it started.
const AGENT_GONE: Duration = Duration::from_secs(20);

/// A job of some session.
#[derive(Clone, Debug, Serialize)]
pub struct MachineJob {
    #[serde(flatten)]
    pub view: JobView,
    pub session: String,
    pub cwd: PathBuf,
    #[serde(skip)]
    found: FoundJob,
}

/// All of them, oldest first; with `session` those of one.
pub fn machine_jobs(home: &Path, session: Option<&str>) -> Vec<MachineJob> {
    let of_session =
        |job: &FoundJob| session.is_none_or(|id| job.description.session.as_str().starts_with(id));
    let jobs = found_jobs(home).into_iter().filter(of_session);
    jobs.map(|found| MachineJob {
        view: found.view(),
        session: found.description.session.to_string(),
        cwd: found.description.cwd.clone(),
        found,
    })
    .collect()
}

impl MachineJob {
    pub fn output(&self) -> PathBuf {
        self.found.output()
    }
}

/// Asks a keeper to end its job. One that does not answer is killed, and its supervisor ends the job. False: the job is
/// still there.
fn stop_keeper(keeper: &OtherProcess, command: ProcessMark) -> bool {
    keeper.signal(GroupSignal::Terminate);
    if !keeper.wait(ENDING) {
        keeper.signal(GroupSignal::Kill);
        keeper.wait(GONE);
    }
    marked_process(command).is_none_or(|command| command.wait(GONE))
}

/// Ends a job and waits until it is gone. False: it had ended.
///
/// # Errors
/// If it does not end, or its process cannot be told from another one.
pub fn stop_machine_job(job: &MachineJob) -> Result<bool, Error> {
    if !job.found.runs() {
        return Ok(false);
    }
    let id = &job.view.record.id;
    let wrong = |why: String| Error::Jobs(format!("cannot stop {id}: {why}"));
    if job.view.record.kind == JobKind::Agent {
        return stop_agent(job);
    }
    let process = job.found.description.process.ok_or_else(|| wrong("it has no process".into()))?;
    job.found.mark_stopped().map_err(|error| wrong(error.to_string()))?;
    if let Some(keeper) = job.found.description.keeper.and_then(marked_process) {
        return match stop_keeper(&keeper, process) {
            true => Ok(true),
            false => Err(wrong("it does not end".into())),
        };
    }
    let is_same = || process_mark(process.pid) == Some(process);
    for (signal, patience) in [(GroupSignal::Terminate, GRACE), (GroupSignal::Kill, GONE)] {
        // The number may have been given to another process meanwhile.
        if is_same() {
            signal_group(process.pid, signal).map_err(|error| wrong(error.to_string()))?;
        }
        if is_gone_within(job, patience) {
            return Ok(true);
        }
    }
    Err(wrong("it does not end".into()))
}

/// The process that runs an agent runs its session, too, so it is asked instead of killed.
fn stop_agent(job: &MachineJob) -> Result<bool, Error> {
    let id = &job.view.record.id;
    let wrong = |why: String| {
        Error::Jobs(format!(
            "cannot stop the agent {id}: {why}; enter `/jobs stop {id}` in its session"
        ))
    };
    match job.found.request_stop() {
        Err(_) if !job.found.runs() => return Ok(false),
        asked => asked.map_err(|error| wrong(error.to_string()))?,
    }
    match is_gone_within(job, AGENT_GONE) {
        true => Ok(true),
        false => Err(wrong("it does not end".into())),
    }
}

fn is_gone_within(job: &MachineJob, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if !job.found.runs() {
            return true;
        }
        std::thread::sleep(LOOK);
    }
    false
}
