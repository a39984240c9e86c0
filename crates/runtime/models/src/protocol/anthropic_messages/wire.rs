//! The provider's events as they are written. Everything is optional: a field that is missing or null is no reason
//! to lose an answer.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub struct WireEventKind {
    pub r#type: Option<String>,
}

#[derive(Default, Deserialize)]
pub struct MessageStart {
    #[serde(default)]
    pub message: Option<StartedMessage>,
}

#[derive(Default, Deserialize)]
pub struct StartedMessage {
    pub id: Option<String>,
    pub usage: Option<Value>,
}

/// Blocks and deltas are read by their type: one we do not know may have fields of any shape.
#[derive(Deserialize)]
pub struct BlockStart<'a> {
    pub index: u64,
    #[serde(borrow)]
    pub content_block: &'a RawValue,
}

#[derive(Default, Deserialize)]
pub struct WireBlock {
    pub r#type: String,
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
    pub data: Option<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub input: Option<Value>,
    pub content: Option<Value>,
}

#[derive(Deserialize)]
pub struct BlockDelta<'a> {
    pub index: u64,
    #[serde(borrow)]
    pub delta: &'a RawValue,
}

#[derive(Default, Deserialize)]
pub struct Delta {
    pub r#type: String,
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
    pub partial_json: Option<String>,
}

#[derive(Deserialize)]
pub struct BlockStop {
    pub index: u64,
}

#[derive(Default, Deserialize)]
pub struct MessageDelta {
    #[serde(default)]
    pub delta: Option<StopDelta>,
    pub usage: Option<Value>,
}

#[derive(Default, Deserialize)]
pub struct StopDelta {
    pub stop_reason: Option<String>,
    pub stop_details: Option<StopDetails>,
}

#[derive(Default, Deserialize)]
pub struct StopDetails {
    pub category: Option<String>,
    pub explanation: Option<String>,
}

#[derive(Deserialize)]
pub struct ErrorEvent {
    pub error: Option<WireError>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct WireError {
    #[serde(default)]
    pub r#type: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
}
