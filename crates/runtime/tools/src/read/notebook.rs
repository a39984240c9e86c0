//! A notebook as its cells, with the beginning of what each put out.

use crate::notebook::{Notebook, NotebookCell, joined};
use crate::text::{head, size};
use serde_json::Value;
use std::fmt::Write;

/// Characters of the outputs of one cell.
const MOST_OUTPUT: usize = 2_000;

/// None: it is not one, and is shown as any other text.
pub fn cells(text: &str) -> Option<String> {
    let notebook = Notebook::parse(text).ok()?;
    let mut out = String::new();
    for (index, cell) in notebook.cells.iter().enumerate() {
        let NotebookCell { id, kind, source, .. } = cell;
        let id = id.as_ref().map(|id| format!(" id=\"{id}\"")).unwrap_or_default();
        let line_break = if source.ends_with('\n') || source.is_empty() { "" } else { "\n" };
        let _ = write!(
            out,
            "<cell index=\"{index}\"{id} type=\"{kind}\">\n{source}{line_break}</cell>\n"
        );
        let outputs: Vec<String> = cell.outputs().iter().map(shown).collect();
        let outputs = outputs.concat();
        if !outputs.is_empty() {
            let (start, is_all) = head(&outputs, MOST_OUTPUT);
            let more = if is_all { "" } else { "…\n" };
            let _ = write!(out, "<output>\n{start}{more}</output>\n");
        }
    }
    let _ = match notebook.cells.len() {
        0 => write!(out, "[The notebook has no cells.]"),
        count => write!(
            out,
            "[{count} cells. Change them with NotebookEdit; offset and limit show the file itself.]"
        ),
    };
    Some(out)
}

fn shown(output: &Value) -> String {
    let with_end = |text: String| if text.ends_with('\n') { text } else { text + "\n" };
    if let Some(text) = output.get("text") {
        return with_end(joined(text));
    }
    if let Some(name) = output.get("ename").and_then(Value::as_str) {
        let why = output.get("evalue").and_then(Value::as_str).unwrap_or_default();
        return format!("{name}: {why}\n");
    }
    let Some(data) = output.get("data").and_then(Value::as_object) else { return String::new() };
    match data.get("text/plain") {
        Some(text) => with_end(joined(text)) + &pictures(data),
        None => pictures(data),
    }
}

/// What cannot be shown here is named.
fn pictures(data: &serde_json::Map<String, Value>) -> String {
    let images = data.iter().filter(|(media, _)| media.starts_with("image/"));
    images
        .map(|(media, bytes)| format!("[{media}, {}]\n", size(joined(bytes).len() as u64)))
        .collect()
}
