//! Jupyter notebooks as text: which bytes belong to which cell. A change touches only the bytes of what changes, so that
//! everything else stays as whoever wrote the file wanted it.

use serde::Deserialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellType {
    Code,
    Markdown,
}

impl CellType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CellType::Code => "code",
            CellType::Markdown => "markdown",
        }
    }
}

pub(crate) struct Notebook<'a> {
    text: &'a str,
    pub(crate) cells: Vec<NotebookCell<'a>>,
    /// The place of the list of cells.
    list: Range<usize>,
    /// Cells of this version have ids.
    has_ids: bool,
}

pub(crate) struct NotebookCell<'a> {
    fields: BTreeMap<String, &'a RawValue>,
    place: Range<usize>,
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) source: String,
}

#[derive(Deserialize)]
struct NotebookFile<'a> {
    #[serde(borrow)]
    cells: Option<&'a RawValue>,
    nbformat: Option<u64>,
    nbformat_minor: Option<u64>,
}

impl<'a> Notebook<'a> {
    /// # Errors
    /// In words, why it cannot be read as one.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let broken = |error: serde_json::Error| format!("it is not a valid notebook ({error})");
        let file: NotebookFile<'a> = serde_json::from_str(text).map_err(broken)?;
        if file.nbformat != Some(4) {
            return Err("it is not a notebook of format 4".into());
        }
        let list = file.cells.ok_or("it has no cells")?;
        let raw: Vec<&'a RawValue> = serde_json::from_str(list.get()).map_err(broken)?;
        let cells = raw.into_iter().map(|raw| cell(text, raw)).collect::<Result<_, _>>()?;
        let has_ids = file.nbformat_minor.is_some_and(|minor| minor >= 5);
        Ok(Notebook { text, cells, list: place(text, list.get()), has_ids })
    }

    /// By its id, or by its index as `3` or `cell-3`.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let by_id = self.cells.iter().position(|cell| cell.id.as_deref() == Some(name));
        by_id.or_else(|| {
            let index = name.strip_prefix("cell-").unwrap_or(name).parse::<usize>().ok()?;
            (index < self.cells.len()).then_some(index)
        })
    }

    /// The whole text of a cell, as it is written.
    pub(crate) fn raw(&self, index: usize) -> Option<&'a str> {
        self.text.get(self.cells.get(index)?.place.clone())
    }

    /// With another source in a cell. What a code cell put out belongs to its old source and goes.
    pub(crate) fn replaced(
        &self,
        index: usize,
        source: &str,
        kind: Option<CellType>,
    ) -> Option<String> {
        let cell = self.cells.get(index)?;
        if let Some(kind) = kind.filter(|kind| kind.name() != cell.kind) {
            let metadata = cell.fields.get("metadata").map(|raw| raw.get());
            let metadata = metadata.and_then(|raw| serde_json::from_str(raw).ok());
            let made = new_cell(kind, cell.id.as_deref(), source, metadata.unwrap_or(json!({})));
            return self.with(cell.place.clone(), &self.written(&made, cell.place.start));
        }
        let mut changes: Vec<(Range<usize>, String)> = Vec::new();
        let field = |name: &str| Some(place(self.text, cell.fields.get(name)?.get()));
        let at = field("source")?;
        let is_list = self.text.get(at.clone())?.starts_with('[');
        let value = if is_list { lines(source) } else { source.into() };
        changes.push((at.clone(), self.written(&value, at.start)));
        if cell.kind == CellType::Code.name() {
            changes.extend(field("outputs").map(|at| (at, "[]".to_owned())));
            changes.extend(field("execution_count").map(|at| (at, "null".to_owned())));
        }
        changes.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
        let mut text = self.text.to_owned();
        for (at, new) in changes {
            text.replace_range(at, &new);
        }
        Some(text)
    }

    /// With a new cell in front of the one that has this index now.
    pub(crate) fn inserted(&self, index: usize, source: &str, kind: CellType) -> Option<String> {
        let id = self.has_ids.then(|| self.new_id(index, source));
        let made = new_cell(kind, id.as_deref(), source, json!({}));
        let Some(next) = self.cells.get(index) else {
            let Some(last) = self.cells.last() else {
                let value = self.written(&json!([made]), self.list.start);
                return self.with(self.list.clone(), &value);
            };
            let gap = self.gap(last.place.start);
            let value = self.written(&made, last.place.start);
            return self.with(last.place.end..last.place.end, &format!(",{gap}{value}"));
        };
        let gap = self.gap(next.place.start);
        let value = self.written(&made, next.place.start);
        self.with(next.place.start..next.place.start, &format!("{value},{gap}"))
    }

    /// Without a cell.
    pub(crate) fn deleted(&self, index: usize) -> Option<String> {
        let cell = self.cells.get(index)?;
        let range = match (
            index.checked_sub(1).and_then(|at| self.cells.get(at)),
            self.cells.get(index + 1),
        ) {
            (_, Some(next)) => cell.place.start..next.place.start,
            (Some(before), None) => before.place.end..cell.place.end,
            (None, None) => return self.with(self.list.clone(), "[]"),
        };
        self.with(range, "")
    }

    fn with(&self, at: Range<usize>, new: &str) -> Option<String> {
        let mut text = self.text.to_owned();
        self.text.get(at.clone())?;
        text.replace_range(at, new);
        Some(text)
    }

    /// What stands between two cells besides the comma.
    fn gap(&self, cell_start: usize) -> String {
        let before = self.text.get(..cell_start).unwrap_or_default();
        before.get(before.trim_end().len()..).unwrap_or_default().to_owned()
    }

    /// A value as this file writes values: on one line, or indented like the line it stands in.
    fn written(&self, value: &Value, at: usize) -> String {
        let Some(unit) = self.indent() else {
            let compact = value.to_string();
            return compact;
        };
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let base = line.get(..line.len() - line.trim_start().len()).unwrap_or_default();
        let mut out = Vec::new();
        let mut writer =
            Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(unit.as_bytes()));
        let _ = serde::Serialize::serialize(value, &mut writer);
        // Strings contain no line breaks, so each one is ours.
        let end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        String::from_utf8_lossy(&out).replace('\n', &format!("{end}{base}"))
    }

    /// One step of indentation; none if the file is not indented.
    fn indent(&self) -> Option<&'a str> {
        let (_, second) = self.text.trim_start().split_once('\n')?;
        let unit = second.get(..second.len() - second.trim_start().len())?;
        (!unit.is_empty()).then_some(unit)
    }

    /// Another one than those there are.
    fn new_id(&self, index: usize, source: &str) -> String {
        let taken = |id: &String| self.cells.iter().any(|cell| cell.id.as_ref() == Some(id));
        let mut made = (0..).map(|nth: u32| {
            crate::text::sha256(format!("{nth} {index} {source}").as_bytes())
                .chars()
                .take(8)
                .collect()
        });
        made.find(|id| !taken(id)).unwrap_or_default()
    }
}

