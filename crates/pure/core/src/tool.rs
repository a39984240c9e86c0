//! What a tool is to the model, and what it gives back.

use crate::event::Notice;
use crate::message::ResultPart;
use crate::tool_facts::ToolFacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Everything a tool declares. The model sees name, description and schema; the rest of the program goes by the facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    #[serde(skip)]
    pub facts: ToolFacts,
}

/// What a call gives back. Failing is an output like any other: the model must read it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub content: Vec<ResultPart>,
    pub is_error: bool,
    /// What a person reads instead of the content, where that has marks or hints that only the model needs.
    pub shown: Option<String>,
    /// Files whose content the model has now seen, by hash: what a later edit is compared with.
    pub seen: Vec<Seen>,
    /// The same result as data, for programs that read the event stream.
    pub detail: Option<Value>,
    /// What the person should know, one line each; the model reads only the content.
    pub notices: Vec<Notice>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub path: PathBuf,
    /// Hash of the whole content; none when the file is gone.
    pub hash: Option<String>,
    /// The lines that were shown; none if it was all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<OutputPart>,
}

/// Some lines of a file, counted from 1. None of them if the last comes before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPart {
    pub first: u64,
    pub last: u64,
    /// How many lines the file has.
    pub of: u64,
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
        let marked = ToolOutput::error(format!("<tool_use_error>{text}</tool_use_error>"));
        ToolOutput { shown: Some(text.to_string()), ..marked }
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
