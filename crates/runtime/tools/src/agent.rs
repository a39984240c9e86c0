//! Agent: another agent does the work, and only its last text comes back.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase_with};
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::permission::Access;
use ostler_core::ports::{AgentKind, AgentOrder, Delegate, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Characters of a definition's description in the list of agents, and how many are listed.
const DESCRIBED: usize = 300;
const LISTED: usize = 50;

pub struct AgentTool {
    agents: Arc<dyn Delegate>,
}

#[derive(Deserialize, JsonSchema)]
pub struct AgentInput {
    /// The task in 3 to 5 words
    description: String,
    /// Everything the agent needs to know: it sees nothing else
    prompt: String,
    /// Kind (default: general)
    subagent_type: Option<String>,
    /// Model to use instead of yours
    model: Option<String>,
    /// Name of an agent to resume
    resume: Option<String>,
    /// Do not wait for it; you are told when it ends
    run_in_background: Option<bool>,
}

/// What rules can call an agent of this kind.
fn names(kind: &str) -> Vec<String> {
    match AgentKind::parse(kind) {
        Some(kind) => kind.names().map(str::to_owned).to_vec(),
        None => vec![kind.to_owned()],
    }
}

impl AgentTool {
    fn kind(&self, input: &AgentInput) -> Result<String, String> {
        if let Some(agent) = &input.resume {
            let kind = self.agents.kind_of(agent);
            return kind.ok_or_else(|| format!("You have not started an agent named \"{agent}\"."));
        }
        let Some(name) = &input.subagent_type else {
            return Ok(AgentKind::default().name().to_owned());
        };
        let definitions = self.agents.definitions();
        if definitions.iter().any(|definition| definition.name == *name) {
            return Ok(name.clone());
        }
        if let Some(kind) = AgentKind::parse(name) {
            return Ok(kind.name().to_owned());
        }
        let own = AgentKind::ALL.map(AgentKind::name).into_iter();
        let known: Vec<&str> = own.chain(definitions.iter().map(|it| it.name.as_str())).collect();
        Err(format!("There is no agent \"{name}\". Available: {}.", known.join(", ")))
    }
}

/// The definitions, one line each, for the description of the tool.
fn listing(definitions: &[AgentDefinition]) -> String {
    let mut lines = String::new();
    for AgentDefinition { name, description, .. } in definitions.iter().take(LISTED) {
        let words: Vec<&str> = description.split_whitespace().collect();
        let words: String = words.join(" ").chars().take(DESCRIBED).collect();
        let _ = write!(lines, "\n- {name}: {words}");
    }
    match lines.is_empty() {
        true => lines,
        false => format!("\n\nDefined for this project or by the user:{lines}"),
    }
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
        let kind = self.kind(input).map_err(ToolOutput::misuse)?;
        Ok(Access::delegating(names(&kind)))
    }

    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        let kind = input.get("subagent_type").and_then(Value::as_str);
        Ok(Access::delegating(names(kind.unwrap_or(AgentKind::default().name()))))
    }

    async fn run(&self, input: AgentInput, cx: ToolContext) -> ToolOutput {
        let kind = match self.kind(&input) {
            Ok(kind) => kind,
            Err(unknown) => return ToolOutput::misuse(unknown),
        };
        let background = input.run_in_background == Some(true);
        let AgentInput { description, prompt, model, resume, .. } = input;
        let order = AgentOrder { description, prompt, kind, model, resume, background };
        self.agents.delegate(order, cx).await
    }
}

impl Shipped for AgentTool {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let agents = setup.session.agents.clone()?;
        let more = listing(agents.definitions());
        Some(erase_with(AgentTool { agents }, &more))
    }
}
