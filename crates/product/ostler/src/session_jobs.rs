//! A session and its background jobs.

use crate::driver::{Driver, Until};
use crate::error::Error;
use crate::input::{InputReceipt, InputRefused, Prompt};
use crate::jobs::JobTable;
use crate::session::{Session, Work};
use ostler_core::event::Notice;
use ostler_core::ids::{CallId, InboundId, JobId};
use ostler_core::inbox::{Inbound, InboundSource, QueuedItem};
use ostler_core::job::{JobKind, JobView};
use ostler_core::ports::Jobs;
use std::sync::Arc;

impl Session {
    /// The jobs that run and those that ended last, oldest first.
    pub fn jobs(&self) -> Vec<JobView> {
        self.job_table().map(|jobs| jobs.list()).unwrap_or_default()
    }

    /// Some job runs, or a teammate has a task. When there are none any more, the ends of all of them are in the inbox.
    pub fn has_running_jobs(&self) -> bool {
        self.has_busy_teammates() || self.job_table().is_some_and(|jobs| jobs.is_busy(None))
    }

    /// Some agent runs in the background, or a teammate has a task.
    pub fn has_background_agents(&self) -> bool {
        let jobs = self.job_table();
        self.has_busy_teammates() || jobs.is_some_and(|jobs| jobs.is_busy(Some(JobKind::Agent)))
    }

    /// The end of a job or the mail of a teammate waits to start a turn, and none runs.
    pub fn has_report(&self) -> bool {
        self.can_report() && self.shared().agent.inbox().has_report(|item| self.may_start(item))
    }

    /// What [`has_report`](Session::has_report) speaks of, oldest first.
    pub fn reports(&self) -> Vec<QueuedItem> {
        let mut waiting = self.queued();
        let is_report = |item: &QueuedItem| {
            matches!(item.source, InboundSource::Job { .. } | InboundSource::Agent { .. })
        };
        waiting.retain(|item| self.can_report() && is_report(item) && self.may_start(&item.id));
        waiting
    }

    fn can_report(&self) -> bool {
        self.starts_turns() && self.shared().queue.may_start_unasked()
    }

    /// Comes back when the end of a job or the mail of a teammate can start a turn: drive the session then. Without the option
    /// [`start_turns`](crate::JobOptions::start_turns) it never does.
    pub async fn report_due(&self) {
        let Some(jobs) = self.job_table().cloned().filter(|_| self.starts_turns()) else {
            return std::future::pending().await;
        };
        self.serve_team();
        loop {
            let next = jobs.next_end();
            if self.has_report() {
                return;
            }
            next.await;
        }
    }

    /// Tells the model of jobs that ended, and drives the session until nothing is left to do.
    ///
    /// # Errors
    /// If somebody drives it already.
    pub fn run_reports(&self) -> Result<Driver, Error> {
        self.driver(Until::Idle)
    }

    /// Takes the next work from the queue, if something may start.
    pub(crate) fn next_work(&self) -> Option<Work> {
        let inbox = self.shared().agent.inbox();
        let begin = |item: Inbound| Work::Prompt(Prompt::queued(item.body), vec![item.id]);
        let queue = &self.shared().queue;
        let report = || inbox.next_report(|item| self.may_start(item));
        let reports = || self.starts_turns().then(report).flatten();
        let asked = queue.take(|| inbox.next_prompt().map(begin));
        asked.or_else(|| queue.take_unasked(|| reports().map(begin)))
    }

    /// What runs is reported as ended; the processes end with the commands of the session. Tells what was stopped, and
    /// which kept jobs go on.
    pub(crate) fn close_jobs(&self) -> Vec<Notice> {
        let Some(jobs) = self.job_table() else { return Vec::new() };
        let keeps = self.shared().origin.1.jobs.keep;
        let stopped = jobs.close().into_iter().map(|job| {
            let hint = match job.kind {
                JobKind::Command if !keeps => "; use --keep-jobs to keep it",
                JobKind::Command | JobKind::Agent => "",
            };
            format!("stopped background job {}{hint}", job.id)
        });
        let running = jobs.list().into_iter().filter(|job| job.end.is_none());
        let names: Vec<String> = running.map(|job| job.record.id.to_string()).collect();
        let (word, verb) =
            if names.len() == 1 { ("job", "continues") } else { ("jobs", "continue") };
        let continuing = (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!(
                "background {word} {names} {verb}; `ostler jobs list` shows what runs, `ostler jobs stop` ends it"
            )
        });
        stopped.chain(continuing).map(|text| Notice::Job { text }).collect()
    }

    /// The end of a job that a person stopped starts no turn: that person knows of it. Where nobody attends the session,
    /// no prompt would follow that could bring the report to the model.
    fn may_start(&self, report: &InboundId) -> bool {
        let is_attended = self.shared().desk.is_attended();
        !is_attended || self.job_table().is_none_or(|jobs| !jobs.is_expected(report))
    }

    fn starts_turns(&self) -> bool {
        self.shared().origin.1.jobs.start_turns
    }

    pub(crate) fn move_to_background(
        &self,
        call: Option<CallId>,
    ) -> Result<InputReceipt, InputRefused> {
        let jobs = self.job_table().ok_or(InputRefused::NothingToMove)?;
        if jobs.is_full() {
            return Err(InputRefused::TooManyJobs);
        }
        match jobs.move_calls(call) {
            true => Ok(InputReceipt::Done),
            false => Err(InputRefused::NothingToMove),
        }
    }

    pub(crate) fn stop_job(&self, id: &JobId) -> Result<InputReceipt, InputRefused> {
        match self.job_table().is_some_and(|jobs| jobs.stop_for_person(id)) {
            true => Ok(InputReceipt::Done),
            false => Err(InputRefused::NoSuchJob),
        }
    }

    fn job_table(&self) -> Option<&Arc<JobTable>> {
        self.shared().parts.jobs.get()
    }
}
