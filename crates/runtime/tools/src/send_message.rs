//! SendMessage: something more for an agent that is working.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Delegate, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

pub struct SendMessage {
    agents: Arc<dyn Delegate>,
}

#[derive(Deserialize, JsonSchema)]
pub struct MessageInput {
    /// The agent's name, or the id of its job
    to: String,
    /// What it should know or do
    message: String,
}

impl BuiltIn for SendMessage {
    const NAME: &'static str = "SendMessage";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/send-message.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Delegates,
        subject: Subject::Inputs(&["to"]),
        sample: &[("message", "")],
        ..ToolFacts::UNDECLARED
    };
    type Input = MessageInput;

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::inward(Inward::default()))
    }

    /// What the agent does with it is judged call by call.
    fn access(&self, input: &MessageInput) -> Result<Access, ToolOutput> {
        match input.message.trim().is_empty() {
            true => Err(ToolOutput::misuse("`message` is empty.")),
            false => Ok(Access::inward(Inward::default())),
        }
    }

    async fn run(&self, input: MessageInput, _: ToolContext) -> ToolOutput {
        self.agents.message(input.to.trim(), input.message)
    }
}

impl Shipped for SendMessage {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(SendMessage { agents: setup.session.agents.clone()? }))
    }
}
