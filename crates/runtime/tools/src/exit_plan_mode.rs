//! ExitPlanMode: shows a plan to the person. Only their approval of exactly this plan ends plan mode.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, Mode, PersonRequest};
use ostler_core::ports::{ModeSwitch, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Characters of a plan.
const LONGEST: usize = 50_000;
/// What a person can choose; the first one if they do not.
const MODES: [Mode; 2] = [Mode::Default, Mode::AcceptEdits];

pub struct ExitPlanMode {
    switch: Arc<dyn ModeSwitch>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The whole plan, as Markdown
    plan: Option<String>,
    /// Filled in by the user; leave it out
    mode: Option<String>,
}

impl BuiltIn for ExitPlanMode {
    const NAME: &'static str = "ExitPlanMode";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/exit-plan-mode.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Asks,
        subject: Subject::Inputs(&["plan"]),
        other_names: &["exit_plan_mode"],
        ..ToolFacts::UNDECLARED
    };
    const OBJECTS: bool = true;
    type Input = Input;

    fn access(&self, input: &Input) -> Result<Access, ToolOutput> {
        access(input.plan.as_deref().unwrap_or_default()).map_err(ToolOutput::misuse)
    }

    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        access(input.get("plan").and_then(Value::as_str).unwrap_or_default())
    }

    fn objection(&self, input: &Input) -> Option<ToolOutput> {
        if input.mode.is_some() {
            return Some(ToolOutput::misuse("Leave out `mode`: the user chooses it."));
        }
        (self.switch.mode() != Mode::Plan).then(not_planning)
    }

    async fn run(&self, input: Input, cx: ToolContext) -> ToolOutput {
        let Some(PersonRequest::Plan { plan, sha256, modes }) = cx.judged.person.as_deref() else {
            return ToolOutput::error("Nobody was asked, so plan mode was not left.");
        };
        // What was shown is what was approved.
        if hash(input.plan.as_deref().unwrap_or_default()) != *sha256 {
            return ToolOutput::error("This is not the plan that was approved; nothing changed.");
        }
        let chosen = input.mode.as_deref().map_or(modes.first().copied(), Mode::parse);
        let Some(mode) = chosen.filter(|mode| modes.contains(mode)) else {
            let names: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
            let names = names.join(" or ");
            return ToolOutput::error(format!(
                "After a plan the mode can be {names}; nothing changed."
            ));
        };
        if self.switch.mode() != Mode::Plan {
            return not_planning();
        }
        if let Err(why) = self.switch.switch(mode) {
            return ToolOutput::error(format!("Plan mode was not left: {why}."));
        }
        let text = format!(
            "The user approved the plan. The mode is now {}. Begin with the work.\n\n{plan}",
            mode.name()
        );
        let detail = json!({"plan": plan, "sha256": sha256, "mode": mode.name()});
        ToolOutput { detail: Some(detail), ..ToolOutput::text(text) }
    }
}

impl Shipped for ExitPlanMode {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let switch = setup.session.person.clone()?;
        Some(erase(ExitPlanMode { switch }))
    }
}

fn access(plan: &str) -> Result<Access, String> {
    match plan.chars().count() {
        count if count > LONGEST => {
            Err(format!("The plan has {count} characters, more than {LONGEST}. Shorten it."))
        }
        _ => {
            let (plan, sha256) = (plan.to_owned(), hash(plan));
            Ok(Access::asking(PersonRequest::Plan { plan, sha256, modes: MODES.to_vec() }))
        }
    }
}

fn not_planning() -> ToolOutput {
    ToolOutput::misuse("The session is not in plan mode, so there is no plan to approve.")
}

fn hash(plan: &str) -> String {
    let digest = Sha256::digest(plan.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
