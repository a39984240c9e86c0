//! Wire protocols, one directory each, behind one trait. Pure: requests become bytes, bytes become events, refusals
//! become kinds, limits and remedies; nothing here waits, sends or reads a clock.

pub mod anthropic_messages;
mod body;
mod refused_features;

pub use body::Body;
pub use bytes::Bytes;
pub use http::HeaderMap;
pub use refused_features::{Feature, RefusedFeatures, Remedy, SentFeatures};

use crate::capabilities::Capabilities;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, ProviderLimits, Request};
use std::sync::Arc;
use std::time::Duration;

/// One wire format. What differs between two providers that speak it is data: see [`crate::Provider`].
pub trait Protocol: Send + Sync {
    /// As the provider table spells it; also the name of its renderings.
    fn name(&self) -> &'static str;

    /// The media type of an answer. A reply of another type is a refusal.
    fn media_type(&self) -> &'static str;

    /// What a provider may not know and a request can do without.
    fn features(&self) -> Vec<Feature>;

    /// The request as bytes. A message, the tools and the system prompt are rendered once and then shared, so that a
    /// request costs no copy of the history.
    fn call(
        &self,
        request: &Request,
        capabilities: &Capabilities,
        refused: &RefusedFeatures,
    ) -> ProtocolCall;

    /// Reads one answer. `headers` are those of the reply.
    fn reader(&self, request: &Request, headers: &HeaderMap) -> Box<dyn AnswerReader>;

    /// What a reply that is no answer means. The status may be a success.
    fn classify(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Refusal;

    /// How to ask for less, so that what was refused may be accepted. What changes the conversation itself, such as an
    /// image that cannot be read, is no remedy but a kind of error: the turn decides about it and records it.
    fn remedy(&self, refusal: &Refusal, sent: &SentFeatures) -> Option<Remedy>;

    /// The size of the prompt in tokens, roughly.
    fn weigh(&self, request: &Request, capabilities: &Capabilities) -> u64;
}

/// The protocol that a provider names.
pub fn named(name: &str) -> Option<Arc<dyn Protocol>> {
    let all: [Arc<dyn Protocol>; 1] = [Arc::new(anthropic_messages::AnthropicMessages)];
    all.into_iter().find(|protocol| protocol.name() == name)
}

/// One request on the wire.
#[derive(Debug)]
pub struct ProtocolCall {
    /// Follows the provider's base URL; begins with a slash.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Body,
    pub sent: SentFeatures,
}

/// Bytes → events. However the bytes are cut, the events are the same.
pub trait AnswerReader: Send {
    /// Adds the events that these bytes complete, also those before a failure. What follows the end is ignored.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The body is over. An answer without its end is an error, never a short success.
    fn end(&self) -> Result<(), ModelError>;

    /// Whether the answer has begun: from here on a failure is no longer retried by us.
    fn is_started(&self) -> bool;

    fn is_ended(&self) -> bool;

    /// Whether the bytes that were pushed last belong to an event; comments and blank lines do not.
    fn is_alive(&self) -> bool;
}

/// A reply that is no answer, understood as far as it can be.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub status: u16,
    pub kind: ModelErrorKind,
    /// One line without markup, possibly empty.
    pub words: String,
    /// The body is an error of this protocol, not something else that a gateway sent.
    pub is_error: bool,
    pub retry: RetryAdvice,
    pub limits: ProviderLimits,
}

/// What the provider thinks of asking again, besides the standard `retry-after` header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryAdvice {
    pub after: Option<Duration>,
    pub worthwhile: Option<bool>,
}
