//! What the server remembers of each request.

use std::sync::OnceLock;
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;

/// Request headers in the order of arrival. Names compare without case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub(crate) Vec<(String, String)>);

impl Headers {
    /// The first header of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestVerdict {
    Accepted,
    /// Refused by the validation, an `expect`, or the end of the script; never by a scripted error.
    Refused {
        status: u16,
        message: String,
    },
}

/// How the delivery of a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedOutcome {
    /// Sent to the last byte.
    Delivered,
    /// Broken off as the script wanted.
    Broken,
    /// The client closed the connection first.
    ClientGone,
    /// A wait inside the reply reached the server's limit.
    GaveUp,
}

#[derive(Debug, Clone)]
pub struct Recorded {
    /// Counts all requests of this server from 0.
    pub number: usize,
    /// Counts connections from 0; two requests with one number shared it.
    pub connection: u64,
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    pub headers: Headers,
    /// Empty once the record limit let it go; see `body_dropped`.
    pub body: Bytes,
    pub body_dropped: bool,
    pub arrived: Instant,
    pub verdict: RequestVerdict,
    /// Index of the step that answered, from 0.
    pub step: Option<usize>,
    pub(crate) parsed: OnceLock<Value>,
}

impl Recorded {
    /// The body as JSON; null if it is none. Parsed when first asked for.
    pub fn json(&self) -> &Value {
        self.parsed.get_or_init(|| serde_json::from_slice(&self.body).unwrap_or_default())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    pub fn model(&self) -> &str {
        self.json().get("model").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the request asked for a stream.
    pub fn streams(&self) -> bool {
        self.json().get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn messages(&self) -> &[Value] {
        self.json().get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The tool results of the last message.
    pub fn tool_results(&self) -> Vec<&Value> {
        let content = self.messages().last().and_then(|message| message.get("content"));
        let blocks = content.and_then(Value::as_array).into_iter().flatten();
        blocks
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_result"))
            .collect()
    }

    pub(crate) fn is_message(&self) -> bool {
        self.method == "POST" && route(&self.path) == Route::Messages
    }

    pub(crate) fn without_body(&self) -> Self {
        Self { body: Bytes::new(), body_dropped: true, parsed: OnceLock::new(), ..self.clone() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Root,
    Messages,
    CountTokens,
    Unknown,
}

pub(crate) fn route(target: &str) -> Route {
    match target.split('?').next().unwrap_or_default() {
        "/" => Route::Root,
        "/v1/messages" => Route::Messages,
        "/v1/messages/count_tokens" => Route::CountTokens,
        _ => Route::Unknown,
    }
}
