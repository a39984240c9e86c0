//! What reaches a session from outside while it may be busy: prompts, steering, notices, mail. One mechanism for all.
//!
//! An item is recorded when it arrives. It is admitted to the conversation by one entry of the log that carries its id and
//! the message, so a crash at any moment delivers it exactly once.

use crate::event::AgentPath;
use crate::ids::InboundId;
use crate::message::{Block, Message};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    pub id: InboundId,
    pub source: InboundSource,
    pub when: Delivery,
    /// A user message; what the harness itself has to say is marked as meta.
    pub body: Message,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum InboundSource {
    Person,
    /// Another agent.
    Agent {
        path: AgentPath,
    },
    /// A job in the background.
    Job {
        id: String,
        /// How it ended, in a line for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// Tools came or went, by name.
    Tools {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        added: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<String>,
    },
    Harness,
}

/// When an item may enter the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Before the next request, or between an answer and its changing calls. A person's words redirect the turn: a request
    /// whose answer has not begun is sent again with them, and calls that have not started are skipped.
    NextBoundary,
    /// Before the next request. Nothing is cancelled or skipped for it.
    NextStep,
    /// With the next results of calls. Nothing is cancelled or skipped for it, and no turn is prolonged: without further
    /// results it is the prompt of a turn of its own.
    WithResults,
    /// As the prompt of a turn of its own.
    AfterTurn,
    /// At a boundary, but only after a call that waits has run.
    Later,
}

/// An item as readers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedItem {
    pub id: InboundId,
    pub source: InboundSource,
    pub when: Delivery,
    /// The beginning of what it says.
    pub text: String,
}

/// Characters of an item that readers are shown.
const SHOWN: usize = 2_000;

impl Inbound {
    pub fn queued(&self) -> QueuedItem {
        let own: String = self.body.own_words().collect();
        let text = if own.is_empty() { every_text(&self.body) } else { own };
        QueuedItem {
            id: self.id.clone(),
            source: self.source.clone(),
            when: self.when,
            text: text.chars().take(SHOWN).collect(),
        }
    }
}

/// What the harness wrote is all there is to show of its notices.
fn every_text(body: &Message) -> String {
    let texts = body.blocks().iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
