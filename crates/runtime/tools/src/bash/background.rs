//! A command that leaves its call: it was asked to run in the background, a person moved it there, or it took too long.
//!
//! From then on it is a job. The state of the directories is kept when it leaves, so that other commands need not wait
//! for it; what is settled after a command is settled when the job has ended.

use super::execution::{Execution, HandedOver, locked};
use super::job_settling::{JobSettling, PREVIEW_BYTES, SettledJob};
use super::{Bash, BashInput, BegunCommand, about_command, limit};
use crate::JobOutput;
use crate::confine::{Confinement, Terms};
use crate::text::fill;
use crate::workspace::Files;
use ostler_core::ids::JobId;
use ostler_core::job::{self, JobEnd, JobKind, JobRecord, JobStatus, JobView};
use ostler_core::ports::{BoxFuture, JobPlace, JobWork, Jobs, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_exec::{CommandReport, ExecError, Stopper};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const STARTED: &str = include_str!("../../../../../prompts/results/background.md").trim_ascii();
const MOVED: &str = include_str!("../../../../../prompts/results/moved.md").trim_ascii();
const LATE: &str = include_str!("../../../../../prompts/results/moved-late.md").trim_ascii();

/// The longest time limit of a job.
const LONGEST: u64 = 24 * 60 * 60 * 1_000;

/// How waiting for a command ended.
pub(super) enum Followed {
    Ended(Result<CommandReport, ExecError>),
    Moved { place: JobPlace, why: MoveReason },
}

/// Why a command goes on in the background.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MoveReason {
    /// Its call asked for it.
    Asked,
    Person,
    /// It did not end within the time limit of its call.
    Late,
}

pub(super) type Wish = BoxFuture<'static, Option<JobPlace>>;

/// A job runs as long as the call says, or as the settings say.
pub(super) fn job_limit(input: &BashInput, place: &JobPlace) -> Duration {
    let said = input.timeout.map(|timeout| Duration::from_millis(timeout.clamp(1, LONGEST)));
    said.unwrap_or(place.limit)
}

impl Bash {
    /// Where the command goes, if it is to run in the background.
    pub(super) fn place(&self, input: &BashInput) -> Result<Option<JobPlace>, ToolOutput> {
        if input.run_in_background != Some(true) {
            return Ok(None);
        }
        let Some(jobs) = &self.jobs else {
            return Err(ToolOutput::misuse(
                "Commands cannot run in the background here. Send it without run_in_background.",
            ));
        };
        jobs.reserve().map(Some).map_err(ToolOutput::error)
    }

    /// Waits until the command has ended, or is to go on in the background.
    pub(super) async fn follow(
        &self,
        execution: &mut Execution,
        place: Option<JobPlace>,
        (mut wish, moves_after): (Wish, Option<Duration>),
        cx: &ToolContext,
    ) -> Followed {
        if let Some(place) = place {
            return Followed::Moved { place, why: MoveReason::Asked };
        }
        let mut late = pin!(tokio::time::sleep(moves_after.unwrap_or(Duration::MAX)));
        let mut may_move = true;
        loop {
            tokio::select! {
                biased;
                finished = execution.finished(cx) => return Followed::Ended(finished),
                place = &mut wish => match place {
                    Some(place) => return Followed::Moved { place, why: MoveReason::Person },
                    // Without a place it stays where it is.
                    None => wish = self.wish(cx),
                },
                () = &mut late, if may_move => match self.jobs.as_ref().map(|jobs| jobs.reserve()) {
                    Some(Ok(place)) => return Followed::Moved { place, why: MoveReason::Late },
                    // There are too many jobs already: it ends as it would elsewhere.
                    _ => {
                        may_move = false;
                        execution.end_by_time();
                    }
                },
            }
        }
    }

    /// When a command that its call waits for moves to the background. None: it ends at its time limit.
    pub(super) fn moves_after(&self, input: &BashInput) -> Option<Duration> {
        let moves = self.jobs.as_ref().is_some_and(|jobs| jobs.take_late_commands());
        (moves && input.run_in_background != Some(true)).then(|| limit(input))
    }

    /// A job wrote at the same time as a command, and snapshots do not say which change is whose. Said once for each job.
    pub(super) fn beside_jobs(&self) -> Option<String> {
        let jobs = self.jobs.as_ref()?.list();
        // What an agent runs has snapshots of its own.
        let is_command = |job: &JobView| job.end.is_none() && job.record.kind == JobKind::Command;
        let running: Vec<JobId> =
            jobs.into_iter().filter(is_command).map(|job| job.record.id).collect();
        let mut told = locked(&self.told_jobs);
        told.retain(|id| running.contains(id));
        let new: Vec<JobId> = running.into_iter().filter(|id| !told.contains(id)).collect();
        told.extend(new.iter().cloned());
        let names: Vec<&str> = new.iter().map(JobId::as_str).collect();
        (!names.is_empty()).then(|| {
            format!(
                "background job {} is running: files that it changes while another command runs count as changed by that command, and undo treats them that way",
                names.join(", ")
            )
        })
    }

