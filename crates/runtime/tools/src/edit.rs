//! Edit: one text in a file replaced by another.

pub(crate) mod diff;
mod replace;

use crate::ToolSetup;
use crate::blocking_task::{TaskStop, blocking};
use crate::denied_names::judged_by_first_name;
use crate::text::counted;
use crate::typed_tool::{BuiltIn, Shipped};
use crate::workspace::{FileContent, FileError, Files, Needs, New, Old};
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{FileInput, ResultView, Subject, ToolFacts, ToolKind};
use replace::{Edited, NoEdit, Replacement};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

/// Places named when a text stands in several.
const NAMED: usize = 10;

pub struct Edit {
    pub files: Arc<Files>,
}

#[derive(Deserialize, JsonSchema)]
pub struct EditInput {
    /// The file, absolute or relative to the workspace directory
    file_path: String,
    /// The text to replace, exactly as in the file; empty to create a file
    old_string: String,
    /// The text to put there
    new_string: String,
    /// Replace every occurrence, not just a single one
    #[serde(default)]
    #[schemars(default)]
    replace_all: bool,
}

impl BuiltIn for Edit {
    const NAME: &'static str = "Edit";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/edit.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edits,
        subject: Subject::Inputs(&["file_path"]),
        files: &[FileInput::write("file_path")],
        aliases: &[("path", "file_path"), ("old", "old_string"), ("new", "new_string")],
        sample: &[("old_string", "a"), ("new_string", "b")],
        result: ResultView::Changes,
        ..ToolFacts::UNDECLARED
    };
    const OBJECTS: bool = true;
    type Input = EditInput;

    fn access(&self, input: &EditInput) -> Result<Access, ToolOutput> {
        if input.old_string == input.new_string {
            return Err(ToolOutput::misuse(
                "old_string and new_string are the same; there is nothing to change.",
            ));
        }
        Ok(Access::writing(PathScope::File(self.files.resolve_for_writing(&input.file_path)?)))
    }

    /// Nobody is asked about a change that the model cannot know enough for.
    fn objection(&self, input: &EditInput) -> Option<ToolOutput> {
        let replaces = !input.old_string.is_empty();
        replaces.then(|| self.files.unknown_content(&input.file_path, Needs::Some)).flatten()
    }

    async fn run(&self, input: EditInput, cx: ToolContext) -> ToolOutput {
        let files = Arc::clone(&self.files);
        blocking(LIMIT, move |stop| edit(&files, &input, &cx, stop).unwrap_or_else(|output| output))
            .await
    }
}

impl Shipped for Edit {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let files = Arc::clone(&setup.files);
        Some(judged_by_first_name(Edit { files }, &setup.confinement))
    }
}

fn edit(
    files: &Files,
    input: &EditInput,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let path = files.judged_for_writing(&input.file_path, cx)?;
    let name = files.name(&path);
    if input.old_string == input.new_string {
        return Err(ToolOutput::misuse(
            "old_string and new_string are the same; there is nothing to change.",
        ));
    }
    if input.old_string.is_empty() {
        return create(files, &path, input, cx, stop);
    }
    let mut report = String::new();
    let mut meanwhile = None;
    let mut replacements = 0;
    let changed = files.change(&path, cx, stop, Needs::Some, |old| {
        let Old { content: Some(old), seen } = old else {
            return Err(FileError::Missing { hint: files.hint(&path), path: path.clone() }.into());
        };
        meanwhile = seen.map(|seen| diff::between(seen, &old.bytes));
        let edited = match (seen, &meanwhile) {
            (Some(seen), Some(diff)) => still_fits(&name, seen, old, input, &diff.text)?,
            _ => replaced(&name, old, input)?,
        };
        replacements = edited.places.len();
        report = diff::around(&old.bytes, &edited);
        Ok(New { bytes: edited.bytes, unseen: meanwhile.as_ref().is_some_and(|diff| diff.cut) })
    })?;
    let count = if replacements == 1 {
        String::new()
    } else {
        format!(" in {}", counted(replacements as u64, "place"))
    };
    let mut text = match changed.same {
        true => format!("{name} already had this content; nothing was written."),
        false => format!("Updated {name}{count}:\n{report}"),
    };
    let mut detail = json!({"path": path, "replacements": replacements, "diff": report});
    if let Some(diff) = meanwhile {
        text.push_str(&format!(
            "\n[{name} had been changed by something else since you read it. Those changes are kept:]\n{}",
            diff.text
        ));
        detail["meanwhile"] = diff.text.into();
    }
    Ok(ToolOutput { seen: vec![changed.seen], detail: Some(detail), ..ToolOutput::text(text) })
}

/// The edit of a file that something else has changed: made if the text stood in what the model has read, and stands
/// in what is there now.
fn still_fits(
    name: &str,
    seen: &[u8],
    old: &FileContent,
    input: &EditInput,
    diff: &str,
) -> Result<Edited, ToolOutput> {
    let wanted = wanted(input);
    match (replace::replace(seen, &wanted), replace::replace(&old.bytes, &wanted)) {
        (Ok(_), Ok(edited)) => Ok(edited),
        _ => Err(ToolOutput::misuse(format!(
            "{name} has changed since you read it. Read it again before you change it: this edit no longer fits. What has \
             changed:\n{diff}"
        ))),
    }
}

fn wanted(input: &EditInput) -> Replacement<'_> {
    Replacement { old: &input.old_string, new: &input.new_string, all: input.replace_all }
}

fn replaced(name: &str, old: &FileContent, input: &EditInput) -> Result<Edited, ToolOutput> {
    replace::replace(&old.bytes, &wanted(input)).map_err(|why| match why {
        NoEdit::Ambiguous(lines) => {
            let named: Vec<String> = lines.iter().take(NAMED).map(usize::to_string).collect();
            let more = if lines.len() > NAMED { ", …" } else { "" };
            ToolOutput::misuse(format!(
                "old_string occurs {} times in {name} (lines {}{more}). Add text around it until it is unique, or set \
                 replace_all.",
                lines.len(),
                named.join(", ")
            ))
        }
        NoEdit::NotFound => {
            let reason = replace::reason(&old.bytes, &input.old_string);
            ToolOutput::misuse(format!("old_string was not found in {name}. {reason}"))
        }
    })
}

fn create(
    files: &Files,
    path: &Path,
    input: &EditInput,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let name = files.name(path);
    let size = crate::text::lines(input.new_string.as_bytes());
    let taken = || {
        ToolOutput::misuse(format!(
            "{name} exists and is not empty, so an empty old_string cannot match its content. Give the text to \
             replace, or use Write to replace the whole file."
        ))
    };
    // Asked before the content is, so that the model is not sent to read a file it cannot edit this way.
    if files.open(path).is_ok_and(|(_, meta)| meta.len() > 0) {
        return Err(taken());
    }
    let changed = files.change(path, cx, stop, Needs::Some, |old| match old.content {
        Some(old) if !old.bytes.is_empty() => Err(taken()),
        _ => Ok(New { bytes: input.new_string.clone().into_bytes(), unseen: false }),
    })?;
    let detail = json!({"path": path, "created": changed.created});
    let text = format!("Created {name} ({size}).");
    Ok(ToolOutput { seen: vec![changed.seen], detail: Some(detail), ..ToolOutput::text(text) })
}
