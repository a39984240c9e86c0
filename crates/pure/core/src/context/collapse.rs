//! Stage: the tool calls of a turn that has ended become a few lines; its prompt and its answer stay as they are, and so
//! does a skill it used.

use super::change::{StageName, Story, ViewChange};
use super::microcompact::spared;
use super::story::{holds_results, is_prompt, standing};
use super::{Pressure, Stage, extract, weight};
use crate::prompt_texts;
use crate::text;
use crate::tool_facts::KnownTools;
use crate::view::View;

/// Bytes that a line list may take for one turn.
const LINES: usize = 1_500;

pub struct Collapse;

impl Stage for Collapse {
    fn name(&self) -> StageName {
        StageName::Collapse
    }

    fn plan(&self, view: &View, pressure: &Pressure, tools: &KnownTools) -> Vec<ViewChange> {
        let spared = spared(view, pressure);
        let prompts: Vec<usize> = (0..view.items().len())
            .filter(|at| view.items().get(*at).is_some_and(|item| is_prompt(item.message())))
            .collect();
        let turns = prompts.windows(2).flat_map(|pair| match pair {
            [from, to] if *to <= spared => finished(view, from + 1, *to, tools),
            _ => Vec::new(),
        });
        turns.map(ViewChange::Collapse).collect()
    }
}

/// The exchanges between a prompt and the answer that ended its turn, in as many parts as skills make of them.
fn finished(view: &View, from: usize, to: usize, tools: &KnownTools) -> Vec<Story> {
    let Some(items) = view.items().get(from..to) else { return Vec::new() };
    let messages = || items.iter().map(|item| item.message());
    let standing = standing(messages(), tools);
    // Up to the last results; what follows them is the answer.
    let Some(last) = items.iter().rposition(|item| holds_results(item.message())) else {
        return Vec::new();
    };
    let (mut stories, mut first) = (Vec::new(), 0);
    for (at, message) in messages().enumerate().take(last + 1) {
        if message.is_assistant() && message.calls().any(|call| standing.contains(call)) {
            stories.extend(story(view, from + first, at - first, tools));
            // Its results belong to it.
            first = at + 2;
        }
    }
    let rest = (last + 1).saturating_sub(first);
    stories.extend(story(view, from + first, rest, tools));
    stories
}

fn story(view: &View, from: usize, count: usize, tools: &KnownTools) -> Option<Story> {
    let range = view.items().get(from..from.checked_add(count)?)?;
    if !range.first()?.message().is_assistant() {
        return None;
    }
    let calls: u64 = range.iter().map(|item| item.message().calls().count() as u64).sum();
    let lines = extract::calls(range.iter().map(|item| item.message()), LINES, tools);
    let calls = text::counted(calls, "call");
    let words = text::fill(prompt_texts::COLLAPSED, &[("calls", &calls), ("lines", &lines)]);
    let before: u64 = range.iter().map(|item| item.weight()).sum();
    let after = weight::of_message(&crate::message::Message::meta(words.as_str()));
    (after < before).then_some(Story { first: from, count, words })
}
