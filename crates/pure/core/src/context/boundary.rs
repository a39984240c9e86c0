//! The fact that a conversation was summarized. It contains everything the model sees afterwards, so what precedes it
//! does not have to be read again.

use super::carry_over::CarryOver;
use super::story::{is_prompt, last_prompt};
use crate::event::Control;
use crate::ids::{CallId, ModelId};
use crate::inbox::Inbound;
use crate::job::JobRecord;
use crate::message::{Block, Message};
use crate::question::Question;
use crate::time::Timestamp;
use crate::tool::Seen;
use crate::view::View;
use crate::{prompt_texts, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of calls that a receipt lists.
const CALLS: usize = 200;
/// How many of the newest file observations a boundary keeps.
const SEEN: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The estimate reached the threshold.
    Auto,
    /// The provider said that the request is too long.
    Overflow,
    /// Somebody asked for it.
    Manual,
}

impl Trigger {
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Auto | Trigger::Overflow => "auto",
            Trigger::Manual => "manual",
        }
    }
}

/// Who wrote the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Made {
    Model {
        model: ModelId,
    },
    /// No model could; the lines come from the messages themselves.
    Extract {
        why: String,
    },
}

/// What a compaction removed, and what it kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub trigger: Trigger,
    pub made: Made,
    /// Messages that are no longer sent.
    pub messages: u64,
    /// The first of the calls among them; Recall finds all.
    pub calls: Vec<CallId>,
    pub calls_dropped: u64,
    /// Messages that stay word for word.
    pub kept: u64,
    pub before: u64,
    pub after: u64,
    /// Requests it took.
    pub requests: u32,
    /// What was attached again, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
}

impl Receipt {
    /// For a person.
    pub fn words(&self) -> String {
        let made = match &self.made {
            Made::Model { model } => format!("summarized by {model}"),
            Made::Extract { why } => format!("summarized without a model ({why})"),
        };
        let messages = text::counted(self.messages, "message");
        let calls = match self.calls_dropped {
            0 => String::new(),
            calls => format!(" with {}", text::counted(calls, "call")),
        };
        let (before, after) = (text::thousands(self.before), text::thousands(self.after));
        text::fill(
            prompt_texts::RECEIPT,
            &[
                ("messages", &format!("{messages}{calls}")),
                ("made", &made),
                ("before", &before),
                ("after", &after),
                ("kept", &self.kept.to_string()),
            ],
        )
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// What the conversation begins with now: the summary and, if it was not kept below, the last prompt.
    pub head: Vec<Message>,
    /// Messages that are kept word for word.
    pub kept: Vec<Message>,
    pub carry: CarryOver,
    pub receipt: Receipt,
    pub turns: u32,
    pub title: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    pub at: Timestamp,
    /// What had arrived and was not part of the conversation yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inbox: Vec<Inbound>,
    /// What was asked and not decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Jobs whose end was not reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

impl Boundary {
    /// The text of the summary, as the model gets it.
    pub fn summary(&self) -> Option<&str> {
        let blocks = self.head.iter().flat_map(Message::blocks);
        blocks.filter_map(summary_text).next()
    }

    pub fn view(&self) -> View {
        View::from_messages(self.head.iter().chain(&self.kept).cloned())
    }

    /// The same with the messages that are there already, so that nothing is rendered again.
    pub fn view_sharing(&self, old: &View) -> View {
        let mut view = View::from_messages(self.head.iter().cloned());
        let from = old.items().len().saturating_sub(self.kept.len());
        for item in old.items().get(from..).unwrap_or_default() {
            view.push_item(item);
        }
        view
    }
}

/// What is known when a boundary is drawn.
pub struct Draft<'a> {
    pub view: &'a View,
    /// Messages that are summarized.
    pub cut: usize,
    /// Texts before the summary: instructions and environment.
    pub before: Vec<String>,
    pub summary: String,
    /// Texts after it: files, the plan, running jobs.
    pub after: Vec<String>,
}

impl Draft<'_> {
    pub fn head(&self) -> Vec<Message> {
        let texts = self.before.iter().chain([&self.summary]).chain(&self.after);
        let blocks = texts.map(|text| Block::Text { text: text.clone(), meta: true }).collect();
        let mut head = vec![Message::User { content: blocks }];
        head.extend(self.prompt());
        head
    }

    /// The last prompt, unless it stays where it is.
    fn prompt(&self) -> Option<Message> {
        let at = last_prompt(self.view).filter(|at| *at < self.cut)?;
        let message = self.view.items().get(at)?.message();
        // What the harness had added to it is repeated before the summary.
        let said = message.blocks().iter().filter(|block| {
            !matches!(block, Block::Text { meta: true, .. } | Block::ToolResult { .. })
        });
        Some(Message::User { content: said.cloned().collect() })
    }

    pub fn kept_messages(&self) -> Vec<Message> {
        self.view.messages().skip(self.cut).cloned().collect()
    }

    pub fn dropped(&self) -> impl Iterator<Item = &Message> {
        self.view.messages().take(self.cut)
    }

    pub fn calls(&self) -> Vec<CallId> {
        self.dropped().flat_map(|message| message.calls()).take(CALLS).cloned().collect()
    }
}

/// The newest file observations that the boundary keeps.
pub fn newest_seen(seen: &[Seen]) -> Vec<Seen> {
    seen.get(seen.len().saturating_sub(SEEN)..).unwrap_or_default().to_vec()
}

/// Whether a message begins a conversation that was summarized.
pub fn is_summary(message: &Message) -> bool {
    !is_prompt(message) && message.blocks().iter().any(|block| summary_text(block).is_some())
}

fn summary_text(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text, meta: true } => Some(text.as_str()),
        _ => None,
    }
    .filter(|text| text.starts_with("<summary>"))
}
