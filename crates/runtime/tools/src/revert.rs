//! Revert: a file as it was before the last changes of the file tools.

use crate::ToolSetup;
use crate::blocking_task::{TaskStop, blocking};
use crate::denied_names::judged_by_first_name;
use crate::text::{counted, lines};
use crate::typed_tool::{BuiltIn, Shipped};
use crate::workspace::Files;
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{FileInput, Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);
const MAX_STEPS: u64 = 100;

pub struct Revert {
    pub files: Arc<Files>,
}

#[derive(Deserialize, JsonSchema)]
pub struct RevertInput {
    /// The file, absolute or relative to the workspace directory
    file_path: String,
    /// How many changes to undo, newest first; 1 if not given
    steps: Option<u64>,
}

impl BuiltIn for Revert {
    const NAME: &'static str = "Revert";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/revert.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edits,
        subject: Subject::Inputs(&["file_path"]),
        files: &[FileInput::write("file_path")],
        aliases: &[("path", "file_path")],
        ..ToolFacts::UNDECLARED
    };
    type Input = RevertInput;

    fn access(&self, input: &RevertInput) -> Result<Access, ToolOutput> {
        if input.steps.is_some_and(|steps| !(1..=MAX_STEPS).contains(&steps)) {
            return Err(ToolOutput::misuse(format!("`steps` must be between 1 and {MAX_STEPS}.")));
        }
        Ok(Access::writing(PathScope::File(self.files.resolve_for_writing(&input.file_path)?)))
    }

    async fn run(&self, input: RevertInput, cx: ToolContext) -> ToolOutput {
        let files = Arc::clone(&self.files);
        blocking(LIMIT, move |stop| {
            revert(&files, &input, &cx, stop).unwrap_or_else(|output| output)
        })
        .await
    }
}

impl Shipped for Revert {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let files = Arc::clone(&setup.files);
        Some(judged_by_first_name(Revert { files }, &setup.confinement))
    }
}

fn revert(
    files: &Files,
    input: &RevertInput,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let path = files.judged_for_writing(&input.file_path, cx)?;
    let name = files.name(&path);
    let wanted = input.steps.unwrap_or(1).clamp(1, MAX_STEPS) as usize;
    let reverted = files.revert(&path, wanted, cx, stop)?;
    let undone = counted(reverted.undone as u64, "change");
    let mut text = match &reverted.now {
        Some(content) => {
            format!(
                "Reverted {undone} of {name}: its previous content was restored ({}).",
                lines(content)
            )
        }
        None => format!("Reverted {undone} of {name}: it did not exist before, so it was removed."),
    };
    if reverted.blocked {
        text.push_str(" Stopped there: before that, something else changed the file.");
    } else if reverted.undone < wanted {
        text.push_str(" There were no more.");
    } else if reverted.left > 0 {
        text.push_str(&format!(
            " {} can still be undone.",
            counted(reverted.left as u64, "earlier change")
        ));
    }
    let detail = json!({"path": path, "undone": reverted.undone, "left": reverted.left});
    Ok(ToolOutput { seen: vec![reverted.seen], detail: Some(detail), ..ToolOutput::text(text) })
}
