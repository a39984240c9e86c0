//! What is known of every line of a transcript, without keeping the lines.

use crate::error::TranscriptError;
use crate::foreign_text::first_words;
use crate::json_lines::{JsonLines, Line, LineSpan};
use serde_json::Value;

/// Lines of a transcript that are linked to others.
const MOST: usize = 500_000;
/// Messages that a compaction kept.
const KEPT: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    User,
    Assistant,
    /// A boundary of a compaction.
    Boundary,
    Other,
}

pub(crate) struct IndexedLine {
    pub span: LineSpan,
    pub uuid: String,
    pub parent: Option<String>,
    pub kind: LineKind,
    /// Of an agent or a teammate, not of the conversation itself.
    pub aside: bool,
    /// Not typed by the person.
    pub meta: bool,
    pub is_summary: bool,
    /// The answer that it is a part of.
    pub answer: Option<String>,
    /// Calls that it answers.
    pub results: Vec<String>,
    /// Messages that a boundary keeps.
    pub kept: Vec<String>,
}

#[derive(Default)]
pub(crate) struct LineIndex {
    pub lines: Vec<IndexedLine>,
    pub broken: u64,
    /// What a person called the session; else what a model called it.
    pub title: Option<String>,
    generated_title: Option<String>,
}

impl LineIndex {
    pub fn of(file: &JsonLines) -> Result<Self, TranscriptError> {
        let mut index = LineIndex::default();
        let mut count = 0;
        file.each(|line| {
            count += 1;
            if count <= MOST {
                index.see(line);
            }
        })?;
        if count > MOST {
            let why = format!("it has {count} lines; the limit is {MOST}");
            return Err(TranscriptError::io("import", file.path(), why));
        }
        index.title = index.title.or(index.generated_title.take());
        Ok(index)
    }

    fn see(&mut self, line: Line<'_>) {
        let read = match line {
            Line::Whole(text, span) => serde_json::from_slice::<Value>(text).ok().zip(Some(span)),
            Line::TooLong => None,
        };
        match read {
            Some((Value::Object(fields), span)) => self.add(&Value::Object(fields), span),
            _ => self.broken += 1,
        }
    }

    fn add(&mut self, line: &Value, span: LineSpan) {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        let is = |key: &str| line.get(key).and_then(Value::as_bool).unwrap_or(false);
        match text("type") {
            Some("custom-title") => self.title = text("customTitle").map(first_words),
            Some("ai-title") => self.generated_title = text("aiTitle").map(first_words),
            _ => {}
        }
        let Some(uuid) = text("uuid") else { return };
        let kind = match (text("type"), text("subtype")) {
            (Some("user"), _) => LineKind::User,
            (Some("assistant"), _) => LineKind::Assistant,
            (Some("system"), Some("compact_boundary")) => LineKind::Boundary,
            (Some("system" | "progress" | "attachment"), _) => LineKind::Other,
            _ => return,
        };
        let parent = match kind {
            LineKind::Boundary => text("logicalParentUuid").or(text("parentUuid")),
            _ => text("parentUuid"),
        };
        let message = line.get("message");
        let results = if kind == LineKind::User { results(message) } else { Vec::new() };
        self.lines.push(IndexedLine {
            span,
            uuid: uuid.to_owned(),
            parent: parent.map(str::to_owned),
            kind,
            aside: is("isSidechain") || text("teamName").is_some(),
            meta: is("isMeta"),
            is_summary: is("isCompactSummary"),
            answer: message.and_then(|it| it.get("id")?.as_str()).map(str::to_owned),
            results,
            kept: kept(line),
        });
    }
}

fn results(message: Option<&Value>) -> Vec<String> {
    let content = message.and_then(|message| message.get("content")?.as_array());
    let ids = content.into_iter().flatten().filter_map(|block| block.get("tool_use_id")?.as_str());
    ids.map(str::to_owned).collect()
}

/// The names of the fields differ between a transcript and the stream, so both are read.
fn kept(line: &Value) -> Vec<String> {
    let metadata = line.get("compactMetadata").or(line.get("compact_metadata"));
    let kept = metadata.and_then(|it| it.get("preservedMessages").or(it.get("preserved_messages")));
    let uuids = kept.and_then(|kept| kept.get("uuids")?.as_array());
    let uuids = uuids.into_iter().flatten().filter_map(Value::as_str);
    uuids.take(KEPT).map(str::to_owned).collect()
}
