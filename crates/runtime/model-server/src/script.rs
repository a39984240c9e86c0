//! What a script is. A reply = when it is due + what it holds + how it is delivered + how it breaks.

pub(crate) mod check;
mod file_shape;
mod yaml;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::billing::Prices;
use crate::record::Recorded;
use crate::request_match::Match;

/// The whole behaviour of one server.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The model name put into answers; `None` repeats the request's.
    pub model: Option<String>,
    pub usage: UsageRule,
    /// What a token costs, by the beginning of the model's name; empty takes usual prices for every model.
    pub prices: Vec<(String, Prices)>,
    pub rules: ServerRules,
    pub limits: ModelLimits,
    pub steps: Vec<ScriptStep>,
    pub on_end: OnEnd,
    /// Mistakes made while building in Rust; `start` reports the first.
    pub(crate) mistakes: Vec<String>,
}

/// How token counts are made.
#[derive(Debug, Clone)]
pub struct UsageRule {
    pub input_per_byte: f64,
    pub output_per_byte: f64,
    /// Simulate the prompt cache; off means every token is plain input.
    pub cache: bool,
    /// Prefixes with fewer tokens are not cached; `None` takes the model family's own minimum.
    pub cache_minimum: Option<u64>,
}

impl Default for UsageRule {
    fn default() -> Self {
        Self { input_per_byte: 0.25, output_per_byte: 0.25, cache: true, cache_minimum: None }
    }
}

/// Switches of the validation.
#[derive(Debug, Clone)]
pub struct ServerRules {
    /// Ask for `x-api-key` or a bearer token.
    pub auth: bool,
    /// Ask for `anthropic-version`.
    pub version: bool,
    /// Allow `role: system` messages right after a user turn.
    pub mid_system: bool,
    /// Refuse consecutive messages of one role instead of merging and counting them.
    pub alternate: bool,
    /// Refuse thinking that this server did not sign.
    pub signatures: bool,
    /// Refuse thinking that was signed for another model.
    pub signatures_per_model: bool,
    pub refuse_fields: Vec<String>,
    pub refuse_betas: Vec<String>,
    pub allow_fields: Vec<String>,
    /// Context window in tokens; longer prompts are refused.
    pub window: Option<u64>,
}

impl Default for ServerRules {
    fn default() -> Self {
        Self {
            auth: true,
            version: true,
            mid_system: false,
            alternate: false,
            signatures: true,
            signatures_per_model: false,
            refuse_fields: Vec::new(),
            refuse_betas: Vec::new(),
            allow_fields: Vec::new(),
            window: None,
        }
    }
}

/// The bounds of the server itself.
#[derive(Debug, Clone)]
pub struct ModelLimits {
    pub body_bytes: usize,
    pub connections: usize,
    /// The longest time one wait inside a reply (stall, gate, pause, a client that reads nothing) may last.
    pub hold: Duration,
    /// How long an idle connection is kept, and how long a request may take to arrive.
    pub idle: Duration,
    /// Bytes of recorded bodies that are kept; beyond it the oldest bodies are let go.
    pub record_bytes: usize,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            connections: 256,
            hold: Duration::from_secs(3600),
            idle: Duration::from_secs(300),
            record_bytes: 256 << 20,
        }
    }
}

/// What a request gets when no step is left for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OnEnd {
    /// A recorded refusal.
    #[default]
    Error,
    /// The last step that fits, again and again.
    RepeatLast,
    /// A plain text answer.
    Text(String),
}

#[derive(Debug, Clone)]
pub struct ScriptStep {
    /// The step serves only requests that fit; others pass it by.
    pub when: Match,
    /// A request that takes the step and does not fit is refused, and recorded as rejected.
    pub expect: Match,
    pub times: Times,
    pub source: ScriptSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Count(u32),
    Forever,
}

pub type Compute = Arc<dyn Fn(&Recorded) -> Reply + Send + Sync>;

#[derive(Clone)]
pub enum ScriptSource {
    Fixed(Box<Reply>),
    /// Runs on a thread of its own; it may block.
    Computed(Compute),
}

impl fmt::Debug for ScriptSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(reply) => f.debug_tuple("Fixed").field(reply).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Waited for before the first byte.
    pub due: Vec<Wait>,
    /// Added to the response headers.
    pub headers: Vec<(String, String)>,
    pub body: ReplyBody,
    pub delivery: ReplyDelivery,
    /// Parts put into the event stream at given points.
    pub insert: Vec<Insert>,
    pub cut: Option<Cut>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    Pause(Duration),
    Gate(String),
}

