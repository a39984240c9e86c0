//! Our own conversations as lines of a transcript that the Claude Agent SDKs can read. Pure: entries in, lines out.

use crate::iso_time::iso_time;
use crate::wire_blocks;
use ostler_core::context::{Boundary, Receipt};
use ostler_core::ids::{CallId, IdSource};
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Message};
use ostler_core::model::StopReason;
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Says who wrote a line.
pub(crate) const ENTRYPOINT: &str = "ostler";
/// Calls whose lines are remembered for their results.
const CALLS: usize = 10_000;

/// What every line repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHeader {
    /// A UUID; the file is named after it.
    pub session: String,
    pub cwd: String,
    pub git_branch: Option<String>,
    pub version: String,
}

/// What is known about an answer besides its blocks. The default leaves it out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerFacts {
    /// The provider's name of the message; empty: one is made up.
    pub message_id: String,
    pub request_id: Option<String>,
    pub usage: Usage,
    pub stop: Option<StopReason>,
}

/// Where a transcript ends, so that the next line can be linked to it.
#[derive(Clone, Debug)]
pub struct TranscriptLines {
    header: SessionHeader,
    newest: Option<String>,
    /// What each prompt was linked to, for rewinds.
    before_turns: Vec<Option<String>>,
    /// The line of each call that has no result yet.
    calls: HashMap<CallId, String>,
    usage: Usage,
}

impl TranscriptLines {
    /// `newest`: the last line of a transcript that is continued.
    pub fn new(header: SessionHeader, newest: Option<String>) -> Self {
        TranscriptLines {
            header,
            newest,
            before_turns: Vec::new(),
            calls: HashMap::new(),
            usage: Usage::default(),
        }
    }

    /// The UUID of the newest line.
    pub fn newest(&self) -> Option<&str> {
        self.newest.as_deref()
    }