fn cell<'a>(text: &'a str, raw: &'a RawValue) -> Result<NotebookCell<'a>, String> {
    let fields: BTreeMap<String, &'a RawValue> =
        serde_json::from_str(raw.get()).map_err(|_| "a cell is not an object".to_owned())?;
    let value =
        |name: &str| -> Option<Value> { serde_json::from_str(fields.get(name)?.get()).ok() };
    let words = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
    let source = value("source").ok_or("a cell has no source")?;
    Ok(NotebookCell {
        place: place(text, raw.get()),
        id: words("id"),
        kind: words("cell_type").unwrap_or_default(),
        source: joined(&source),
        fields,
    })
}

impl NotebookCell<'_> {
    /// What the cell put out.
    pub(crate) fn outputs(&self) -> Vec<Value> {
        let raw = self.fields.get("outputs").map(|raw| raw.get()).unwrap_or("[]");
        serde_json::from_str(raw).unwrap_or_default()
    }
}

/// A text that may be a list of lines.
pub(crate) fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Where a part of a text is in it.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

fn lines(source: &str) -> Value {
    source.split_inclusive('\n').collect()
}

/// With its fields in the order in which Jupyter writes them.
fn new_cell(kind: CellType, id: Option<&str>, source: &str, metadata: Value) -> Value {
    let mut cell = serde_json::Map::new();
    cell.insert("cell_type".into(), kind.name().into());
    if kind == CellType::Code {
        cell.insert("execution_count".into(), Value::Null);
    }
    cell.extend(id.map(|id| ("id".to_owned(), id.into())));
    cell.insert("metadata".into(), metadata);
    if kind == CellType::Code {
        cell.insert("outputs".into(), json!([]));
    }
    cell.insert("source".into(), lines(source));
    Value::Object(cell)
}

#[cfg(test)]
#[path = "notebook_tests.rs"]
mod tests;
