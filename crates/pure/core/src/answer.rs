//! Folds what a model streams into one answer.

use crate::ids::{CallId, ModelId};
use crate::late_tools;
use crate::ledger::Usage;
use crate::message::{Block, Message};
use crate::model::StopReason;
use crate::view::View;
use serde_json::json;

/// How much of an unusable input is kept, so that the model sees what it sent.
const RAW_KEPT: usize = 2_000;

/// An answer while it streams in. Text of the open block is stored separately: an interrupt keeps it, a completed block
/// replaces it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub message_id: String,
    pub request_id: Option<String>,
    pub usage: Usage,
    pub stop: Option<StopReason>,
    blocks: Vec<Block>,
    open_text: String,
    cut: bool,
}

impl Answer {
    pub fn text(&mut self, delta: &str) {
        self.open_text.push_str(delta);
    }

    /// A block is complete. A call gets an id that is unique in the conversation: providers reject duplicates.
    pub fn block(&mut self, block: Block, view: &View) -> Block {
        self.open_text.clear();
        let block = match block {
            Block::ToolUse { id, name, input, via } => {
                late_tools::unwrapped(self.unique(id, view), name, input, via)
            }
            other => other,
        };
        self.blocks.push(block.clone());
        block
    }

    /// A call whose input cannot be used. It stays in the history, because its error result must follow it.
    pub fn cut_call(&mut self, id: CallId, name: String, raw: &str, view: &View) -> Block {
        self.cut = true;
        let kept: String = raw.chars().take(RAW_KEPT).collect();
        let input = json!({ "__unparsedToolInput": { "raw": kept, "len": raw.len() } });
        let name = if name.is_empty() { "unnamed".to_owned() } else { name };
        self.block(Block::ToolUse { id, name, input, via: None }, view)
    }

    /// Whether some call cannot be run because its input is unusable.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    pub fn is_empty(&self) -> bool {
        self.open_text.trim().is_empty()
            && self.blocks.iter().all(|block| block.is_empty() || block.is_thinking())
    }

    /// The message so far, with the unfinished text as its last block.
    pub fn into_message(mut self, model: &ModelId) -> Option<Message> {
        if !self.open_text.trim().is_empty() {
            self.blocks.push(Block::text(self.open_text));
        }
        (!self.blocks.is_empty()).then(|| Message::assistant(model, self.blocks))
    }

    fn unique(&self, id: CallId, view: &View) -> CallId {
        let clean = sendable_id(id.as_str());
        let taken = |id: &CallId| {
            view.has_call(id)
                || self
                    .blocks
                    .iter()
                    .any(|b| matches!(b, Block::ToolUse { id: had, .. } if had == id))
        };
        let mut unique = CallId::new(clean.as_str());
        let mut n = 2u32;
        while taken(&unique) {
            unique = CallId::new(format!("{clean}-{n}"));
            n += 1;
        }
        unique
    }
}

/// Providers accept letters, digits, `_` and `-` in a call's name.
fn sendable_id(id: &str) -> String {
    let clean: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(100)
        .collect();
    if clean.is_empty() { "call".into() } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Block {
        Block::ToolUse { id: id.into(), name: "t".into(), input: json!({}), via: None }
    }

    #[test]
    fn twins_get_their_own_names_also_against_the_history() {
        let model = ModelId::new("m");
        let view =
            View::from_messages([Message::user("go"), Message::assistant(&model, vec![call("a")])]);
        let mut answer = Answer::default();
        let ids: Vec<_> = ["a", "a", "b", "b", "x y", ""]
            .map(|id| answer.block(call(id), &view))
            .iter()
            .map(|b| match b {
                Block::ToolUse { id, .. } => id.to_string(),
                _ => String::new(),
            })
            .collect();
        assert_eq!(ids, ["a-2", "a-3", "b", "b-2", "x_y", "call"]);
    }

    #[test]
    fn an_interrupted_text_is_kept_and_a_completed_one_stands_once() {
        let model = ModelId::new("m");
        let mut answer = Answer::default();
        answer.text("hel");
        answer.text("lo");
        answer.block(Block::text("hello"), &View::default());
        answer.text(" wor");
        let message = answer.into_message(&model);
        assert_eq!(
            message,
            Some(Message::assistant(&model, vec![Block::text("hello"), Block::text(" wor")]))
        );
    }

    #[test]
    fn thinking_alone_is_an_empty_answer() {
        let mut answer = Answer::default();
        answer.block(Block::Thinking { text: "hm".into(), signature: None }, &View::default());
        answer.text("  \n");
        assert!(answer.is_empty());
        answer.text("x");
        assert!(!answer.is_empty());
    }
}
