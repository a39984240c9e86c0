//! Delegate: a teammate gets a task, and reports when it is done.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase_with};
use ostler_core::permission::Access;
use ostler_core::ports::{Teamwork, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Characters of what a teammate is for, in the description of the tool.
const DESCRIBED: usize = 300;

pub struct DelegateTool {
    team: Arc<dyn Teamwork>,
}

#[derive(Deserialize, JsonSchema)]
pub struct DelegateInput {
    /// Name of the teammate
    to: String,
    /// What to do, what you know already, and what to report
    task: String,
    /// Shut the teammate down instead: it may finish its turn, and gets no more tasks; `task` says why
    stop: Option<bool>,
    /// Approve the teammate's plan instead: the sha256 of the plan that it sent; `task` says why
    approve: Option<String>,
}

impl BuiltIn for DelegateTool {
    const NAME: &'static str = "Delegate";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/delegate.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Delegates,
        subject: Subject::Inputs(&["to"]),
        sample: &[("task", "")],
        ..ToolFacts::UNDECLARED
    };
    type Input = DelegateInput;

    fn access(&self, input: &DelegateInput) -> Result<Access, ToolOutput> {
        let to = input.to.trim();
        match (input.task.trim().is_empty(), self.team.is_teammate(to)) {
            (true, _) => Err(ToolOutput::misuse("`task` is empty.")),
            (_, false) => Err(ToolOutput::misuse(unknown(to, self.team.as_ref()))),
            (false, true) => Ok(Access::delegating([to])),
        }
    }

    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        let to = input.get("to").and_then(Value::as_str).unwrap_or_default();
        Ok(Access::delegating([to]))
    }

    async fn run(&self, input: DelegateInput, _: ToolContext) -> ToolOutput {
        if let Some(sha256) = input.approve {
            return self.team.approve(input.to.trim(), sha256).await;
        }
        if input.stop == Some(true) {
            return self.team.stop(input.to.trim());
        }
        self.team.assign(input.to.trim(), input.task).await
    }
}

/// For the model.
fn unknown(name: &str, team: &dyn Teamwork) -> String {
    let known: Vec<String> = team.teammates().into_iter().map(|(name, _)| name).collect();
    format!("There is no teammate \"{name}\". Your teammates: {}.", known.join(", "))
}

/// One line each.
fn listing(team: &dyn Teamwork) -> String {
    let mut lines = String::from("\n");
    for (name, description) in team.teammates() {
        let words: Vec<&str> = description.split_whitespace().collect();
        let words: String = words.join(" ").chars().take(DESCRIBED).collect();
        let _ = write!(lines, "\n- {name}: {words}");
    }
    lines
}

impl Shipped for DelegateTool {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let team = setup.session.team.clone().filter(|team| team.is_lead())?;
        let more = listing(team.as_ref());
        Some(erase_with(DelegateTool { team }, &more))
    }
}
