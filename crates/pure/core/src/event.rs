//! What a reader of a turn sees, live. Closed: a reader matches all of it. Events may be lost; entries are not.

use crate::context::{Receipt, Trigger};
use crate::ids::{CallId, ModelId, SessionId};
use crate::ledger::{Left, Usage};
use crate::message::Block;
use crate::model::{Retry, StopReason};
use crate::todo::Plan;
use crate::turn::{Continue, Terminal};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Event {
    TurnStarted {
        session: SessionId,
        turn: u32,
    },
    /// A request is about to be sent.
    IterationStarted {
        n: u32,
        model: ModelId,
        why: Option<Continue>,
    },
    Retrying(Retry),
    AnswerStarted {
        message_id: String,
        request_id: Option<String>,
        model: ModelId,
        usage: Usage,
    },
    TextDelta(String),
    ThinkingDelta(String),
    BlockFinished {
        block: Block,
    },
    /// The answer is complete and on disk.
    AnswerSealed {
        usage: Usage,
        cost: Option<f64>,
        stop: Option<StopReason>,
    },
    /// The answer was thrown away: the reader erases what it drew of it.
    AnswerDropped,
    Went(Continue),
    /// Who asks, for what, and why; the approver answers, not the reader.
    CallAsked {
        id: CallId,
        name: String,
        why: String,
    },
    CallStarted {
        id: CallId,
        name: String,
        input: Value,
    },
    /// The newest output of a running call; earlier tails are replaced, not repeated.
    CallProgress {
        id: CallId,
        tail: String,
    },
    CallFinished {
        id: CallId,
        name: String,
        result: Block,
        detail: Option<Value>,
        denied: bool,
    },
    /// The plan changed: all of it, as it is now.
    Plan(Arc<Plan>),
    /// The conversation is about to be summed up.
    Compacting {
        trigger: Trigger,
    },
    /// It was, and that is on disk.
    Compacted {
        receipt: Box<Receipt>,
    },
    /// The provider's own event, for readers that asked for it.
    Raw(Box<RawValue>),
    Notice {
        level: Level,
        text: String,
    },
    Finished(Finished),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// How a turn ended, with everything a caller needs to report it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    pub terminal: Terminal,
    /// The last answer's text.
    pub text: String,
    /// What failed, in one line, when something did.
    pub error: Option<String>,
    pub error_status: Option<u16>,
    pub stop: Option<StopReason>,
    pub iterations: u32,
    pub usage: Usage,
    pub per_model: Vec<ModelUsage>,
    pub cost: Option<f64>,
    pub denials: Vec<Denial>,
    /// Calls that ran, whatever they gave back.
    pub calls_run: u32,
    pub api_time_ms: u64,
    /// How the budgets stand, if there are any.
    pub budgets: Vec<Left>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelUsage {
    pub model: ModelId,
    pub usage: Usage,
    pub cost: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Denial {
    pub id: CallId,
    pub name: String,
    pub input: Value,
}
