//! What the model sees. A `View` can only be built from valid steps, so an invalid history cannot be sent.

use crate::context::weight;
use crate::ids::CallId;
use crate::message::{Block, Image, Message, ResultPart};
use crate::pairing;
use crate::prompt_texts::{IMAGE_GONE, NO_RESULT};
use crate::rendering::{RenderKey, Renderings};
use std::any::Any;
use std::sync::{Arc, OnceLock};

const EMPTY_USER: &str = "(no content)";

/// A message together with its rendered bytes, which are made once and then shared.
#[derive(Debug)]
pub struct ViewItem {
    message: Message,
    renderings: Renderings,
    weight: OnceLock<u64>,
}

impl ViewItem {
    fn new(message: Message) -> Arc<Self> {
        Arc::new(ViewItem { message, renderings: Renderings::default(), weight: OnceLock::new() })
    }

    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Its bytes, roughly; counted once.
    pub fn weight(&self) -> u64 {
        *self.weight.get_or_init(|| weight::of_message(&self.message))
    }

    /// The rendering for one wire protocol, kept beside those of others: a session may change models and come back.
    pub fn rendered<T: Any + Send + Sync>(
        &self,
        key: RenderKey,
        render: impl Fn(&Message) -> T,
    ) -> Arc<T> {
        self.renderings.get(key, || render(&self.message))
    }
}

/// A valid history. Cloning copies pointers.
#[derive(Clone, Debug, Default)]
pub struct View {
    items: Vec<Arc<ViewItem>>,
    /// Calls of the last message that wait for their results.
    open: Vec<CallId>,
}

impl PartialEq for View {
    fn eq(&self, other: &Self) -> bool {
        self.messages().eq(other.messages())
    }
}

impl View {
    pub fn from_messages(messages: impl IntoIterator<Item = Message>) -> Self {
        let mut view = View::default();
        for message in messages {
            view.push(message);
        }
        view
    }

    pub fn items(&self) -> &[Arc<ViewItem>] {
        &self.items
    }

    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.items.iter().map(|item| item.message())
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn open_calls(&self) -> &[CallId] {
        &self.open
    }

    pub fn has_call(&self, id: &CallId) -> bool {
        self.messages().any(|message| message.calls().any(|call| call == id))
    }

    /// Adds a message and repairs it if needed: results are put in call order and completed; results without a call,
    /// duplicate calls and blocks of the wrong role are left out; empty texts and trailing thinking are removed.
    /// Returns what was added last, or nothing if nothing was left.
    pub fn push(&mut self, message: Message) -> Option<Arc<ViewItem>> {
        match message {
            Message::Assistant { content, model } => {
                self.close_open_calls(NO_RESULT);
                let content = sendable_answer(content);
                // An answer to nothing can only come from a damaged log.
                if content.is_empty() || self.items.is_empty() {
                    return None;
                }
                let message = Message::Assistant { content, model };
                self.open = message.calls().cloned().collect();
                Some(self.add(message))
            }
            Message::User { content } => {
                let (results, mut rest) = pairing::split_results(content);
                rest.retain(is_sendable_by_user);
                let open = std::mem::take(&mut self.open);
                let mut content = pairing::complete(&open, results, |_| NO_RESULT);
                content.append(&mut rest);
                if content.is_empty() && self.items.is_empty() {
                    content.push(Block::Text { text: EMPTY_USER.into(), meta: true });
                }
                (!content.is_empty()).then(|| self.add(Message::User { content }))
            }
        }
    }

    /// Forgets what came after so many messages. Calls of the last one left wait for their results again.
    pub fn truncate(&mut self, items: usize) {
        if items < self.items.len() {
            self.items.truncate(items);
            self.open =
                self.items.last().iter().flat_map(|item| item.message().calls()).cloned().collect();
        }
    }

    /// Answers every open call with the same words, so that the history is valid again.
    pub fn close_open_calls(&mut self, why: &str) -> Option<Arc<ViewItem>> {
        if self.open.is_empty() {
            return None;
        }
        let open = std::mem::take(&mut self.open);
        Some(self.add(Message::User { content: pairing::complete(&open, Vec::new(), |_| why) }))
    }

    /// Bytes of all messages, roughly.
    pub fn weight(&self) -> u64 {
        self.items.iter().map(|item| item.weight()).sum()
    }

    /// Adds a message of another view, with its rendering if it can stay as it is.
    pub fn push_item(&mut self, item: &Arc<ViewItem>) {
        let results: Vec<&CallId> = item.message.blocks().iter().filter_map(result_id).collect();
        let fits = match item.message.is_assistant() {
            true => self.open.is_empty() && !self.items.is_empty(),
            false => results.iter().copied().eq(self.open.iter()),
        };
        if !fits {
            self.push(item.message.clone());
            return;
        }
        self.open = item.message.calls().cloned().collect();
        self.items.push(item.clone());
    }

