//! Stage: the tool calls of a turn that has ended become a few lines; its prompt and its answer stay as they are.

use super::change::{Change, StageName, Story};
use super::micro::spared;
use super::story::{holds_results, is_prompt};
use super::{Pressure, Stage, extract, weight};
use crate::text;
use crate::texts;
use crate::view::View;

/// Bytes that a line list may take for one turn.
const LINES: usize = 1_500;

pub struct Collapse;

impl Stage for Collapse {
    fn name(&self) -> StageName {
        StageName::Collapse
    }

    fn plan(&self, view: &View, pressure: &Pressure) -> Vec<Change> {
        let spared = spared(view, pressure);
        let prompts: Vec<usize> = (0..view.items().len())
            .filter(|at| view.items().get(*at).is_some_and(|item| is_prompt(item.message())))
            .collect();
        let turns = prompts.windows(2).filter_map(|pair| match pair {
            [from, to] if *to <= spared => finished(view, from + 1, *to),
            _ => None,
        });
        turns.map(Change::Collapse).collect()
    }
}

/// The exchanges between a prompt and the answer that ended its turn.
fn finished(view: &View, from: usize, to: usize) -> Option<Story> {
    let items = view.items().get(from..to)?;
    // Up to the last results; what follows them is the answer.
    let count = items.iter().rposition(|item| holds_results(item.message()))? + 1;
    let range = items.get(..count)?;
    if !range.first()?.message().is_assistant() {
        return None;
    }
    let calls: u64 = range.iter().map(|item| item.message().calls().count() as u64).sum();
    let lines = extract::calls(range.iter().map(|item| item.message()), LINES);
    let calls = text::counted(calls, "call");
    let words = text::fill(texts::COLLAPSED, &[("calls", &calls), ("lines", &lines)]);
    let before: u64 = range.iter().map(|item| item.weight()).sum();
    let after = weight::of_message(&crate::message::Message::meta(words.as_str()));
    (after < before).then_some(Story { first: from, count, words })
}
