//! How a view reads as a story: prompts, exchanges, and the places where it may be cut.

use crate::ids::CallId;
use crate::message::{Block, Message};
use crate::tool_facts::{KnownTools, ToolKind};
use crate::view::View;
use std::collections::HashSet;

/// A person's message, as opposed to results and to what the harness wrote.
pub fn is_prompt(message: &Message) -> bool {
    let said = |block: &Block| match block {
        Block::Text { meta, .. } => !meta,
        Block::Image(_) => true,
        _ => false,
    };
    !message.is_assistant() && message.blocks().iter().any(said)
}

pub fn last_prompt(view: &View) -> Option<usize> {
    view.items().iter().rposition(|item| is_prompt(item.message()))
}

pub(crate) fn holds_results(message: &Message) -> bool {
    message.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }))
}

/// Whether the view may be cut before this message: never between calls and their results.
pub(crate) fn is_seam(view: &View, at: usize) -> bool {
    at == view.items().len()
        || view.items().get(at).is_some_and(|item| !holds_results(item.message()))
}

/// Where the newest exchange begins: the last answer, or the last prompt if that is newer.
pub(crate) fn newest(view: &View) -> usize {
    let items = view.items();
    let answer = items.iter().rposition(|item| item.message().is_assistant());
    let prompt = last_prompt(view);
    match (answer, prompt) {
        (Some(answer), Some(prompt)) => answer.max(prompt),
        (one, other) => one.or(other).unwrap_or(0),
    }
}

/// Calls whose results never expire: the text of a skill applies until the conversation is summarized, and then it is
/// said again.
pub(crate) fn standing<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    tools: &KnownTools,
) -> HashSet<CallId> {
    let blocks = messages.into_iter().flat_map(|message| message.blocks());
    let called = blocks.filter_map(|block| match block {
        Block::ToolUse { id, name, .. } => {
            (tools.kind(name) == ToolKind::Instructs).then(|| id.clone())
        }
        _ => None,
    });
    called.collect()
}
