//! The jobs of all sessions on this machine, as any terminal sees them.

use super::kept_jobs::{keeper_of, marked_process};
use super::owed_inspections::look;
use crate::error::Error;
use crate::init::ROLE as SUPERVISOR;
use ostler_core::job::{JobKind, JobView};
use ostler_core::time::Timestamp;
use ostler_exec::{GroupSignal, OtherProcess, signal_group};
use ostler_store::{
    FoundJob, ProcessMark, found_jobs, parents, process_mark, process_words, unreadable_jobs,
};
use ostler_tools::JobOutputReader;
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
    /// In one word: `running`, `suspended`, or how it ended.
    pub state: &'static str,
    /// How long it ran; for one that runs, until now. None: nobody saw its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip)]
    found: FoundJob,
}

/// All of them, oldest first; with `session` those of one.
pub fn machine_jobs(home: &Path, session: Option<&str>) -> Vec<MachineJob> {
    let of_session =
        |job: &FoundJob| session.is_none_or(|id| job.description.session.as_str().starts_with(id));
    found_jobs(home).into_iter().filter(of_session).map(MachineJob::of).collect()
}

/// What was found in the directories of jobs that nobody can be sure of: the directory and why, a line each.
pub fn damaged_jobs(home: &Path) -> Vec<String> {
    let line =
        |folder: &Path, why: &str| format!("cannot read the job {}: {why}", folder.display());
    unreadable_jobs(home).iter().map(|job| line(&job.folder, &job.why)).collect()
}

/// Looks at what kept jobs left in their projects, where their keepers could not: they were killed, or there was too much
/// to look at. Gives what was found, a line each, with the job.
pub fn inspect_lost_jobs(home: &Path) -> Vec<String> {
    let jobs = machine_jobs(home, None).into_iter();
    jobs.filter(MachineJob::is_lost).flat_map(|job| job.inspect()).collect()
}

impl MachineJob {
    fn of(mut found: FoundJob) -> Self {
        // It lost its lock, and its keeper is about to end it.
        if keeper(&found).is_some() {
            found.end = None;
        }
        let description = &found.description;
        let marks = [description.keeper, description.process];
        let is_suspended = || marks.into_iter().flatten().any(ProcessMark::is_suspended);
        let state = match &found.end {
            Some(end) => end.status.name(),
            None if is_suspended() => "suspended",
            None => "running",
        };
        let until = match &found.end {
            Some(end) => end.at.map(|at| at.0),
            None => Some(crate::now_ms()),
        };
        let begun = description.job.at.0;
        MachineJob {
            view: found.view(),
            session: description.session.to_string(),
            cwd: description.cwd.clone(),
            state,
            duration_ms: until.map(|until| until.saturating_sub(begun)),
            found,
        }
    }

    pub fn output(&self) -> PathBuf {
        self.found.output()
    }

    /// Opens only a regular file.
    pub fn output_reader(&self) -> JobOutputReader {
        JobOutputReader::new(self.output())
    }

    /// The same job, as it is now. None: its directory is gone.
    pub fn now(&self, home: &Path) -> Option<MachineJob> {
        let is_same = |job: &MachineJob| job.found.folder == self.found.folder;
        machine_jobs(home, Some(&self.session)).into_iter().find(is_same)
    }

    /// Its keeper is gone, and nobody looked at what it left.
    fn is_lost(&self) -> bool {
        self.view.record.kept && self.view.end.is_some() && self.found.owes_inspection()
    }

    fn inspect(&self) -> Vec<String> {
        let id = &self.view.record.id;
        let found = look(&self.found.folder, None).found;
        found.into_iter().map(|line| format!("background job {id}: {line}")).collect()
    }
}

/// The keeper that runs a job without an end on record.
fn keeper(found: &FoundJob) -> Option<OtherProcess> {
    let has_end = found.end.as_ref().is_some_and(|end| end.at.is_some());
    let mark = found.description.keeper.filter(|_| !has_end)?;
    keeper_of(&found.folder, mark)
}

/// A supervisor started it, so it is a command of Ostler's and nobody else's process.
fn is_command(pid: i32) -> bool {
    let supervises = |pid: &i32| process_words(*pid).iter().any(|word| word == SUPERVISOR);
    parents(pid).iter().any(supervises)
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
/// If it does not end, or its process cannot be distinguished from another one.
pub fn stop_machine_job(job: &MachineJob) -> Result<bool, Error> {
    if !job.found.runs() && keeper(&job.found).is_none() {
        return Ok(false);
    }
    let id = &job.view.record.id;
    let wrong = |why: String| Error::Jobs(format!("cannot stop {id}: {why}"));
    if job.view.record.kind == JobKind::Agent {
        return stop_agent(job);
    }
    let process = job.found.description.process.ok_or_else(|| wrong("it has no process".into()))?;
    let stop = || job.found.mark_stopped().map_err(|error| wrong(error.to_string()));
    if job.view.record.kept {
        let unknown = "no process could be identified as its supervisor; \
                       if it is still running, end it with kill";
        let keeper = keeper(&job.found).ok_or_else(|| wrong(unknown.into()))?;
        stop()?;
        let is_stopped = stop_keeper(&keeper, process) && is_gone_within(job, GONE);
        if !is_stopped {
            return Err(wrong("it does not end".into()));
        }
        // One that was killed has not looked at what the job left.
        look(&job.found.folder, Some(Timestamp(crate::now_ms())));
        return Ok(true);
    }
    let is_same = || process_mark(process.pid) == Some(process);
    if is_same() && !is_command(process.pid) {
        let why = format!("process {} is not a command that Ostler started", process.pid);
        return Err(wrong(why));
    }
    stop()?;
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
    while job.found.runs() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}
