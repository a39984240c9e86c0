//! What a tool is to the model, and what it gives back.

use crate::message::ResultPart;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
}

/// What a call gives back. Failing is an output like any other: the model must read it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub content: Vec<ResultPart>,
    pub is_error: bool,
    /// Files whose content the model has now seen, by hash: what a later edit is compared with.
    pub seen: Vec<Seen>,
    /// The same result as data, for programs that read the event stream.
    pub detail: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub path: PathBuf,
    /// Hash of the whole content; none when the file is gone.
    pub hash: Option<String>,
}

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        ToolOutput { content: vec![ResultPart::text(text)], ..ToolOutput::default() }
    }

    /// A call that was run and failed.
    pub fn error(text: impl Into<String>) -> Self {
        ToolOutput { is_error: true, ..ToolOutput::text(text) }
    }

    /// A call that could not be run as asked: wrapped, so that the model tells misuse from output.
    pub fn misuse(text: impl std::fmt::Display) -> Self {
        ToolOutput::error(format!("<tool_use_error>{text}</tool_use_error>"))
    }

    pub fn len(&self) -> usize {
        let size = |part: &ResultPart| match part {
            ResultPart::Text { text } => text.len(),
            ResultPart::Image(image) => image.data.len(),
        };
        self.content.iter().map(size).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Both ends of a text that is too long, cut at line ends where there are any, and a line that says where the whole is.
pub fn preview(text: &str, cap: usize, place: Option<&str>) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let head = head_of(text, cap * 2 / 3);
    let tail = tail_of(text.get(head.len()..).unwrap_or_default(), cap / 3);
    let dropped = text.len() - head.len() - tail.len();
    let rest = match place {
        Some(place) => format!("The whole output ({} bytes) is in {place}; Read it there with offset and limit.", text.len()),
        None => "The rest was not kept.".to_owned(),
    };
    format!("{head}\n[… {dropped} bytes left out here. {rest}]\n{tail}")
}

fn head_of(text: &str, cap: usize) -> &str {
    let cut = text.floor_char_boundary(cap);
    let head = text.get(..cut).unwrap_or_default();
    match head.rfind('\n') {
        Some(end) if end > cap / 2 => head.get(..end).unwrap_or(head),
        _ => head,
    }
}

fn tail_of(text: &str, cap: usize) -> &str {
    let cut = text.ceil_char_boundary(text.len().saturating_sub(cap));
    let tail = text.get(cut..).unwrap_or_default();
    match tail.find('\n') {
        Some(start) if start < cap / 2 => tail.get(start + 1..).unwrap_or(tail),
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_keeps_both_ends_and_counts_what_is_missing() {
        for text in ["é".repeat(4000), (0..900).map(|n| format!("line {n}\n")).collect(), "x".repeat(9000)] {
            let shown = preview(&text, 3000, Some("/blobs/x"));
            assert!(shown.len() < 3200, "{}", shown.len());
            let dropped: usize = shown.split("[… ").nth(1).and_then(|s| s.split(' ').next()).and_then(|n| n.parse().ok()).unwrap();
            let (head, rest) = shown.split_once("\n[… ").unwrap();
            let tail = rest.split_once("]\n").unwrap().1;
            assert!(text.starts_with(head) && text.ends_with(tail));
            assert_eq!(head.len() + dropped + tail.len(), text.len());
            assert!(shown.contains("/blobs/x"));
        }
        assert_eq!(preview("short", 3000, None), "short");
    }
}
