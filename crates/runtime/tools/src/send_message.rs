//! SendMessage: something more for an agent that is working, or for a teammate.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase_with};
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Delegate, Teamwork, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

pub struct SendMessage {
    agents: Arc<dyn Delegate>,
    team: Option<Arc<dyn Teamwork>>,
}

impl SendMessage {
    fn team_of(&self, name: &str) -> Option<&Arc<dyn Teamwork>> {
        self.team.as_ref().filter(|team| name == EVERYBODY || team.is_teammate(name))
    }
}

/// What a session with a team reads as well.
const OF_A_TEAM: &str = concat!("\n\n", include_str!("../../../../prompts/team/send-message.md"));
const EVERYBODY: &str = "*";

#[derive(Deserialize, JsonSchema)]
pub struct MessageInput {
    /// The agent's name, or the id of its job
    to: String,
    /// What it should know or do
    message: String,
    /// For a teammate: you need its answer
    request: Option<bool>,
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
        let to = input.to.trim();
        match (input.message.trim().is_empty(), self.team_of(to)) {
            (true, _) => Err(ToolOutput::misuse("`message` is empty.")),
            // A dropped answer must leave no mail.
            (false, Some(_)) => Ok(Access::delegating([to])),
            (false, None) => Ok(Access::inward(Inward::default())),
        }
    }

    async fn run(&self, input: MessageInput, _: ToolContext) -> ToolOutput {
        let to = input.to.trim();
        match self.team_of(to) {
            Some(team) => team.send(to, input.message, input.request == Some(true)).await,
            None => self.agents.message(to, input.message),
        }
    }
}

impl Shipped for SendMessage {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let (agents, team) = (setup.session.agents.clone()?, setup.session.team.clone());
        let more = if team.is_some() { OF_A_TEAM } else { "" };
        Some(erase_with(SendMessage { agents, team }, more))
    }
}
