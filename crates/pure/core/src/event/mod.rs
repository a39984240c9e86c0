//! What a reader of a session sees, live: a protocol that can be stored, sent and replayed. Events may be lost; entries
//! of the log are not.
//!
//! The engine yields [`Event`]s. Whoever owns the session puts each into an [`Envelope`], and every surface reads
//! envelopes. Nothing a surface has to act on is in prose: calls carry their outcome and the decision about them,
//! notices carry a code and its data, and [`words`] turns both into sentences.

mod call_outcome;
mod control;
mod envelope;
mod notice;
mod turn_end;
pub mod words;

pub use call_outcome::{CallOutcome, NotRun};
pub use control::{Control, SessionRules};
pub use envelope::{AgentPath, Envelope, VERSION};
pub use notice::{Level, NotCompacted, Notice};
pub use turn_end::{Denial, Finished, ModelUsage};

use crate::context::{Receipt, Trigger};
use crate::ids::{CallId, InboundId, ModelId, QuestionId};
use crate::inbox::QueuedItem;
use crate::ledger::{Purpose, Usage};
use crate::memory::MemoryChange;
use crate::message::Block;
use crate::model::{Retry, StopReason};
use crate::permission::Decision;
use crate::question::{Question, QuestionEnd};
use crate::teammate::TeammateStatus;
use crate::todo::Plan;
use crate::turn::Continue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Closed: a reader in this program matches all of it. On the wire it is open: new kinds and new fields may be added.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    TurnStarted {
        turn: u32,
    },
    /// A request is about to be sent.
    IterationStarted {
        n: u32,
        model: ModelId,
        why: Option<Continue>,
        /// The model's context window, in tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    Retrying(Retry),
    AnswerStarted {
        message_id: String,
        request_id: Option<String>,
        model: ModelId,
        usage: Usage,
    },
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    BlockFinished {
        block: Block,
    },
    /// The answer is complete and on disk.
    AnswerSealed {
        usage: Usage,
        cost: Option<f64>,
        /// What the prompt cache saved, in dollars; below zero where it was only written.
        #[serde(default)]
        cache_saved: Option<f64>,
        stop: Option<StopReason>,
        /// What the request was for; left out for an ordinary one.
        #[serde(default, skip_serializing_if = "Purpose::is_answer")]
        source: Purpose,
    },
    /// The answer was discarded: readers remove what they displayed of it.
    AnswerDropped,
    Went(Continue),
    /// A prompt did not start a turn, because it asks for a skill that does not exist.
    PromptRefused {
        why: String,
    },
    /// The turn's driver was dropped. Everything the turn had started is stopped; the log shows how far it got.
    TurnAbandoned,
    /// Something arrived for the session and waits to be delivered.
    Queued(QueuedItem),
    /// These items are part of the conversation now.
    Delivered {
        ids: Vec<InboundId>,
    },
    /// These items will not be delivered.
    Dequeued {
        ids: Vec<InboundId>,
    },
    /// A person has to decide about a call.
    CallAsked {
        id: CallId,
        name: String,
        decision: Box<Decision>,
        /// What is answered; streams of earlier versions do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Box<Question>>,
    },
    /// A question is over, and who ended it.
    QuestionClosed {
        id: QuestionId,
        #[serde(flatten)]
        end: QuestionEnd,
    },
    /// The mode, the model, the thinking or the session's rules changed: all of them, as they are now.
    ControlChanged(Control),
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
        outcome: CallOutcome,
        /// None where there was nothing to decide, e.g. about an unknown tool.
        decision: Option<Box<Decision>>,
        result: Block,
        /// What a person reads instead of the result, where that has marks or hints that only the model needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
        detail: Option<Value>,
        /// How long the tool itself ran; none if it did not.
        took_ms: Option<u64>,
        /// What ran instead of what the model wrote, if a person or a hook changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Box<Value>>,
    },
    /// The plan changed: all of it, as it is now.
    Plan(Arc<Plan>),
    /// The conversation is about to be summarized.
    Compacting {
        trigger: Trigger,
    },
    /// It was, and that is on disk.
    Compacted {
        receipt: Box<Receipt>,
    },
    /// The model gets this text as if the user had said it: the summary, or why a hook does not let the turn end.
    MessageAdded {
        text: String,
    },
    /// What a teammate is doing in its team. The envelope names it.
    TeammateChanged(TeammateStatus),
    /// Memory saved something or forgot it.
    MemoryChanged(MemoryChange),
    Notice {
        level: Level,
        notice: Notice,
    },
    Finished(Box<Finished>),
    /// The session is closed; no event follows.
    Closed {
        reason: String,
    },
    /// The provider's own event, for a driver that asked for it. Not part of the protocol: it cannot be serialized.
    #[serde(skip)]
    #[schemars(skip)]
    Raw(Box<RawValue>),
    /// An event of a newer version, or one with a value that this version does not know, as it came.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Value),
}

impl Event {
    pub fn notice(notice: Notice) -> Self {
        Event::Notice { level: notice.level(), notice }
    }
}

/// The schema of an [`Envelope`].
pub fn schema() -> Value {
    schemars::schema_for!(Envelope).to_value()
}

#[cfg(test)]
#[path = "round_trip_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "strategies_tests.rs"]
pub(crate) mod strategies;