    /// The lines for an entry of the log, without line ends. Most entries need none. `at` is used where the entry does
    /// not know when it was written.
    pub fn entry(&mut self, entry: &Entry, at: Timestamp, ids: &dyn IdSource) -> Vec<String> {
        match entry {
            Entry::Prompt { message, at, .. } => {
                self.before_turns.push(self.newest.clone());
                vec![self.user(message, *at, ids)]
            }
            Entry::Note { message, .. } => vec![self.user(message, at, ids)],
            Entry::Answer { message: Message::Assistant { content, model }, stop } => {
                let usage = std::mem::take(&mut self.usage);
                let facts = AnswerFacts { usage, stop: stop.clone(), ..AnswerFacts::default() };
                self.answer(content, model.as_str(), &facts, at, ids)
            }
            Entry::CallFinished { result, .. } => {
                vec![self.user(&Message::User { content: vec![result.clone()] }, at, ids)]
            }
            Entry::Spent { usage, .. } => {
                self.usage = *usage;
                Vec::new()
            }
            Entry::Boundary(boundary) => self.boundary(boundary, ids),
            Entry::Rewound { turn, .. } => {
                self.rewind(*turn);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// A prompt, a note or a result.
    pub fn user(&mut self, message: &Message, at: Timestamp, ids: &dyn IdSource) -> String {
        let blocks = message.blocks();
        let answered = blocks.iter().find_map(|block| match block {
            Block::ToolResult { id, .. } => Some(id),
            _ => None,
        });
        let is_meta = |block: &Block| matches!(block, Block::Text { meta: true, .. });
        let mut fields = Map::new();
        if let Some(source) = answered.and_then(|id| self.calls.remove(id)) {
            fields.insert("sourceToolAssistantUUID".into(), source.into());
        } else if answered.is_none() && blocks.iter().all(is_meta) {
            fields.insert("isMeta".into(), true.into());
        }
        fields.insert("message".into(), json!({ "role": "user", "content": user_content(blocks) }));
        self.linked("user", fields, at, ids)
    }

    /// One line for each block.
    pub fn answer(
        &mut self,
        blocks: &[Block],
        model: &str,
        facts: &AnswerFacts,
        at: Timestamp,
        ids: &dyn IdSource,
    ) -> Vec<String> {
        let message_id = match facts.message_id.as_str() {
            "" => format!("msg_{}", ids.uuid().replace('-', "")),
            id => id.to_owned(),
        };
        let mut lines = Vec::new();
        for block in blocks {
            let Some(content) = wire_blocks::write(block) else { continue };
            let message = json!({
                "id": message_id, "type": "message", "role": "assistant", "model": model,
                "content": [content], "stop_reason": facts.stop.as_ref().map(stop_word),
                "stop_sequence": null, "usage": usage(&facts.usage),
            });
            let mut fields = Map::new();
            fields.insert("message".into(), message);
            if let Some(request) = &facts.request_id {
                fields.insert("requestId".into(), request.as_str().into());
            }
            lines.push(self.linked("assistant", fields, at, ids));
            if let (Block::ToolUse { id, .. }, Some(newest)) = (block, &self.newest)
                && self.calls.len() < CALLS
            {
                self.calls.insert(id.clone(), newest.clone());
            }
        }
        lines
    }

    /// A compaction: the boundary, the summary, and what was kept word for word.
    fn boundary(&mut self, boundary: &Boundary, ids: &dyn IdSource) -> Vec<String> {
        let mut lines = vec![self.compacted(&boundary.receipt, boundary.at, ids)];
        if let Some((summary, rest)) = boundary.head.split_first() {
            lines.push(self.summary(summary, boundary.at, ids));
            for message in rest.iter().chain(&boundary.kept) {
                lines.extend(self.message(message, boundary.at, ids));
            }
        }
        self.before_turns.clear();
        lines
    }

    fn message(&mut self, message: &Message, at: Timestamp, ids: &dyn IdSource) -> Vec<String> {
        match message {
            Message::User { .. } => vec![self.user(message, at, ids)],
            Message::Assistant { content, model } => {
                self.answer(content, model.as_str(), &AnswerFacts::default(), at, ids)
            }
        }
    }

    /// The line that separates what was summarized from what follows.
    pub fn compacted(&mut self, receipt: &Receipt, at: Timestamp, ids: &dyn IdSource) -> String {
        let before = self.newest.take();
        let metadata = json!({
            "trigger": receipt.trigger.name(), "preTokens": receipt.before,
            "postTokens": receipt.after,
        });
        let mut fields = Map::new();
        fields.insert("subtype".into(), "compact_boundary".into());
        fields.insert("content".into(), "Conversation compacted".into());
        fields.insert("logicalParentUuid".into(), before.into());
        fields.insert("compactMetadata".into(), metadata);
        self.linked("system", fields, at, ids)
    }

    /// The summary that a conversation begins with after a compaction.
    pub fn summary(&mut self, message: &Message, at: Timestamp, ids: &dyn IdSource) -> String {
        let mut fields = Map::new();
        fields.insert("isCompactSummary".into(), true.into());
        fields.insert("isVisibleInTranscriptOnly".into(), true.into());
        let content = user_content(message.blocks());
        fields.insert("message".into(), json!({ "role": "user", "content": content }));
        self.linked("user", fields, at, ids)
    }

    /// What a person calls the session.
    pub fn title(&self, title: &str) -> String {
        let session = self.header.session.as_str();
        json!({ "type": "custom-title", "customTitle": title, "sessionId": session }).to_string()
    }

    /// The next prompt takes the place of this one; the branch that it ended stays in the file.
    fn rewind(&mut self, turn: u32) {
        let at = usize::try_from(turn).unwrap_or(usize::MAX).saturating_sub(1);
        if let Some(before) = self.before_turns.get(at).cloned() {
            self.newest = before;
            self.before_turns.truncate(at);
        }
    }

    fn linked(
        &mut self,
        kind: &str,
        fields: Map<String, Value>,
        at: Timestamp,
        ids: &dyn IdSource,
    ) -> String {
        let uuid = ids.uuid();
        let SessionHeader { session, cwd, git_branch, version } = &self.header;
        let mut line = json!({
            "parentUuid": self.newest, "isSidechain": false, "userType": "external",
            "cwd": cwd, "sessionId": session, "version": version,
            "gitBranch": git_branch.as_deref().unwrap_or_default(), "entrypoint": ENTRYPOINT,
            "type": kind,
        });
        if let Some(line) = line.as_object_mut() {
            line.extend(fields);
            line.insert("uuid".into(), uuid.as_str().into());
            line.insert("timestamp".into(), iso_time(at).into());
        }
        self.newest = Some(uuid);
        line.to_string()
    }
}

/// A text alone is written as such, as Claude Code does.
fn user_content(blocks: &[Block]) -> Value {
    match blocks {
        [Block::Text { text, .. }] => Value::String(text.clone()),
        blocks => blocks.iter().filter_map(wire_blocks::write).collect(),
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    })
}

fn stop_word(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::PauseTurn => "pause_turn",
        StopReason::Refusal { .. } => "refusal",
        StopReason::WindowExceeded => "model_context_window_exceeded",
        StopReason::Other(word) => word,
    }
}
