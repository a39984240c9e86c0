//! EnterPlanMode: nothing can be changed until a person has approved a plan. It only makes the session stricter, so nobody
//! is asked.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, Inward, Mode};
use ostler_core::ports::{ModeSwitch, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

pub struct EnterPlanMode {
    switch: Arc<dyn ModeSwitch>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Input {}

impl BuiltIn for EnterPlanMode {
    const NAME: &'static str = "EnterPlanMode";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/enter-plan-mode.md");
    const FACTS: ToolFacts =
        ToolFacts { kind: ToolKind::Plans, subject: Subject::Inputs(&[]), ..ToolFacts::UNDECLARED };
    type Input = Input;

    fn access(&self, _: &Input) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, _: Input, _: ToolContext) -> ToolOutput {
        if self.switch.mode() == Mode::Plan {
            return ToolOutput::text("The session is in plan mode already.");
        }
        match self.switch.switch(Mode::Plan) {
            Ok(()) => ToolOutput::text(
                "The session is now in plan mode. Read and search as you need, change nothing, and present a plan for approval.",
            ),
            Err(why) => ToolOutput::error(format!("Plan mode was not entered: {why}.")),
        }
    }
}

impl Shipped for EnterPlanMode {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let switch = setup.session.person.clone()?;
        Some(erase(EnterPlanMode { switch }))
    }
}
