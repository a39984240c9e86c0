//! A job that outlives Ostler: the command is handed to a keeper, which runs it and settles what is left to do.

use super::background::{MoveReason, answer, job_limit, record};
use super::execution::{Execution, HandedOver, LIMITS};
use super::job_settling::{JobSettling, SettledJob};
use super::{Bash, BegunCommand, about_command};
use crate::JobOutput;
use crate::confine::{Inspected, KeptConfinement, KeptTemp};
use ostler_core::job::{JobEnd, JobRecord, JobStatus};
use ostler_core::ports::{BoxFuture, JobPlace, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_exec::{Command, CommandReport, ExecError, Executor, Stopper};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

const LENGTH: usize = size_of::<u64>();

/// What a keeper is told besides the command itself.
#[derive(Serialize, Deserialize)]
struct KeptOrder {
    limit: Duration,
    /// Paths in notes are shown from here.
    cwd: PathBuf,
    oom_kills: Option<u64>,
    confinement: KeptConfinement,
}

impl KeptOrder {
    fn with(&self, command: &Command) -> Result<Vec<u8>, String> {
        // Paths that are no text cannot be written down.
        let order = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        let command = command.to_bytes().map_err(|error| error.to_string())?;
        Ok([&(order.len() as u64).to_ne_bytes(), order.as_slice(), &command].concat())
    }

    fn read(bytes: &[u8]) -> Option<(Self, Command)> {
        let (order, command) = parts(bytes)?;
        Some((serde_json::from_slice(order).ok()?, Command::from_bytes(command)?))
    }
}

/// What a keeper is told besides the command, and the command.
fn parts(order: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = order.split_first_chunk::<LENGTH>()?;
    let length = usize::try_from(u64::from_ne_bytes(*length)).ok()?;
    rest.split_at_checked(length)
}

/// The look that is owed after the command of an order, as text that can be kept until it is made.
pub struct OwedInspection;

impl OwedInspection {
    /// To be kept before the command starts. None: the order is damaged.
    pub fn of(order: &[u8]) -> Option<&[u8]> {
        parts(order).map(|(order, _)| order)
    }

    /// Looks at what the command left in the project, after its keeper was killed. It blocks.
    ///
    /// # Errors
    /// If the text is damaged: then nothing was looked at.
    pub fn make(text: &[u8]) -> Result<Inspected, String> {
        let order: KeptOrder = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let KeptOrder { cwd, confinement, .. } = order;
        let shown = |path: &Path| path.strip_prefix(&cwd).unwrap_or(path).display().to_string();
        Ok(confinement.look_late(shown))
    }
}

impl Bash {
    /// Hands the command to a keeper, and answers its call.
    pub(super) async fn keep(
        &self,
        begun: BegunCommand,
        command: Command,
        place: JobPlace,
        cx: &ToolContext,
    ) -> ToolOutput {
        let Some(jobs) = self.jobs.clone() else { return ToolOutput::error("There are no jobs.") };
        let BegunCommand { input, held, late, kept, oom_kills, .. } = begun;
        let limit = job_limit(&input, &place);
        let (cwd, confinement) =
            (self.files.cwd().to_owned(), self.confinement.hand_over(held, late));
        let order = KeptOrder { limit, cwd, oom_kills, confinement }.with(&command);
        let record = JobRecord { kept: true, ..record(&input, &place, limit, cx) };
        let begun = match order {
            Ok(order) => jobs.keep(record, order).await,
            Err(why) => Err(why),
        };
        let kept = kept.end().await;
        let notices = kept.notes.iter().cloned().map(about_command).collect();
        let output = match begun {
            Ok(()) => {
                let detail = serde_json::json!({ "job": place.id.as_str() });
                let text = answer(&place, limit, MoveReason::Asked);
                ToolOutput { detail: Some(detail), ..ToolOutput::text(text) }
            }
            Err(why) => ToolOutput::error(format!("The command was not run: {why}.")),
        };
        kept.told(ToolOutput { notices, ..output })
    }
}

/// A job that this process runs as its keeper.
pub struct KeptJob {
    waiting: BoxFuture<'static, Result<CommandReport, ExecError>>,
    stopper: Stopper,
    pid: i32,
    settling: JobSettling,
    cwd: PathBuf,
    temp: KeptTemp,
}

impl KeptJob {
    /// Starts the command of an order; its output goes to a new file.
    ///
    /// # Errors
    /// Why it was not started, in words.
    pub async fn start(executor: &Executor, order: &[u8], output: &Path) -> Result<Self, String> {
        let (order, mut command) = KeptOrder::read(order).ok_or("the order is damaged")?;
        let KeptOrder { limit, cwd, oom_kills, confinement } = order;
        let (held, late, temp) = confinement.take_over(command.sandbox.clone())?;
        command.time_limit = Some(limit);
        command.output = LIMITS;
        let limits = command.limits;
        let file = JobOutput::create(output);
        let file = file.map_err(|error| format!("{}: {error}", output.display()))?;
        let execution = Execution::start(executor, command).await;
        let execution = execution.map_err(|error| error.to_string())?;
        let HandedOver { waiting, stopper, output, pid } = execution.hand_over(file);
        let settling = JobSettling { held, late, oom_kills, limit, limits, output };
        Ok(KeptJob { waiting, stopper, pid, settling, cwd, temp })
    }

    /// The process that leads the group of its processes.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits for its end, and settles what is left to do. True with it: everything that it left was looked at.
    pub async fn finished(self) -> (JobEnd, bool) {
        let KeptJob { waiting, settling, cwd, temp, .. } = self;
        let finished = waiting.await;
        let settle = move || {
            let shown = |path: &Path| path.strip_prefix(&cwd).unwrap_or(path).display().to_string();
            let SettledJob { end, is_inspected, .. } = settling.end(finished, shown);
            drop(temp);
            (end, is_inspected)
        };
        let end = tokio::task::spawn_blocking(settle).await;
        let failed = |error| JobEnd::new(JobStatus::Failed, format!("failed: {error}"));
        end.unwrap_or_else(|error| (failed(error), false))
    }
}