#[derive(Debug, Clone)]
pub enum ReplyBody {
    Answer(Box<ScriptedAnswer>),
    /// An error object; `None` takes the usual type or message of the status.
    Error {
        status: u16,
        kind: Option<String>,
        message: Option<String>,
    },
    Http {
        status: u16,
        content_type: String,
        bytes: Bytes,
    },
    /// Verbatim bytes of the whole response; the connection closes after them.
    Raw(Bytes),
}

impl Default for ReplyBody {
    fn default() -> Self {
        Self::Answer(Box::default())
    }
}

#[derive(Debug, Clone)]
pub struct ScriptedAnswer {
    pub parts: Vec<Part>,
    /// Whether `message_start`, `message_delta` and `message_stop` are added around the parts.
    pub envelope: bool,
    pub stop: ScriptedStop,
    pub stop_sequence: Option<String>,
    pub stop_details: Option<Value>,
    pub usage: UsageNumbers,
}

impl Default for ScriptedAnswer {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            envelope: true,
            stop: ScriptedStop::ByContent,
            stop_sequence: None,
            stop_details: None,
            usage: UsageNumbers::default(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ScriptedStop {
    /// `tool_use` if there is a call, else `end_turn`.
    #[default]
    ByContent,
    /// This word, or JSON null.
    Is(Option<String>),
}

/// Usage numbers that replace the computed ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageNumbers {
    pub input_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

/// One element of an answer: a content block, or something between blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(String),
    /// `None` signs with the server's own signature.
    Thinking {
        text: String,
        signature: Option<String>,
    },
    Redacted(String),
    Tool {
        name: String,
        input: ToolInput,
        id: Option<String>,
    },
    /// A content block of any kind, with the deltas that follow its start.
    Block {
        block: Value,
        deltas: Vec<Value>,
    },
    /// An event of any kind. Without data the usual data of that event is sent.
    Event {
        name: String,
        data: Option<Value>,
    },
    Comment(String),
    Raw(Bytes),
    Wait(Wait),
    /// Generated bytes that are never held in memory.
    Flood {
        bytes: u64,
        kind: FloodKind,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    Json(Value),
    /// Sent as it is; need not be JSON.
    Raw(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloodKind {
    /// A text block with one delta of that size.
    Text,
    /// A `data:` line of that size that does not end.
    Line,
}

#[derive(Debug, Clone, Default)]
pub struct ReplyDelivery {
    /// Time between events; each event then has a write of its own.
    pub pace: Option<Duration>,
    /// Bytes per write; each write is an HTTP chunk of its own, so a client meets every border.
    pub chunk: Option<usize>,
    /// Characters per delta; without it a block is cut into at most eight.
    pub delta: Option<usize>,
    pub framing: Framing,
}

/// How an event is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    pub newline: Newline,
    /// The blank after `event:` and `data:`.
    pub space: bool,
    /// Spread the JSON of an event over several `data:` lines.
    pub split_data: bool,
    /// Add `id:`, `retry:` and an unknown field to each event.
    pub extra_fields: bool,
    pub bom: bool,
}

impl Default for Framing {
    fn default() -> Self {
        Self {
            newline: Newline::Lf,
            space: true,
            split_data: false,
            extra_fields: false,
            bom: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Newline {
    Lf,
    Crlf,
    Cr,
}

/// A point in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Point {
    /// The request has been read; nothing has been sent.
    Request,
    /// The response head has been sent.
    Headers,
    /// An event of that name has been sent.
    Event(String),
    /// The whole response has been sent.
    End,
}

impl From<&str> for Point {
    fn from(name: &str) -> Self {
        match name {
            "request" => Self::Request,
            "headers" => Self::Headers,
            "end" => Self::End,
            event => Self::Event(event.into()),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::Headers => "headers",
            Self::Event(name) => name,
            Self::End => "end",
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub after: Point,
    /// Which event of that name, from 1.
    pub nth: u32,
    pub part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub after: Point,
    /// Which event of that name, from 1.
    pub nth: u32,
    /// Bytes of what follows that are still sent.
    pub bytes: usize,
    pub how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The body ends properly, too early.
    End,
    /// The connection is closed inside the body.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing more is sent; the connection stays open.
    Stall,
    /// Nothing but `ping` events, one per interval.
    Ping(Duration),
    /// Nothing but comment lines, one per interval.
    Comment(Duration),
}
