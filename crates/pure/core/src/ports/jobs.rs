//! The jobs of a session, as tools see them.

use super::BoxFuture;
use crate::ids::{CallId, JobId};
use crate::job::{JobEnd, JobRecord, JobView};
use crate::time::Timestamp;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The table of a session's jobs.
pub trait Jobs: Send + Sync {
    /// A name and a place for one more job.
    ///
    /// # Errors
    /// Why there is none, in words for the model.
    fn reserve(&self) -> Result<JobPlace, String>;

    /// The job runs. On record before the call that started it is answered.
    ///
    /// # Errors
    /// Why it cannot be one, in words: then the caller ends it.
    fn begin(&self, job: JobRecord, work: Arc<dyn JobWork>) -> Result<(), String>;

    /// Lets a process of its own run the job, which outlives this one. `order` is what that process gets; it knows how
    /// to read it. On record when this comes back, and its end is reported without [`Jobs::end`].
    ///
    /// # Errors
    /// Why it does not run, in words.
    fn keep(&self, job: JobRecord, order: Vec<u8>) -> BoxFuture<'_, Result<(), String>>;

    /// It has ended. Its owner gets one report, of whichever end comes first.
    fn end(&self, id: &JobId, end: JobEnd);

    /// A command that its call waits for becomes a job at its time limit, instead of being ended.
    fn take_late_commands(&self) -> bool {
        false
    }

    /// Comes back when a person wants this call to continue in the background. It counts from now on, not from when it is
    /// first polled.
    fn moved(&self, call: &CallId) -> BoxFuture<'static, ()>;

    /// Those that run and those that ended last, oldest first.
    fn list(&self) -> Vec<JobView>;

    /// What it wrote since this was asked last. None: there is no such job.
    fn new_output(&self, id: &JobId) -> Option<String>;

    /// Comes back when the job has ended, at once if there is no such job.
    fn ended(&self, id: &JobId) -> BoxFuture<'static, ()>;

    /// Looks at what kept jobs left in the project, where nobody could do that when they ended. Gives what was found, a
    /// line each.
    ///
    /// # Errors
    /// In words, if something cannot be looked at: a command that could run programs of a repository must not run.
    fn finish_inspections(&self) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// Asks it to end. False: it had ended, or there is no such job.
    fn stop(&self, id: &JobId) -> bool;
}

/// Where a new job belongs.
#[derive(Clone, Debug)]
pub struct JobPlace {
    pub id: JobId,
    /// Where its output goes. The directory exists.
    pub output: PathBuf,
    /// When it was reserved.
    pub at: Timestamp,
    /// How long it may run if nobody says otherwise.
    pub limit: Duration,
    /// It is to outlive this process.
    pub kept: bool,
}

/// What does the work of a job. Each kind has its own.
pub trait JobWork: Send + Sync {
    /// What it wrote since this was asked last, bounded.
    fn new_output(&self) -> String;

    /// The newest output, at least [`PREVIEW`](crate::job::PREVIEW) characters of it.
    fn newest(&self) -> String;

    /// The process that leads the group of its processes, if there is one.
    fn pid(&self) -> Option<i32> {
        None
    }

    /// Asks it to end; the end is reported to [`Jobs::end`].
    fn stop(&self);
}
