//! NotebookEdit: one cell of a Jupyter notebook replaced, inserted or deleted.

use crate::ToolSetup;
use crate::blocking_task::{TaskStop, blocking};
use crate::denied_names::judged_by_first_name;
use crate::edit::diff;
use crate::notebook::{CellType, Notebook};
use crate::typed_tool::{BuiltIn, Shipped};
use crate::workspace::{FileError, Files, Needs, New, Old};
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{FileInput, ResultView, Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

pub struct NotebookEdit {
    files: Arc<Files>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The .ipynb file, absolute or relative to the workspace directory
    notebook_path: String,
    /// The id or the index of a cell, as Read shows them; a new cell comes after it, or first if omitted
    cell_id: Option<String>,
    /// The new source of the cell; empty to delete it
    new_source: String,
    /// The type of the cell; code for a new one if not given
    cell_type: Option<NotebookCellType>,
    /// What to do; replace if not given
    edit_mode: Option<EditMode>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotebookCellType {
    Code,
    Markdown,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl From<NotebookCellType> for CellType {
    fn from(kind: NotebookCellType) -> Self {
        match kind {
            NotebookCellType::Code => CellType::Code,
            NotebookCellType::Markdown => CellType::Markdown,
        }
    }
}

impl BuiltIn for NotebookEdit {
    const NAME: &'static str = "NotebookEdit";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/notebook-edit.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edits,
        subject: Subject::Inputs(&["notebook_path"]),
        files: &[FileInput::write("notebook_path")],
        aliases: &[("path", "notebook_path"), ("file_path", "notebook_path")],
        sample: &[("new_source", "")],
        result: ResultView::Changes,
        ..ToolFacts::UNDECLARED
    };
    const OBJECTS: bool = true;
    type Input = Input;

    fn access(&self, input: &Input) -> Result<Access, ToolOutput> {
        let mode = input.edit_mode.unwrap_or_default();
        if mode != EditMode::Insert && input.cell_id.is_none() {
            return Err(ToolOutput::misuse("Give the cell_id of the cell to change."));
        }
        if !input.notebook_path.ends_with(".ipynb") {
            return Err(ToolOutput::misuse(
                "The file is not a Jupyter notebook (.ipynb). Use Edit for other files.",
            ));
        }
        Ok(Access::writing(PathScope::File(self.files.resolve_for_writing(&input.notebook_path)?)))
    }

    fn objection(&self, input: &Input) -> Option<ToolOutput> {
        self.files.unknown_content(&input.notebook_path, Needs::Some)
    }

    async fn run(&self, input: Input, cx: ToolContext) -> ToolOutput {
        let files = Arc::clone(&self.files);
        blocking(LIMIT, move |stop| edit(&files, &input, &cx, stop).unwrap_or_else(|output| output))
            .await
    }
}

impl Shipped for NotebookEdit {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let files = Arc::clone(&setup.files);
        Some(judged_by_first_name(NotebookEdit { files }, &setup.confinement))
    }
}

fn edit(
    files: &Files,
    input: &Input,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let path = files.judged_for_writing(&input.notebook_path, cx)?;
    let name = files.name(&path);
    let mut report = String::new();
    let mut index = 0;
    let changed = files.change(&path, cx, stop, Needs::Some, |old| {
        let Old { content: Some(old), seen } = old else {
            return Err(FileError::Missing { hint: files.hint(&path), path: path.clone() }.into());
        };
        let refuse = |why: String| ToolOutput::misuse(format!("{name} was not changed: {why}."));
        let text = std::str::from_utf8(&old.bytes).map_err(|_| refuse("it is not UTF-8".into()))?;
        let notebook = Notebook::parse(text).map_err(refuse)?;
        index = place(&notebook, input).map_err(refuse)?;
        if let Some(seen) = seen
            && !is_as_seen(&notebook, seen, input, index)
        {
            let why = "it has changed since you read it; read it again";
            return Err(refuse(why.into()));
        }
        let new =
            apply(&notebook, input, index).ok_or_else(|| refuse("the cell is damaged".into()))?;
        if Notebook::parse(&new).is_err() {
            return Err(refuse("the result would not be a notebook".into()));
        }
        report = diff::between(text.as_bytes(), new.as_bytes()).text;
        // What others changed meanwhile was not shown.
        Ok(New { bytes: new.into_bytes(), unseen: seen.is_some() })
    })?;
    let done = match input.edit_mode.unwrap_or_default() {
        EditMode::Replace => "Replaced",
        EditMode::Insert => "Inserted",
        EditMode::Delete => "Deleted",
    };
    let text = match changed.same {
        true => format!("{name} already had this content; nothing was written."),
        false => format!("{done} cell {index} of {name}:\n{report}"),
    };
    let detail = json!({"path": path, "cell": index, "diff": report});
    Ok(ToolOutput { seen: vec![changed.seen], detail: Some(detail), ..ToolOutput::text(text) })
}

/// The index of the cell that is changed, or that a new one will have.
fn place(notebook: &Notebook<'_>, input: &Input) -> Result<usize, String> {
    let found = match &input.cell_id {
        None => return Ok(0),
        Some(id) => notebook.find(id).ok_or_else(|| {
            format!("there is no cell {id:?}; it has {} cells", notebook.cells.len())
        })?,
    };
    Ok(found + usize::from(input.edit_mode == Some(EditMode::Insert)))
}

/// Whatever else changed, the cell that is named is the one that the model has read.
fn is_as_seen(now: &Notebook<'_>, seen: &[u8], input: &Input, index: usize) -> bool {
    let Some(id) = &input.cell_id else { return true };
    let Some(before) = std::str::from_utf8(seen).ok().and_then(|text| Notebook::parse(text).ok())
    else {
        return false;
    };
    let at = index - usize::from(input.edit_mode == Some(EditMode::Insert));
    before.find(id).is_some_and(|was| before.raw(was) == now.raw(at))
}

fn apply(notebook: &Notebook<'_>, input: &Input, index: usize) -> Option<String> {
    let kind = input.cell_type.map(CellType::from);
    match input.edit_mode.unwrap_or_default() {
        EditMode::Replace => notebook.replaced(index, &input.new_source, kind),
        EditMode::Insert => {
            notebook.inserted(index, &input.new_source, kind.unwrap_or(CellType::Code))
        }
        EditMode::Delete => notebook.deleted(index),
    }
}
