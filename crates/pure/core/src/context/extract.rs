//! A summary built from the messages themselves, for when no model writes one.

use crate::message::{Block, Message, ResultPart};
use crate::text;
use crate::tool_facts::KnownTools;
use serde_json::Value;

/// Characters of a prompt, an answer, a call's subject and an error that are worth keeping.
const PROMPT: usize = 600;
const ANSWER: usize = 400;
const SUBJECT: usize = 100;
const ERROR: usize = 160;

/// The newest lines that fit, oldest first.
pub fn story<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    bytes: usize,
    tools: &KnownTools,
) -> String {
    let mut lines = Vec::new();
    for message in messages {
        if message.is_assistant() {
            let said = message.text();
            if !said.trim().is_empty() {
                lines.push(format!("- Answer: {}", cut(&said, ANSWER)));
            }
            lines.extend(message.blocks().iter().filter_map(|block| call_line(block, tools)));
        } else {
            let said = message.text();
            if !said.trim().is_empty() {
                lines.push(format!("- User: {}", cut(&said, PROMPT)));
            }
            lines.extend(message.blocks().iter().filter_map(error_line));
        }
    }
    newest(lines, bytes)
}

/// One line per call, and what failed.
pub fn calls<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    bytes: usize,
    tools: &KnownTools,
) -> String {
    let mut lines = Vec::new();
    for message in messages {
        lines.extend(message.blocks().iter().filter_map(|block| call_line(block, tools)));
        lines.extend(message.blocks().iter().filter_map(error_line));
    }
    newest(lines, bytes)
}

fn newest(lines: Vec<String>, bytes: usize) -> String {
    let (mut taken, mut left) = (Vec::new(), bytes);
    let all = lines.len();
    for line in lines.into_iter().rev() {
        let Some(rest) = left.checked_sub(line.len() + 1) else { break };
        left = rest;
        taken.push(line);
    }
    if taken.len() < all {
        taken.push(format!("- … {} before", text::counted((all - taken.len()) as u64, "line")));
    }
    taken.reverse();
    taken.join("\n")
}

fn call_line(block: &Block, tools: &KnownTools) -> Option<String> {
    let Block::ToolUse { name, input, .. } = block else { return None };
    Some(format!("- {name} {}", subject(name, input, tools)))
}

/// What a call was about, in a few words.
pub(crate) fn subject(tool: &str, input: &Value, tools: &KnownTools) -> String {
    cut(&tools.facts(tool).subject_of(input), SUBJECT)
}

fn error_line(block: &Block) -> Option<String> {
    let Block::ToolResult { content, is_error: true, .. } = block else { return None };
    Some(format!("  failed: {}", cut(first_text(content), ERROR)))
}

pub fn first_text_of(content: &[ResultPart]) -> &str {
    first_text(content)
}

pub(crate) fn first_text(content: &[ResultPart]) -> &str {
    content
        .iter()
        .find_map(|part| match part {
            ResultPart::Text { text } => Some(text.as_str()),
            ResultPart::Image(_) => None,
        })
        .unwrap_or_default()
}

/// On one line, and not longer than that.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    // No more is looked at than can be shown.
    let (start, _) = text::head(text, chars.saturating_mul(4));
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    match text::head(&line, chars) {
        (all, true) if start.len() == text.len() => all.to_owned(),
        (start, _) => format!("{start}…"),
    }
}
