//! Stage: old results become one line each. The calls stay, so that the model knows what it did; Recall shows a result
//! again.

use super::change::{Change, Elision, StageName};
use super::{Pressure, Stage, story, weight};
use crate::message::Block;
use crate::text;
use crate::texts;
use crate::view::View;

/// A shorter result is not worth a line.
const LEAST: u64 = 600;

pub struct Micro;

impl Stage for Micro {
    fn name(&self) -> StageName {
        StageName::Micro
    }

    fn plan(&self, view: &View, pressure: &Pressure) -> Vec<Change> {
        let spared = spared(view, pressure);
        let old = view.messages().take(spared).flat_map(|message| message.blocks());
        old.filter(|block| is_worth_it(block)).filter_map(stub).collect()
    }
}

/// Messages from this one on are not touched: the newest, and the exchange that is not answered yet.
pub(super) fn spared(view: &View, pressure: &Pressure) -> usize {
    view.items().len().saturating_sub(pressure.keep).min(story::newest(view))
}

pub(super) fn is_worth_it(block: &Block) -> bool {
    matches!(block, Block::ToolResult { .. }) && weight::of_block(block) >= LEAST
}

fn stub(block: &Block) -> Option<Change> {
    let Block::ToolResult { id, content, .. } = block else { return None };
    let size = text::size(content.iter().map(weight::of_part).sum());
    let words = texts::ELIDED.replace("{size}", &size).replace("{call}", id.as_str());
    Some(Change::Elide(Elision { call: id.clone(), words }))
}
