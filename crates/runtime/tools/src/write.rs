//! Write: a whole file, new or replaced.

use crate::ToolSetup;
use crate::blocking_task::{TaskStop, blocking};
use crate::denied_names::judged_by_first_name;
use crate::text::{line_ends, lines};
use crate::typed_tool::{BuiltIn, Shipped};
use crate::workspace::{Files, Needs, New};
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

pub struct Write {
    pub files: Arc<Files>,
}

#[derive(Deserialize, JsonSchema)]
pub struct WriteInput {
    /// The file, absolute or relative to the workspace directory
    file_path: String,
    /// The whole new content
    content: String,
}

impl BuiltIn for Write {
    const NAME: &'static str = "Write";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/write.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edits,
        subject: Subject::Inputs(&["file_path"]),
        files: &[FileInput::write("file_path")],
        aliases: &[("path", "file_path")],
        sample: &[("content", "")],
        ..ToolFacts::UNDECLARED
    };
    const OBJECTS: bool = true;
    type Input = WriteInput;

    fn access(&self, input: &WriteInput) -> Result<Access, ToolOutput> {
        Ok(Access::writing(PathScope::File(self.files.resolve_for_writing(&input.file_path)?)))
    }

    /// Nobody is asked about a change that the model cannot know enough for.
    fn objection(&self, input: &WriteInput) -> Option<ToolOutput> {
        self.files.unknown_content(&input.file_path, Needs::Whole)
    }

    async fn run(&self, input: WriteInput, cx: ToolContext) -> ToolOutput {
        let files = Arc::clone(&self.files);
        blocking(LIMIT, move |stop| write(&files, input, &cx, stop).unwrap_or_else(|output| output))
            .await
    }
}

impl Shipped for Write {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let files = Arc::clone(&setup.files);
        Some(judged_by_first_name(Write { files }, &setup.confinement))
    }
}

fn write(
    files: &Files,
    input: WriteInput,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let path = files.judged_for_writing(&input.file_path, cx)?;
    let name = files.name(&path);
    let size = lines(input.content.as_bytes());
    // A model writes `\n`; in a file of `\r\n` it means the end of a line there.
    let mut kept_ends = false;
    let changed = files.change(&path, cx, stop, Needs::Whole, |old| {
        kept_ends = old.content.is_some_and(|old| matches!(line_ends(&old.bytes), (1.., 0)))
            && input.content.contains('\n')
            && !input.content.contains('\r');
        let content = match kept_ends {
            true => input.content.replace('\n', "\r\n"),
            false => input.content,
        };
        Ok(New { bytes: content.into_bytes(), unseen: false })
    })?;
    let size = if kept_ends { format!("{size}, with CRLF line endings as before") } else { size };
    let text = match (changed.created, changed.same) {
        (true, _) => format!("Created {name} ({size})."),
        (_, true) => format!("{name} already had this content ({size}); nothing was written."),
        _ => format!("Updated {name} ({size})."),
    };
    let detail = json!({"path": path, "created": changed.created});
    Ok(ToolOutput { seen: vec![changed.seen], detail: Some(detail), ..ToolOutput::text(text) })
}
