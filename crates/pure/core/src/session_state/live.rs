//! The parts of a [`SessionState`](super::SessionState).

use crate::event::{CallOutcome, Level, Notice};
use crate::ids::{CallId, ModelId};
use crate::ledger::Usage;
use crate::message::{Block, ResultPart};
use crate::model::Retry;
use crate::text;
use crate::time::Timestamp;
use crate::turn::Continue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Characters of a result that are kept when its call is over.
pub const EXCERPT: usize = 400;

/// The turn that runs, or the last one that did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveTurn {
    pub number: u32,
    pub since: Timestamp,
    pub phase: TurnPhase,
    /// 0 before the first request.
    pub iteration: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// Why this iteration follows another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Continue>,
    /// What the answers sealed so far cost. It moves to the session's own sum when the turn finishes.
    pub spent: Spending,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    /// Between a request and what came before it.
    #[default]
    Preparing,
    /// A request is sent, or about to be.
    Waiting,
    Answering,
    /// The answer is sealed, and calls of it are not over yet.
    RunningCalls,
    Compacting,
    Finished,
}

/// The answer of the current iteration, until the next one begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveAnswer {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message_id: String,
    /// Complete parts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// Thinking that is not part of a block yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// Text that is not part of a block yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default)]
    pub sealed: bool,
}

impl LiveAnswer {
    /// A complete block replaces the deltas it came in.
    pub(super) fn push(&mut self, block: &Block) {
        match block {
            Block::Text { .. } => self.text.clear(),
            Block::Thinking { .. } | Block::Redacted { .. } => self.thinking.clear(),
            _ => {}
        }
        self.blocks.push(block.clone());
    }
}

/// A call of the current iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveCall {
    pub id: CallId,
    pub name: String,
    /// Null while it is not known.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    #[serde(flatten)]
    pub stage: CallStage,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum CallStage {
    /// The model asked for it.
    #[default]
    Announced,
    /// A person has to decide about it.
    Asked,
    Running {
        since: Timestamp,
        /// Its newest output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tail: String,
    },
    Finished {
        outcome: CallOutcome,
        /// The beginning of its result.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        excerpt: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_ms: Option<u64>,
    },
}

impl CallStage {
    pub fn is_finished(&self) -> bool {
        matches!(self, CallStage::Finished { .. })
    }
}

/// The beginning of what is shown instead of a result, or of its first text.
pub(super) fn excerpt(result: &Block, shown: Option<&str>) -> String {
    if let Some(shown) = shown {
        return text::head(shown, EXCERPT).0.to_owned();
    }
    let Block::ToolResult { content, .. } = result else { return String::new() };
    let first = content.iter().find_map(|part| match part {
        ResultPart::Text { text } => Some(text),
        ResultPart::Image(_) => None,
    });
    first.map_or_else(String::new, |first| text::head(first, EXCERPT).0.to_owned())
}

/// A failed request that is going to be repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Backoff {
    pub since: Timestamp,
    pub retry: Retry,
}

/// How full the model's context window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFill {
    /// Tokens of the conversation: prompt and answer of the last sealed answer, or what a compaction left.
    pub tokens: u64,
    /// None while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    pub usage: Usage,
    /// In US dollars.
    pub cost: f64,
    /// A part has no known price, so that the cost is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
}

impl Spending {
    pub(super) fn add(&mut self, usage: Usage, cost: Option<f64>) {
        self.usage += usage;
        match cost.filter(|cost| cost.is_finite()) {
            Some(cost) => self.cost += cost,
            None => self.unpriced = true,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: Spending) -> Spending {
        self.add(other.usage, Some(other.cost));
        self.unpriced |= other.unpriced;
        self
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecentNotice {
    pub at: Timestamp,
    pub level: Level,
    pub notice: Notice,
}
