//! ListTeammates: who is in the team, and what each of them is doing.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Teamwork, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

pub struct ListTeammates {
    team: Arc<dyn Teamwork>,
}

#[derive(Deserialize, JsonSchema)]
pub struct NoInput {}

impl BuiltIn for ListTeammates {
    const NAME: &'static str = "ListTeammates";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/list-teammates.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Delegates,
        subject: Subject::Inputs(&[]),
        ..ToolFacts::UNDECLARED
    };
    type Input = NoInput;

    fn access(&self, _: &NoInput) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, _: NoInput, _: ToolContext) -> ToolOutput {
        self.team.list().await
    }
}

impl Shipped for ListTeammates {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(ListTeammates { team: setup.session.team.clone()? }))
    }
}
