//! Agent: another agent does the work, and only its last text comes back.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::Access;
use ostler_core::ports::{AgentKind, AgentOrder, Delegate, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

pub struct AgentTool {
    agents: Arc<dyn Delegate>,
}

#[derive(Deserialize, JsonSchema)]
pub struct AgentInput {
    /// The task in 3 to 5 words
    description: String,
    /// Everything the agent needs to know: it sees nothing else
    prompt: String,
    /// explorer, planner or general (default)
    subagent_type: Option<String>,
    /// Another model than yours
    model: Option<String>,
}

fn kind(name: Option<&str>) -> Result<AgentKind, String> {
    let Some(name) = name else { return Ok(AgentKind::default()) };
    AgentKind::parse(name).ok_or_else(|| {
        let known = AgentKind::ALL.map(AgentKind::name).join(", ");
        format!("There is no agent \"{name}\". Available: {known}.")
    })
}

impl BuiltIn for AgentTool {
    const NAME: &'static str = "Agent";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/agent.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Delegates,
        subject: Subject::Inputs(&["description"]),
        other_names: &["Task"],
        sample: &[("prompt", "")],
        ..ToolFacts::UNDECLARED
    };
    type Input = AgentInput;

    fn access(&self, input: &AgentInput) -> Result<Access, ToolOutput> {
        let kind = kind(input.subagent_type.as_deref()).map_err(ToolOutput::misuse)?;
        Ok(Access::delegating(kind.names()))
    }

    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        let kind = kind(input.get("subagent_type").and_then(Value::as_str))?;
        Ok(Access::delegating(kind.names()))
    }

    async fn run(&self, input: AgentInput, cx: ToolContext) -> ToolOutput {
        let kind = match kind(input.subagent_type.as_deref()) {
            Ok(kind) => kind,
            Err(unknown) => return ToolOutput::misuse(unknown),
        };
        let AgentInput { description, prompt, model, .. } = input;
        self.agents.delegate(AgentOrder { description, prompt, kind, model }, cx).await
    }
}

impl Shipped for AgentTool {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(AgentTool { agents: setup.session.agents.clone()? }))
    }
}
