//! Requests to a model and what comes back, independent of the provider.

use crate::event::AgentPath;
use crate::ids::{CallId, ModelId};
use crate::ledger::Purpose;
use crate::ledger::Usage;
use crate::message::Block;
use crate::rendering::SharedList;
use crate::tool::ToolSpec;
use crate::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;

/// One request. Everything before `view` stays the same through a session, so that its bytes do too.
#[derive(Clone, Debug)]
pub struct Request {
    pub model: ModelId,
    /// Parts of the system prompt, from never-changing to rarely changing.
    pub system: SharedList<String>,
    pub tools: SharedList<ToolSpec>,
    pub view: View,
    pub max_output: u32,
    pub thinking: Thinking,
    /// How often the request may be tried again before its first event.
    pub retries: u32,
    /// Fewer, for failures that another model may help with, while one is waiting to take over.
    pub retries_before_fallback: Option<u32>,
    /// Pass the provider's own events through as [`ModelEvent::Raw`].
    pub raw_events: bool,
    /// What it is for. Nothing of it is part of the prompt.
    pub source: Purpose,
    /// Who asks.
    pub agent: AgentPath,
}

impl Request {
    pub fn retries_for(&self, kind: ModelErrorKind) -> u32 {
        match self.retries_before_fallback {
            Some(fewer) if kind.another_model_may_help() => fewer.min(self.retries),
            _ => self.retries,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// As the model's entry in the provider table says.
    #[default]
    Auto,
    Disabled,
    Adaptive,
    /// A fixed budget, added to the output limit.
    Budget(u32),
}

/// How hard a model tries, for models that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    pub fn name(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max]
            .into_iter()
            .find(|effort| effort.name() == name)
    }
}

/// What a model's stream says, in order. `Block` and `Cut` come when a block is complete, before later deltas.
#[derive(Clone, Debug)]
pub enum ModelEvent {
    /// A try failed before anything arrived; the next one starts after `wait`.
    Retrying(Retry),
    Started {
        message_id: String,
        request_id: Option<String>,
        usage: Usage,
    },
    Text(String),
    Thinking(String),
    Block(Block),
    /// A call whose input is not a JSON object: cut off by the output limit, or malformed.
    Cut {
        id: CallId,
        name: String,
        raw: String,
    },
    /// The answer is complete; nothing follows.
    Ended {
        stop: StopReason,
        usage: Usage,
    },
    Raw(Box<RawValue>),
    /// Something worth a line for the reader, e.g. a field the provider refused and that was left out.
    Note(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    pub attempt: u32,
    pub of: u32,
    #[serde(rename = "wait_ms", with = "crate::time::millis")]
    #[schemars(with = "u64")]
    pub wait: Duration,
    pub status: Option<u16>,
    pub kind: ModelErrorKind,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    PauseTurn,
    Refusal {
        category: Option<String>,
        explanation: Option<String>,
    },
    WindowExceeded,
    /// A reason we do not know, as the provider spelled it; empty when it gave none.
    Other(String),
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    pub message: String,
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
    pub limits: ProviderLimits,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        let limits = ProviderLimits::default();
        ModelError { kind, message: message.into(), status: None, retry_after: None, limits }
    }
}

/// Token counts that a provider stated when it rejected a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// What the prompt has.
    pub prompt: Option<u64>,
    /// What prompt and answer may have together.
    pub window: Option<u64>,
    /// What one answer may have.
    pub max_output: Option<u64>,
}

/// The machine decides by the kind alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    ContextOverflow,
    RateLimited,
    Overloaded,
    Unavailable,
    Auth,
    ModelNotFound,
    BadRequest,
    BadImage,
    BadThinking,
    Protocol,
}

impl ModelErrorKind {
    pub fn name(self) -> &'static str {
        match self {
            ModelErrorKind::ContextOverflow => "context_overflow",
            ModelErrorKind::RateLimited => "rate_limited",
            ModelErrorKind::Overloaded => "overloaded",
            ModelErrorKind::Unavailable => "unavailable",
            ModelErrorKind::Auth => "auth",
            ModelErrorKind::ModelNotFound => "model_not_found",
            ModelErrorKind::BadRequest => "bad_request",
            ModelErrorKind::BadImage => "bad_image",
            ModelErrorKind::BadThinking => "bad_thinking",
            ModelErrorKind::Protocol => "protocol",
        }
    }

    /// The request itself is at fault: sent again unchanged, it fails again.
    pub fn is_fault_of_request(self) -> bool {
        matches!(
            self,
            ModelErrorKind::ContextOverflow
                | ModelErrorKind::BadImage
                | ModelErrorKind::BadThinking
        )
    }

    /// Another model may succeed where this one failed.
    pub fn another_model_may_help(self) -> bool {
        matches!(
            self,
            ModelErrorKind::Overloaded
                | ModelErrorKind::Unavailable
                | ModelErrorKind::ModelNotFound
        )
    }
}