    /// Comes back when a person wants the command in the background, with the place there. Listens at once.
    pub(super) fn wish(&self, cx: &ToolContext) -> Wish {
        let Some(jobs) = self.jobs.clone() else { return Box::pin(std::future::pending()) };
        let moved = jobs.moved(&cx.call);
        Box::pin(async move {
            moved.await;
            jobs.reserve().ok()
        })
    }

    /// Hands the command over, and answers its call.
    pub(super) async fn detach(
        &self,
        begun: BegunCommand,
        execution: Execution,
        place: JobPlace,
        why: MoveReason,
        cx: &ToolContext,
    ) -> ToolOutput {
        let Some(jobs) = self.jobs.clone() else { return ToolOutput::error("There are no jobs.") };
        let BegunCommand { input, commands, held, late, kept, oom_kills } = begun;
        let failed = |why: String| {
            ToolOutput::error(format!("The command was stopped: it cannot become a job: {why}."))
        };
        let output = match JobOutput::create(&place.output) {
            Ok(output) => output,
            Err(error) => return failed(format!("{}: {error}", place.output.display())),
        };
        let late = match late {
            None if why != MoveReason::Asked => {
                let environment = self.environment();
                let path = environment.programs(&commands);
                let terms = Terms::of(&commands, &cx.judged, path, super::lifts(&input));
                match self.confinement.inspection(terms, true, || 0) {
                    Ok(late) => late,
                    Err(why) => return failed(why),
                }
            }
            late => late,
        };
        let HandedOver { waiting, stopper, output, pid } = execution.hand_over(output);
        let limit = match why {
            MoveReason::Asked => job_limit(&input, &place),
            MoveReason::Person => place.limit.max(limit(&input)),
            // What it has run so far is not taken from the time that it has as a job.
            MoveReason::Late => place.limit.saturating_add(limit(&input)),
        };
        stopper.set_limit(limit);
        let record = record(&input, &place, limit, cx);
        let work = Arc::new(CommandJob { output: Arc::clone(&output), stopper, pid });
        if let Err(why) = jobs.begin(record, work) {
            return failed(why);
        }
        let limits = self.confinement.limits();
        let settling = JobSettling { held, late, oom_kills, limit, limits, output };
        let around = (Arc::clone(&self.confinement), Arc::clone(&self.files));
        tokio::spawn(run_to_end(waiting, settling, around, jobs, place.id.clone()));
        let kept = kept.end().await;
        let notices = kept.notes.iter().cloned().map(about_command).collect();
        let text = answer(&place, limit, why);
        let output = ToolOutput { notices, ..ToolOutput::text(text) };
        let detail = serde_json::json!({ "job": place.id.as_str() });
        kept.told(ToolOutput { detail: Some(detail), ..output })
    }
}

pub(super) fn record(
    input: &BashInput,
    place: &JobPlace,
    limit: Duration,
    cx: &ToolContext,
) -> JobRecord {
    JobRecord {
        id: place.id.clone(),
        kind: JobKind::Command,
        call: cx.call.clone(),
        label: job::label(input.description.as_deref(), &input.command),
        output: Some(place.output.clone()),
        at: place.at,
        limit_ms: u64::try_from(limit.as_millis()).ok(),
        command: Some(input.command.clone()),
        kept: false,
    }
}

/// What the call is answered with.
pub(super) fn answer(place: &JobPlace, limit: Duration, why: MoveReason) -> String {
    fill(
        match why {
            MoveReason::Asked => STARTED,
            MoveReason::Person => MOVED,
            MoveReason::Late => LATE,
        },
        &[
            ("id", place.id.as_str()),
            ("file", &place.output.display().to_string()),
            ("limit", &format!("{} s", limit.as_secs())),
        ],
    )
}

/// A command as the table of jobs knows it.
struct CommandJob {
    output: Arc<Mutex<JobOutput>>,
    stopper: Stopper,
    pid: i32,
}

impl JobWork for CommandJob {
    fn pid(&self) -> Option<i32> {
        Some(self.pid)
    }

    fn new_output(&self) -> String {
        locked(&self.output).new_output()
    }

    fn newest(&self) -> String {
        locked(&self.output).newest(PREVIEW_BYTES)
    }

    fn stop(&self) {
        self.stopper.stop();
    }
}

async fn run_to_end(
    waiting: impl Future<Output = Result<CommandReport, ExecError>>,
    settling: JobSettling,
    (confinement, files): (Arc<Confinement>, Arc<Files>),
    jobs: Arc<dyn Jobs>,
    id: JobId,
) {
    let finished = waiting.await;
    let settle = move || {
        let SettledJob { end, has_news, .. } = settling.end(finished, |path| files.name(path));
        if has_news {
            confinement.forget_repositories();
        }
        end
    };
    let end = tokio::task::spawn_blocking(settle).await;
    let end =
        end.unwrap_or_else(|error| JobEnd::new(JobStatus::Failed, format!("failed: {error}")));
    jobs.end(&id, end);
}
