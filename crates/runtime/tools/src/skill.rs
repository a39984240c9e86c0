//! Skill: the text of a skill, when the model wants to use one.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use ostler_skills::{Skill as Found, Skills};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

pub struct SkillTool {
    skills: Arc<Skills>,
}

#[derive(Deserialize, JsonSchema)]
pub struct SkillInput {
    /// The skill's name
    skill: String,
    /// Its arguments, as a person would type them after the name
    args: Option<String>,
}

impl SkillTool {
    /// What using it would change of the session.
    fn inward(&self, input: &SkillInput) -> Result<(Arc<Found>, Inward), ToolOutput> {
        let name = input.skill.trim();
        let name = name.strip_prefix('/').unwrap_or(name);
        let skill = self.skills.for_model(name).map_err(ToolOutput::misuse)?;
        let loosens = self.skills.loosens(&skill);
        let inward = Inward { skill: Some(skill.name.clone()), loosens };
        Ok((skill, inward))
    }
}

impl BuiltIn for SkillTool {
    const NAME: &'static str = "Skill";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/skill.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Instructs,
        subject: Subject::Inputs(&["skill"]),
        ..ToolFacts::UNDECLARED
    };
    type Input = SkillInput;

    fn access(&self, input: &SkillInput) -> Result<Access, ToolOutput> {
        Ok(Access::inward(self.inward(input)?.1))
    }

    /// What it would allow stands in its file, which is not looked at.
    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        let skill = input.get("skill").and_then(Value::as_str).map(str::to_owned);
        Ok(Access::inward(Inward { skill, loosens: vec!["what its file names".into()] }))
    }

    async fn run(&self, input: SkillInput, cx: ToolContext) -> ToolOutput {
        let (skill, inward) = match self.inward(&input) {
            Ok(found) => found,
            Err(misuse) => return misuse,
        };
        // What was judged is what is used.
        if cx.judged.inward.as_ref() != Some(&inward) {
            return ToolOutput::error(
                "The skill changed while its permission was being checked. Call it again.",
            );
        }
        let text = self.skills.used(&skill, input.args.as_deref().unwrap_or_default()).await;
        let detail = json!({"success": true, "commandName": skill.name});
        ToolOutput { detail: Some(detail), ..ToolOutput::text(text) }
    }
}

impl Shipped for SkillTool {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(SkillTool { skills: setup.session.skills.clone()? }))
    }
}
