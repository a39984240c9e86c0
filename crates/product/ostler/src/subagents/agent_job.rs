//! An agent that has left its call: from then on it is a job of the session that started it.

use super::child::AgentReport;
use super::refusal::AgentRefused;
use super::roster::AgentRun;
use super::written_text::WrittenText;
use crate::jobs::JobTable;
use ostler_core::ids::CallId;
use ostler_core::job::{self, JobEnd, JobKind, JobRecord, JobStatus};
use ostler_core::ports::{BoxFuture, JobPlace, JobWork, Jobs};
use ostler_core::session::{AgentRecord, AgentState};
use ostler_core::text::fill;
use ostler_core::tool::ToolOutput;
use ostler_engine::Journal;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const STARTED: &str =
    include_str!("../../../../../prompts/results/background-agent.md").trim_ascii();
const RESUME: &str = include_str!("../../../../../prompts/results/resume-agent.md").trim_ascii();
const MOVED: &str = include_str!("../../../../../prompts/results/moved-agent.md").trim_ascii();

/// What became of an agent that was at work when its process died.
const DIED: &str = "it died with Ostler";

/// The work of an agent, up to its end. Dropping it ends the agent.
pub(super) type AgentWork = BoxFuture<'static, AgentReport>;

/// A call that started an agent, and may let go of it.
pub(super) struct AgentCall {
    pub(super) jobs: Option<Arc<JobTable>>,
    pub(super) call: CallId,
    pub(super) run: Arc<AgentRun>,
    pub(super) written: Arc<WrittenText>,
    pub(super) limit: Duration,
}

impl AgentCall {
    /// The call waits until the agent has ended, or a person moves it to the background.
    pub(super) async fn wait(self, mut work: AgentWork) -> ToolOutput {
        let Some(jobs) = self.jobs.clone() else { return work.await.output() };
        let mut moved = jobs.moved(&self.call);
        loop {
            tokio::select! {
                biased;
                report = &mut work => return report.output(),
                () = &mut moved => {
                    let place = jobs.reserve();
                    match place.and_then(|place| self.become_job(&jobs, &place).map(|()| place)) {
                        Ok(place) => return self.hand_over(work, &jobs, &place, MOVED),
                        // It stays where it is.
                        Err(_) => moved = jobs.moved(&self.call),
                    }
                }
            }
        }
    }

    /// The call does not wait. If the agent cannot become a job, it does nothing at all.
    pub(super) fn leave(
        self,
        work: AgentWork,
        jobs: &Arc<JobTable>,
        place: &JobPlace,
    ) -> ToolOutput {
        match self.become_job(jobs, place) {
            Ok(()) => self.hand_over(work, jobs, place, STARTED),
            Err(why) => {
                AgentRefused::NotDetached { name: self.run.record.name.clone(), why }.output()
            }
        }
    }

    /// The table of jobs knows it from here on.
    fn become_job(&self, jobs: &JobTable, place: &JobPlace) -> Result<(), String> {
        let AgentRecord { name, task, .. } = &self.run.record;
        let record = JobRecord {
            id: place.id.clone(),
            kind: JobKind::Agent,
            call: self.call.clone(),
            label: job::label(Some(task), name),
            output: Some(place.output.clone()),
            at: place.at,
            limit_ms: u64::try_from(self.limit.as_millis()).ok(),
            command: None,
            kept: false,
        };
        let written = self.written.write_to(&place.output);
        written.map_err(|error| format!("{}: {error}", place.output.display()))?;
        jobs.begin(
            record,
            Arc::new(AgentJob { run: self.run.clone(), written: self.written.clone() }),
        )
    }

    /// The work goes on in a task of its own, and the call is answered.
    fn hand_over(
        &self,
        work: AgentWork,
        jobs: &Arc<JobTable>,
        place: &JobPlace,
        answer: &str,
    ) -> ToolOutput {
        let (table, id) = (jobs.clone(), place.id.clone());
        tokio::spawn(async move {
            let end = work.await.job_end();
            table.end(&id, end);
        });
        let AgentRecord { name, session, .. } = &self.run.record;
        let text = fill(
            answer,
            &[
                ("name", name.as_str()),
                ("id", place.id.as_str()),
                ("file", &place.output.display().to_string()),
                ("limit", &format!("{} s", self.limit.as_secs())),
            ],
        );
        let (session, job) = (session.as_str(), place.id.as_str());
        let detail = json!({ "agent": name, "session": session, "job": job });
        ToolOutput { detail: Some(detail), ..ToolOutput::text(text) }
    }
}

/// An agent as the table of jobs knows it.
struct AgentJob {
    run: Arc<AgentRun>,
    written: Arc<WrittenText>,
}

impl JobWork for AgentJob {
    fn new_output(&self) -> String {
        self.written.new_output()
    }

    fn newest(&self) -> String {
        self.written.last()
    }

    fn stop(&self) {
        self.run.stop();
    }
}

/// The end of an agent as a job. None: it did its work.
pub(super) fn job_end(name: &str, failure: Option<(JobStatus, &str)>) -> JobEnd {
    let end = match failure {
        None => JobEnd::new(JobStatus::Completed, "completed"),
        Some((JobStatus::Stopped, _)) => JobEnd::new(JobStatus::Stopped, "was stopped"),
        Some((JobStatus::TimedOut, why)) => {
            JobEnd::new(JobStatus::TimedOut, format!("timed out: {why}"))
        }
        Some((status, why)) => JobEnd::new(status, format!("failed: {why}")),
    };
    JobEnd { notes: vec![resume_hint(name)], ..end }
}

pub(super) fn resume_hint(name: &str) -> String {
    fill(RESUME, &[("name", name)])
}

/// How an agent in the background ended that an earlier process ran, if that was not reported. Its record has
/// it if it came to its end; otherwise it died with that process, which is recorded now.
pub(crate) fn end_of_lost_agent(journal: &Journal, job: &JobRecord) -> JobEnd {
    let Some(agent) = journal.agents().into_iter().find(|agent| agent.call == job.call) else {
        return JobEnd::died();
    };
    match &agent.state {
        AgentState::Finished => job_end(&agent.name, None),
        AgentState::Failed { why } if why != DIED => {
            job_end(&agent.name, Some((JobStatus::Failed, why)))
        }
        AgentState::Failed { .. } | AgentState::Running => {
            let notes = vec![resume_hint(&agent.name)];
            let state = AgentState::Failed { why: DIED.to_owned() };
            // A log that refuses it now is asked again when the session is opened the next time.
            let _ = journal.record_agent(AgentRecord { state, ..agent });
            JobEnd { notes, ..JobEnd::died() }
        }
    }
}
