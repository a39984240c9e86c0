//! Stage: old results become one line each. The calls stay, so that the model knows what it did.
//!
//! Results of every call, not only of those that could be made again: Recall shows a result again, word for word from
//! the log, and old output is no more reliable because its command cannot be repeated. There are two exceptions: a
//! failure keeps its first characters, so that it is not tried again, and the text of a skill stays.

use super::change::{Elision, StageName, ViewChange};
use super::{Pressure, Stage, extract, story, weight};
use crate::message::Block;
use crate::prompt_texts;
use crate::text;
use crate::tool_facts::KnownTools;
use crate::view::View;

/// A shorter result is not worth a line.
const LEAST: u64 = 600;
/// Characters of a failure that stay.
const FAILURE: usize = 160;

pub struct Micro;

impl Stage for Micro {
    fn name(&self) -> StageName {
        StageName::Micro
    }

    fn plan(&self, view: &View, pressure: &Pressure, tools: &KnownTools) -> Vec<ViewChange> {
        let spared = spared(view, pressure);
        let old = view.messages().take(spared).flat_map(|message| message.blocks());
        let standing = story::standing(view.messages(), tools);
        let stays = |block: &Block| match block {
            Block::ToolResult { id, is_error, .. } => !is_error && standing.contains(id),
            _ => false,
        };
        old.filter(|block| is_worth_it(block) && !stays(block)).filter_map(stub).collect()
    }
}

/// Messages from this one on are not touched: the newest, and the exchange that is not answered yet.
pub(super) fn spared(view: &View, pressure: &Pressure) -> usize {
    view.items().len().saturating_sub(pressure.keep).min(story::newest(view))
}

pub(super) fn is_worth_it(block: &Block) -> bool {
    matches!(block, Block::ToolResult { .. }) && weight::of_block(block) >= LEAST
}

fn stub(block: &Block) -> Option<ViewChange> {
    let Block::ToolResult { id, content, is_error } = block else { return None };
    let size = text::size(content.iter().map(weight::of_part).sum());
    let mut words = prompt_texts::ELIDED.replace("{size}", &size).replace("{call}", id.as_str());
    if *is_error {
        words = format!("{}\n{words}", extract::cut(extract::first_text(content), FAILURE));
    }
    Some(ViewChange::Elide(Elision { call: id.clone(), words }))
}