    /// The first messages. Calls whose results are cut off stay open.
    #[must_use]
    pub fn head(&self, count: usize) -> View {
        let mut view = View::default();
        for item in self.items.iter().take(count) {
            view.push_item(item);
        }
        view
    }

    /// Replaces the results of calls with texts; `words` says which. Returns how many were changed.
    pub fn replace_results<'a>(&mut self, words: impl Fn(&CallId) -> Option<&'a str>) -> usize {
        let mut changed = 0;
        for item in &mut self.items {
            let concerned = |block: &Block| result_id(block).is_some_and(|id| words(id).is_some());
            if !item.message.blocks().iter().any(concerned) {
                continue;
            }
            let mut message = item.message.clone();
            for block in message.blocks_mut() {
                if let Block::ToolResult { id, content, .. } = block
                    && let Some(words) = words(id)
                {
                    *content = vec![ResultPart::text(words)];
                    changed += 1;
                }
            }
            *item = ViewItem::new(message);
        }
        changed
    }

    /// Replaces several messages with one of the harness. Nothing is done where that would leave a call without its
    /// result, or a result without its call.
    pub fn replace_messages(&mut self, first: usize, count: usize, message: Message) {
        let Some(end) = first.checked_add(count).filter(|end| *end <= self.items.len()) else {
            return;
        };
        let mut view = self.head(first);
        let closed = |view: &View| view.open.is_empty();
        let whole = closed(&view) && closed(&self.head(end));
        if !whole || message.is_assistant() || view.push(message).is_none() {
            return;
        }
        for item in self.items.get(end..).unwrap_or_default() {
            view.push_item(item);
        }
        *self = view;
    }

    /// Replaces images with text. True if there were any.
    pub fn drop_images(&mut self) -> bool {
        self.rewrite(has_image, |content| content.into_iter().map(without_image).collect())
    }

    /// Removes all thinking. True if there was any.
    pub fn drop_thinking(&mut self) -> bool {
        self.rewrite(Block::is_thinking, |content| {
            content.into_iter().filter(|block| !block.is_thinking()).collect()
        })
    }

    fn rewrite(
        &mut self,
        concerns: impl Fn(&Block) -> bool,
        change: impl Fn(Vec<Block>) -> Vec<Block>,
    ) -> bool {
        let mut changed = false;
        for item in &mut self.items {
            if item.message.blocks().iter().any(&concerns) {
                let mut message = item.message.clone();
                let content = message.blocks_mut();
                *content = change(std::mem::take(content));
                *item = ViewItem::new(message);
                changed = true;
            }
        }
        // A message of thinking alone would be left empty.
        self.items.retain(|item| !item.message.blocks().is_empty());
        changed
    }

    fn add(&mut self, message: Message) -> Arc<ViewItem> {
        let item = ViewItem::new(message);
        self.items.push(item.clone());
        item
    }
}

fn result_id(block: &Block) -> Option<&CallId> {
    match block {
        Block::ToolResult { id, .. } => Some(id),
        _ => None,
    }
}

fn is_sendable_by_user(block: &Block) -> bool {
    !block.is_empty() && !block.is_thinking() && !matches!(block, Block::ToolUse { .. })
}

/// The blocks of an answer that may be replayed: no empty text, each call once, and thinking is never last.
fn sendable_answer(mut content: Vec<Block>) -> Vec<Block> {
    let mut calls = Vec::new();
    content.retain(|block| match block {
        Block::ToolUse { id, .. } => {
            let is_new = !calls.contains(id);
            calls.push(id.clone());
            is_new
        }
        Block::ToolResult { .. } => false,
        other => !other.is_empty(),
    });
    while content.last().is_some_and(Block::is_thinking) {
        content.pop();
    }
    content
}

fn has_image(block: &Block) -> bool {
    match block {
        Block::Image(_) => true,
        Block::ToolResult { content, .. } => {
            content.iter().any(|part| matches!(part, ResultPart::Image(Image { .. })))
        }
        _ => false,
    }
}

fn without_image(block: Block) -> Block {
    match block {
        Block::Image(_) => Block::Text { text: IMAGE_GONE.into(), meta: true },
        Block::ToolResult { id, content, is_error } => {
            let words = |part| match part {
                ResultPart::Image(_) => ResultPart::text(IMAGE_GONE),
                other => other,
            };
            Block::ToolResult { id, content: content.into_iter().map(words).collect(), is_error }
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
