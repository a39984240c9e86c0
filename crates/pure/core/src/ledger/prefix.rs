//! The cache alarm: when less came from the provider's cache than the request before left there, what changed?
//!
//! Messages are shared between requests, so comparing two of them costs a glance at each pointer; only what is not
//! shared is compared by content.

use super::Usage;
use super::previous_request::{Front, number};
use crate::ids::ModelId;
use crate::model::{Request, Thinking};
use crate::rendering::SharedList;
use crate::time::Timestamp;
use crate::tool::ToolSpec;
use crate::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Losses below this many tokens are not reported.
const SMALLEST_LOSS: u64 = 1024;
/// The provider forgets what nobody used for so long.
const FIVE_MINUTES_MS: u64 = 300_000;
const ONE_HOUR_MS: u64 = 3_600_000;

/// A request that was answered: its parts in the order the provider reads them, and what was counted.
#[derive(Clone, Debug)]
pub struct SentRequest {
    pub(super) model: ModelId,
    tools: SharedList<ToolSpec>,
    system: SharedList<String>,
    thinking: Thinking,
    view: View,
    pub(super) at: Timestamp,
    pub usage: Usage,
}

impl SentRequest {
    pub fn new(request: &Request, at: Timestamp) -> Self {
        SentRequest {
            model: request.model.clone(),
            tools: request.tools.clone(),
            system: request.system.clone(),
            thinking: request.thinking,
            view: request.view.clone(),
            at,
            usage: Usage::default(),
        }
    }

    /// What it left in the cache.
    fn left(&self) -> u64 {
        self.usage.cache_read + self.usage.cache_write
    }

    /// What precedes its messages, as hashes.
    pub fn front(&self) -> Front {
        let tool = |spec: &ToolSpec| {
            let words = [&spec.name, &spec.description, &spec.input_schema.to_string()];
            (spec.name.clone(), number(&words.map(String::as_str)))
        };
        Front {
            tools: self.tools.iter().map(tool).collect(),
            system: self.system.iter().map(|part| number(&[part])).collect(),
            thinking: number(&[&format!("{:?}", self.thinking)]),
        }
    }

    /// Nothing in front of the messages differs.
    pub fn has_front_of(&self, other: &SentRequest) -> bool {
        first_difference(&self.tools, &other.tools).is_none()
            && first_difference(&self.system, &other.system).is_none()
            && self.thinking == other.thinking
    }
}

/// The prefix broke: so much was expected from the cache, so much came, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Broken {
    pub expected: u64,
    pub read: u64,
    pub change: Change,
}

/// The first thing that differs. The provider reads tools, then the system prompt, then the messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Change {
    /// Each model has a cache of its own.
    Model {
        from: String,
        to: String,
    },
    /// The first tool that is new, gone or otherwise described.
    Tools {
        tool: String,
    },
    /// A part of the system prompt, from 1.
    System {
        part: usize,
    },
    Thinking,
    /// A message, from 1, of so many in the request before.
    Message {
        n: usize,
        of: usize,
    },
    /// The end of the conversation was cut off.
    Shortened {
        from: usize,
        to: usize,
    },
    /// Old parts of the conversation gave way, so that it fits the window.
    MadeRoom,
    /// Nothing changed, but the cache had expired.
    Pause {
        seconds: u64,
    },
    /// Nothing changed here, and in time: the provider did not keep it.
    #[serde(other)]
    Unknown,
}

impl Change {
    /// The harness changes these on purpose and says so elsewhere.
    pub fn is_meant(&self) -> bool {
        matches!(self, Change::Model { .. } | Change::Shortened { .. } | Change::MadeRoom)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Model { from, to } => write!(f, "the model changed from {from} to {to}"),
            Change::Tools { tool } => write!(f, "the tools changed, first {tool}"),
            Change::System { part } => write!(f, "part {part} of the system prompt changed"),
            Change::Thinking => f.write_str("the thinking setting changed"),
            Change::Message { n, of } => write!(f, "message {n} of {of} changed"),
            Change::Shortened { from, to } => {
                write!(f, "the conversation was cut from {from} to {to} messages")
            }
            Change::MadeRoom => f.write_str("the conversation was compacted"),
            Change::Pause { seconds } => {
                write!(f, "it expired during a pause of {} min", seconds / 60)
            }
            Change::Unknown => f.write_str("nothing changed here; the provider did not keep it"),
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Broken { expected, read, change } = self;
        write!(f, "the prompt cache returned {read} tokens instead of {expected}: {change}")
    }
}

/// Compares an answered request with the one before it. `made_room`: the conversation was shortened on purpose between them.
pub fn watch(before: &SentRequest, now: &SentRequest, made_room: bool) -> Option<Broken> {
    let (expected, read) = (before.left(), now.usage.cache_read);
    if !is_loss(expected, read) {
        return None;
    }
    let change = changed(before, now).or_else(|| paused(before, now)).unwrap_or(Change::Unknown);
    let change = match change {
        Change::Message { .. } | Change::Shortened { .. } if made_room => Change::MadeRoom,
        change => change,
    };
    Some(Broken { expected, read, change })
}

/// More than a tenth, and worth a word.
pub(super) fn is_loss(expected: u64, read: u64) -> bool {
    let lost = expected.saturating_sub(read);
    lost >= SMALLEST_LOSS && lost * 10 > expected
}

/// How long the provider keeps what such a request left, in milliseconds.
pub(super) fn life(usage: &Usage) -> u64 {
    if usage.cache_write_1h > 0 { ONE_HOUR_MS } else { FIVE_MINUTES_MS }
}

fn changed(before: &SentRequest, now: &SentRequest) -> Option<Change> {
    if before.model != now.model {
        let (from, to) = (before.model.to_string(), now.model.to_string());
        return Some(Change::Model { from, to });
    }
    tools(&before.tools, &now.tools)
        .or_else(|| system(&before.system, &now.system))
        .or_else(|| (before.thinking != now.thinking).then_some(Change::Thinking))
        .or_else(|| messages(&before.view, &now.view))
}

fn tools(before: &SharedList<ToolSpec>, now: &SharedList<ToolSpec>) -> Option<Change> {
    let at = first_difference(before, now)?;
    let tool = now.get(at).or(before.get(at)).map(|spec| spec.name.clone()).unwrap_or_default();
    Some(Change::Tools { tool })
}

fn system(before: &SharedList<String>, now: &SharedList<String>) -> Option<Change> {
    first_difference(before, now).map(|at| Change::System { part: at + 1 })
}

fn first_difference<T: PartialEq>(before: &SharedList<T>, now: &SharedList<T>) -> Option<usize> {
    if before.is_same(now) {
        return None;
    }
    let same = before.iter().zip(now.iter()).take_while(|(a, b)| a == b).count();
    (same < before.len() || same < now.len()).then_some(same)
}

fn messages(before: &View, now: &View) -> Option<Change> {
    let (old, new) = (before.items(), now.items());
    let same = old
        .iter()
        .zip(new)
        .take_while(|(a, b)| Arc::ptr_eq(a, b) || a.message() == b.message())
        .count();
    match same {
        same if same == old.len() => None,
        same if same == new.len() => Some(Change::Shortened { from: old.len(), to: new.len() }),
        same => Some(Change::Message { n: same + 1, of: old.len() }),
    }
}

fn paused(before: &SentRequest, now: &SentRequest) -> Option<Change> {
    let pause = now.at.0.saturating_sub(before.at.0);
    (pause >= life(&before.usage)).then_some(Change::Pause { seconds: pause / 1000 })
}

#[cfg(test)]
#[path = "prefix_tests.rs"]
mod tests;
