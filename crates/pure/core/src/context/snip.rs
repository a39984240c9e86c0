//! Stage: results that a later one made irrelevant. The same call with the same input was made again: only what it
//! gave last is still true.

use super::change::{Elision, StageName, ViewChange};
use super::microcompact::{is_worth_it, spared};
use super::{Pressure, Stage};
use crate::ids::CallId;
use crate::message::Block;
use crate::prompt_texts;
use crate::tool_facts::KnownTools;
use crate::view::View;
use std::collections::{HashMap, HashSet};

pub struct Snip;

impl Stage for Snip {
    fn name(&self) -> StageName {
        StageName::Snip
    }

    fn plan(&self, view: &View, pressure: &Pressure, _tools: &KnownTools) -> Vec<ViewChange> {
        let spared = spared(view, pressure);
        let mut last: HashMap<(String, String), CallId> = HashMap::new();
        let mut later: HashMap<CallId, CallId> = HashMap::new();
        for block in view.messages().flat_map(|message| message.blocks()) {
            if let Block::ToolUse { id, name, input, .. } = block
                && let Some(before) = last.insert((name.clone(), input.to_string()), id.clone())
            {
                later.insert(before, id.clone());
            }
        }
        // Only a later call that succeeded makes an earlier result irrelevant.
        let blocks = view.messages().flat_map(|message| message.blocks());
        let answered: HashSet<&CallId> = blocks
            .filter_map(|block| match block {
                Block::ToolResult { id, is_error: false, .. } => Some(id),
                _ => None,
            })
            .collect();
        let mut changes = Vec::new();
        for block in view.messages().take(spared).flat_map(|message| message.blocks()) {
            if let Block::ToolResult { id, .. } = block
                && is_worth_it(block)
                && let Some(again) = later.get(id)
                && answered.contains(again)
            {
                let words = prompt_texts::SNIPPED.replace("{call}", id.as_str());
                changes.push(ViewChange::Elide(Elision { call: id.clone(), words }));
            }
        }
        changes
    }
}
