//! Stage: the results of one step are too large together. The largest are stored in a file, and a preview stays.
//!
//! Decided before the results are first sent, so that a later request never changes what an earlier one contained.

use super::Pressure;
use crate::ids::CallId;
use crate::message::{Block, ResultPart};
use crate::view::View;

/// Characters of results that one message may hold, however large the window is.
const MOST: u64 = 200_000;
/// The share of the window that one message's results may take.
const SHARE: u64 = 4;
/// A shorter result is not worth a file.
const LEAST: usize = 8_000;
/// Length of the preview, in characters.
pub const PREVIEW: usize = 4_600;

/// The calls of the newest message whose results are to be shortened, and their whole text. `per_token` is how many
/// bytes make a token.
pub fn plan(view: &View, pressure: &Pressure, per_token: f64) -> Vec<(CallId, String)> {
    let cap = MOST.min((pressure.window as f64 * per_token) as u64 / SHARE);
    let Some(last) = view.items().iter().rev().find(|item| {
        item.message().blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }))
    }) else {
        return Vec::new();
    };
    // Nothing is copied unless it is too much.
    if last.weight() <= cap {
        return Vec::new();
    }
    let mut results: Vec<(CallId, String)> =
        last.message().blocks().iter().filter_map(text_of).collect();
    let mut total: u64 = results.iter().map(|(_, text)| text.len() as u64).sum();
    if total <= cap {
        return Vec::new();
    }
    // Longest first; among equals the older, so that the plan is the same every time.
    results.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    let mut chosen = Vec::new();
    for (call, text) in results {
        if total <= cap || text.len() < LEAST {
            break;
        }
        total = total.saturating_sub(text.len() as u64) + PREVIEW as u64;
        chosen.push((call, text));
    }
    chosen
}

fn text_of(block: &Block) -> Option<(CallId, String)> {
    let Block::ToolResult { id, content, .. } = block else { return None };
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| match part {
            ResultPart::Text { text } => Some(text.as_str()),
            ResultPart::Image(_) => None,
        })
        .collect();
    (texts.len() == content.len()).then(|| (id.clone(), texts.join("\n")))
}
