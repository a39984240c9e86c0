//! The shape of a script file, key by key. Conversion and its checks are in `yaml`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::{FloodKind, Newline, UsageNumbers};
use crate::request_match::Match;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawScript {
    pub model: Option<String>,
    #[serde(default)]
    pub usage: RawUsage,
    #[serde(default)]
    pub prices: BTreeMap<String, RawPrices>,
    #[serde(default)]
    pub rules: RawRules,
    #[serde(default)]
    pub limits: RawLimits,
    pub steps: Vec<Spanned<RawStep>>,
    pub on_end: Option<Spanned<Value>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUsage {
    pub input_per_byte: Option<f64>,
    pub output_per_byte: Option<f64>,
    pub cache: Option<bool>,
    pub cache_minimum: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPrices {
    pub input: f64,
    pub output: f64,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
    pub cache_read: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRules {
    pub auth: Option<bool>,
    pub version: Option<bool>,
    pub mid_system: Option<bool>,
    pub alternate: Option<bool>,
    pub signatures: Option<bool>,
    pub signatures_per_model: Option<bool>,
    #[serde(default)]
    pub refuse_fields: Vec<String>,
    #[serde(default)]
    pub refuse_betas: Vec<String>,
    #[serde(default)]
    pub allow_fields: Vec<String>,
    pub window: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub body_bytes: Option<usize>,
    pub connections: Option<usize>,
    pub hold_ms: Option<u64>,
    pub idle_ms: Option<u64>,
    pub record_bytes: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    // Selection.
    #[serde(default)]
    pub when: Match,
    #[serde(default)]
    pub expect: Match,
    pub times: Option<u32>,
    #[serde(default)]
    pub forever: bool,
    // When it is due.
    pub delay_ms: Option<u64>,
    pub gate: Option<String>,
    // What it holds.
    #[serde(default, deserialize_with = "thinking")]
    pub think: Option<RawThinking>,
    pub say: Option<String>,
    pub calls: Option<Vec<Spanned<RawPart>>>,
    pub blocks: Option<Vec<Spanned<RawPart>>>,
    pub events: Option<Vec<Spanned<RawPart>>>,
    #[serde(default, deserialize_with = "given")]
    pub stop: Option<Option<String>>,
    pub stop_sequence: Option<String>,
    pub stop_details: Option<Value>,
    pub usage: Option<UsageNumbers>,
    pub status: Option<u16>,
    pub error: Option<RawError>,
    pub body: Option<String>,
    pub json: Option<Value>,
    pub content_type: Option<String>,
    pub redirect: Option<RawRedirect>,
    pub raw: Option<String>,
    pub raw_hex: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    // How it is delivered.
    pub pace_ms: Option<u64>,
    pub chunk: Option<usize>,
    pub delta: Option<usize>,
    pub framing: Option<RawFraming>,
    // How it breaks.
    #[serde(default)]
    pub insert: Vec<Spanned<RawPart>>,
    pub error_event: Option<RawErrorEvent>,
    pub cut: Option<Spanned<RawCut>>,
}

/// A part, the place to insert it, and how often.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPart {
    pub text: Option<String>,
    pub think: Option<String>,
    pub signature: Option<String>,
    pub redacted: Option<String>,
    pub tool: Option<String>,
    pub input: Option<Map<String, Value>>,
    pub input_raw: Option<String>,
    pub id: Option<String>,
    pub block: Option<Value>,
    pub deltas: Option<Vec<Value>>,
    pub event: Option<String>,
    pub data: Option<Value>,
    pub ping: Option<u32>,
    pub every_ms: Option<u64>,
    pub comment: Option<String>,
    pub raw: Option<String>,
    pub raw_hex: Option<String>,
    pub pause_ms: Option<u64>,
    pub gate: Option<String>,
    pub flood: Option<RawFlood>,
    pub times: Option<u32>,
    pub after: Option<String>,
    pub nth: Option<u32>,
}

/// `think: text`, or a map when the signature matters or the thinking is redacted.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawThinking {
    pub text: Option<String>,
    pub signature: Option<String>,
    pub redacted: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFlood {
    pub bytes: u64,
    #[serde(rename = "as")]
    pub kind: FloodKind,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawError {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRedirect {
    pub status: u16,
    pub to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFraming {
    pub newline: Option<Newline>,
    pub space: Option<bool>,
    pub split_data: Option<bool>,
    pub extra_fields: Option<bool>,
    pub bom: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawErrorEvent {
    #[serde(rename = "type")]
    pub kind: String,
    pub message: Option<String>,
    pub after: Option<String>,
    pub nth: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCut {
    pub after: String,
    pub nth: Option<u32>,
    #[serde(default)]
    pub bytes: usize,
    pub how: RawHow,
    pub every_ms: Option<u64>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawHow {
    End,
    Close,
    Reset,
    Stall,
    Ping,
    Comment,
}

/// Tells `stop: null` from no `stop` at all.
fn given<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(source).map(Some)
}

/// Not an untagged enum: that would lose the name and the line of an unknown key.
fn thinking<'de, D: Deserializer<'de>>(source: D) -> Result<Option<RawThinking>, D::Error> {
    struct TextOrMap;
    impl<'de> Visitor<'de> for TextOrMap {
        type Value = RawThinking;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text, or a map of text, signature and redacted")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RawThinking, E> {
            Ok(RawThinking { text: Some(text.into()), ..RawThinking::default() })
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawThinking, A::Error> {
            RawThinking::deserialize(MapAccessDeserializer::new(map))
        }
    }
    source.deserialize_any(TextOrMap).map(Some)
}
