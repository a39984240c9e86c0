//! What is left to do when a job has ended, and what its owner is told.

use super::execution::locked;
use crate::JobOutput;
use crate::confine::{ConfinedCommand, Inspection, limit_behind, stopped_by_limit};
use ostler_core::job::{JobEnd, JobStatus, PREVIEW};
use ostler_exec::{Capture, CommandReport, ExecError, ExitStatus, ProcessLimits};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A character has at most four bytes.
pub(super) const PREVIEW_BYTES: u64 = 4 * PREVIEW as u64;

pub(super) struct JobSettling {
    pub(super) held: ConfinedCommand,
    pub(super) late: Option<Inspection>,
    pub(super) oom_kills: Option<u64>,
    pub(super) limit: Duration,
    pub(super) limits: ProcessLimits,
    pub(super) output: Arc<Mutex<JobOutput>>,
}

/// A job that has ended, and nothing is left to do for it.
pub(super) struct SettledJob {
    pub(super) end: JobEnd,
    /// Repositories have to be looked for again.
    pub(super) has_news: bool,
    /// Everything that it left was looked at.
    pub(super) is_inspected: bool,
}

impl JobSettling {
    /// It looks at files, so it blocks.
    pub(super) fn end(
        mut self,
        finished: Result<CommandReport, ExecError>,
        shown: impl Fn(&Path) -> String,
    ) -> SettledJob {
        let mut notes = self.held.settle(shown);
        let inspected = self.late.take().map(|late| late.run(None));
        let is_inspected =
            inspected.as_ref().is_none_or(|inspected| inspected.unfinished.is_none());
        let found = inspected.map(|inspected| inspected.lines).unwrap_or_default();
        let has_news = !found.is_empty();
        notes.extend(found);
        let end = match finished {
            Ok(finished) => self.ended(finished, notes),
            Err(ExecError::Closed) => JobEnd { notes, ..JobEnd::closed() },
            Err(ExecError::SupervisorLost) => JobEnd { notes, ..JobEnd::lost() },
            Err(error) => {
                let words = format!("failed: {error}");
                JobEnd { notes, ..JobEnd::new(JobStatus::Failed, words) }
            }
        };
        SettledJob { end, has_news, is_inspected }
    }

    fn ended(&self, mut finished: CommandReport, mut notes: Vec<String>) -> JobEnd {
        let newest = {
            let output = locked(&self.output);
            notes.extend(output.failed().map(|why| format!("Its output is incomplete: {why}.")));
            output.newest(PREVIEW_BYTES)
        };
        let mut capture = Capture::new(0, newest.len());
        capture.push(newest.as_bytes());
        finished.output = capture.finish();
        notes.extend(self.held.denied(&finished));
        notes.extend(limit_behind(&self.limits, &finished, self.oom_kills));
        let (status, words) = match stopped_by_limit(&self.limits, &finished) {
            Some(words) => (JobStatus::Failed, format!("failed. {words}")),
            None => ending(&finished, self.limit),
        };
        let exit_code = match finished.status {
            ExitStatus::Code(code) => Some(code),
            ExitStatus::Signal { .. } => None,
        };
        JobEnd { exit_code, notes, ..JobEnd::new(status, words) }
    }
}

fn ending(finished: &CommandReport, limit: Duration) -> (JobStatus, String) {
    match finished.status {
        _ if finished.timed_out => {
            let words = format!("timed out after {} s and was stopped", limit.as_secs_f64());
            (JobStatus::TimedOut, words)
        }
        _ if finished.output_capped => {
            let words = "was stopped because it wrote more than 1 GB of output";
            (JobStatus::Failed, words.to_owned())
        }
        status if finished.killed => (JobStatus::Stopped, format!("was stopped ({status})")),
        ExitStatus::Code(0) => (JobStatus::Completed, "completed (exit code 0)".to_owned()),
        ExitStatus::Code(code) => (JobStatus::Failed, format!("failed with exit code {code}")),
        status @ ExitStatus::Signal { .. } => {
            (JobStatus::Failed, format!("was killed by {status}"))
        }
    }
}
