//! TaskOutput and TaskStop: what a background job wrote, and its end.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::ids::JobId;
use ostler_core::job::JobView;
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Jobs, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How long a reader waits for the end, in milliseconds.
const PATIENCE: u64 = 30_000;
const LONGEST: u64 = 600_000;
/// A job that was stopped takes at most this long to be gone: its grace and a kill.
const ENDING: Duration = Duration::from_secs(15);

pub struct TaskOutput {
    jobs: Arc<dyn Jobs>,
}

pub struct TaskStop {
    jobs: Arc<dyn Jobs>,
}

#[derive(Deserialize, JsonSchema)]
pub struct OutputInput {
    /// The job's id
    task_id: String,
    /// Wait until the job ends; true if not given
    block: Option<bool>,
    /// How long to wait, in milliseconds: 30000 if not given, at most 600000
    timeout: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub struct StopInput {
    /// The job's id
    task_id: Option<String>,
    /// The same, as older versions call it
    shell_id: Option<String>,
}

const FACTS: ToolFacts = ToolFacts {
    kind: ToolKind::Waits,
    subject: Subject::Inputs(&["task_id"]),
    ..ToolFacts::UNDECLARED
};

impl BuiltIn for TaskOutput {
    const NAME: &'static str = "TaskOutput";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/task-output.md");
    const FACTS: ToolFacts = FACTS;
    type Input = OutputInput;

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::inward(Inward::default()))
    }

    fn access(&self, _: &OutputInput) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, input: OutputInput, cx: ToolContext) -> ToolOutput {
        let id = match find(self.jobs.as_ref(), &input.task_id) {
            Ok(view) => view.record.id,
            Err(unknown) => return unknown,
        };
        if input.block != Some(false) {
            let patience = Duration::from_millis(input.timeout.unwrap_or(PATIENCE).min(LONGEST));
            tokio::select! {
                biased;
                () = self.jobs.ended(&id) => {}
                // What a person says, or another job, comes first.
                _ = cx.arrivals.next() => {}
                () = tokio::time::sleep(patience) => {}
            }
        }
        shown(self.jobs.as_ref(), &id)
    }
}

impl BuiltIn for TaskStop {
    const NAME: &'static str = "TaskStop";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/task-stop.md");
    const FACTS: ToolFacts = FACTS;
    type Input = StopInput;

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::inward(Inward::default()))
    }

    fn access(&self, input: &StopInput) -> Result<Access, ToolOutput> {
        match input.task_id.is_some() || input.shell_id.is_some() {
            true => Ok(Access::inward(Inward::default())),
            false => Err(ToolOutput::misuse("`task_id` is missing. Give the id of a job.")),
        }
    }

    async fn run(&self, input: StopInput, _: ToolContext) -> ToolOutput {
        let name = input.task_id.or(input.shell_id).unwrap_or_default();
        let id = match find(self.jobs.as_ref(), &name) {
            Ok(view) => view.record.id,
            Err(unknown) => return unknown,
        };
        if self.jobs.stop(&id) {
            let _ = tokio::time::timeout(ENDING, self.jobs.ended(&id)).await;
        }
        shown(self.jobs.as_ref(), &id)
    }
}

fn find(jobs: &dyn Jobs, name: &str) -> Result<JobView, ToolOutput> {
    let all = jobs.list();
    let found = all.iter().find(|view| view.record.id.as_str() == name.trim());
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|view| view.record.id.as_str()).collect();
        let known = if known.is_empty() { "There are none.".to_owned() } else { known.join(", ") };
        ToolOutput::misuse(format!("There is no background job \"{name}\". Jobs: {known}"))
    })
}

/// How it is, and what it wrote since it was last read.
fn shown(jobs: &dyn Jobs, id: &JobId) -> ToolOutput {
    let output = jobs.new_output(id).unwrap_or_default();
    let view = jobs.list().into_iter().find(|view| view.record.id == *id);
    let Some(view) = view else { return ToolOutput::error(format!("{id} is gone.")) };
    let state = match &view.end {
        Some(end) => format!("{id} {}.", end.words),
        None => format!("{id} is running."),
    };
    let notes = view.end.iter().flat_map(|end| &end.notes).map(String::as_str);
    let output = output.trim_end();
    let output = match output.is_empty() {
        true => "(no new output)".to_owned(),
        false => format!("New output:\n{output}"),
    };
    let lines: Vec<&str> =
        [state.as_str()].into_iter().chain(notes).chain([output.as_str()]).collect();
    ToolOutput::text(lines.join("\n"))
}

impl Shipped for TaskOutput {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(TaskOutput { jobs: setup.session.jobs.clone()? }))
    }
}

impl Shipped for TaskStop {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(TaskStop { jobs: setup.session.jobs.clone()? }))
    }
}
