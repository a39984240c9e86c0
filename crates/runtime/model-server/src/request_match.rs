//! What a step asks of a request: `when` selects by it, `expect` insists on it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::record::Headers;

/// Conditions on a request; all given ones must hold. The empty match fits everything.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    pub model: Option<String>,
    pub stream: Option<bool>,
    /// Number of messages.
    pub messages: Option<usize>,
    /// The last user message holds this text (outside of tool results).
    pub last_user: Option<String>,
    /// The tool results of the last user message hold this text.
    pub tool_result: Option<String>,
    /// Whether the last user message holds a failed tool result.
    pub tool_error: Option<bool>,
    /// Tools that are offered, among others.
    pub tools: Vec<String>,
    /// Fields that exist: a top-level name or a JSON pointer.
    pub has: Vec<String>,
    /// Fields that do not exist.
    pub lacks: Vec<String>,
    /// Fields and their exact values.
    pub equals: Map<String, Value>,
    /// Texts found in the body as sent.
    pub contains: Vec<String>,
    /// Headers and a text found in each.
    pub headers: BTreeMap<String, String>,
}

impl Match {
    pub fn model(name: impl Into<String>) -> Self {
        Self { model: Some(name.into()), ..Self::default() }
    }

    pub fn tool_result(text: impl Into<String>) -> Self {
        Self { tool_result: Some(text.into()), ..Self::default() }
    }

    pub fn last_user(text: impl Into<String>) -> Self {
        Self { last_user: Some(text.into()), ..Self::default() }
    }

    pub fn lacks(mut self, field: impl Into<String>) -> Self {
        self.lacks.push(field.into());
        self
    }

    pub fn has(mut self, field: impl Into<String>) -> Self {
        self.has.push(field.into());
        self
    }

    pub fn equals(mut self, field: impl Into<String>, value: Value) -> Self {
        self.equals.insert(field.into(), value);
        self
    }

    /// The first condition that does not hold, in words.
    pub(crate) fn mismatch(&self, json: &Value, headers: &Headers, body: &[u8]) -> Option<String> {
        self.shape(json).or_else(|| self.messages_of(json)).or_else(|| self.bytes(headers, body))
    }

    fn shape(&self, json: &Value) -> Option<String> {
        let model = json.get("model").and_then(Value::as_str).unwrap_or_default();
        if let Some(wanted) = self.model.as_deref().filter(|wanted| *wanted != model) {
            return Some(format!("model is `{model}`, not `{wanted}`"));
        }
        let stream = json.get("stream").and_then(Value::as_bool).unwrap_or(false);
        if self.stream.is_some_and(|wanted| wanted != stream) {
            return Some(format!("stream is {stream}"));
        }
        for tool in &self.tools {
            if !offered(json).any(|name| name == tool) {
                return Some(format!("tool `{tool}` is not offered"));
            }
        }
        for field in &self.has {
            if find(json, field).is_none() {
                return Some(format!("field `{field}` is missing"));
            }
        }
        for field in &self.lacks {
            if find(json, field).is_some() {
                return Some(format!("field `{field}` is present"));
            }
        }
        for (field, wanted) in &self.equals {
            let found = find(json, field);
            if found != Some(wanted) {
                let found = found.map(Value::to_string).unwrap_or_else(|| "nothing".into());
                return Some(format!("field `{field}` is {found}, not {wanted}"));
            }
        }
        None
    }

    fn messages_of(&self, json: &Value) -> Option<String> {
        let messages = json.get("messages").and_then(Value::as_array);
        let count = messages.map(Vec::len).unwrap_or_default();
        if let Some(wanted) = self.messages.filter(|wanted| *wanted != count) {
            return Some(format!("there are {count} messages, not {wanted}"));
        }
        let last = messages
            .into_iter()
            .flatten()
            .rfind(|message| message.get("role").and_then(Value::as_str) == Some("user"))
            .and_then(|message| message.get("content"));
        if let Some(wanted) = &self.last_user {
            let text = last.map(plain_text).unwrap_or_default();
            if !text.contains(wanted.as_str()) {
                return Some(format!("the last user message does not contain {wanted:?}"));
            }
        }
        if let Some(wanted) = &self.tool_result {
            let held = last.is_some_and(|content| {
                results(content).any(|result| {
                    result.get("content").map(plain_text).is_some_and(|text| text.contains(wanted))
                })
            });
            if !held {
                return Some(format!(
                    "no tool result of the last user message contains {wanted:?}"
                ));
            }
        }
        if let Some(wanted) = self.tool_error {
            let failed = last.is_some_and(|content| {
                results(content)
                    .any(|result| result.get("is_error").and_then(Value::as_bool) == Some(true))
            });
            if failed != wanted {
                return Some(format!("a failed tool result is present: {failed}"));
            }
        }
        None
    }

    fn bytes(&self, headers: &Headers, body: &[u8]) -> Option<String> {
        for wanted in &self.contains {
            if !std::str::from_utf8(body).is_ok_and(|body| body.contains(wanted.as_str())) {
                return Some(format!("the body does not contain {wanted:?}"));
            }
        }
        for (name, wanted) in &self.headers {
            if !headers.get(name).is_some_and(|value| value.contains(wanted.as_str())) {
                return Some(format!("header `{name}` does not contain {wanted:?}"));
            }
        }
        None
    }
}

fn find<'a>(json: &'a Value, field: &str) -> Option<&'a Value> {
    if field.starts_with('/') { json.pointer(field) } else { json.get(field) }
}

fn offered(json: &Value) -> impl Iterator<Item = &str> {
    let tools = json.get("tools").and_then(Value::as_array).into_iter().flatten();
    tools.filter_map(|tool| tool.get("name").and_then(Value::as_str))
}

fn results(content: &Value) -> impl Iterator<Item = &Value> {
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_result"))
}

/// The text of a string or of the text blocks of an array, one line each.
pub(crate) fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
                .filter_map(|block| block.get("text").and_then(Value::as_str))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
