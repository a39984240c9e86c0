//! A message, the tools or the system prompt as wire bytes. Each is made once and then only sliced.

use bytes::Bytes;
use ostler_core::late_tools::as_said;
use ostler_core::message::{Block, Image, Message, ResultPart};
use ostler_core::tool::ToolSpec;
use ostler_core::tool_facts::ToolKind;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ops::Range;

/// What an image costs at most, whatever the length of its data.
const IMAGE_TOKENS: u64 = 1_600;
const LONGEST_NAME: usize = 128;

/// The blocks of one message, joined by commas, with the place of each.
#[derive(Debug, Default)]
pub struct Rendered {
    pub bytes: Bytes,
    pub blocks: Vec<RenderedSpan>,
    pub assistant: bool,
    pub weight: Weight,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedSpan {
    pub range: Range<usize>,
    /// Replayed only to the model that thought it.
    pub thinking: bool,
    /// Whether a cache mark may stand on it.
    pub cacheable: bool,
}

/// What counts towards the prompt: text by its bytes, images by the piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    pub bytes: u64,
    pub images: u64,
}

impl Weight {
    pub fn add(&mut self, other: Weight) {
        self.bytes += other.bytes;
        self.images += other.images;
    }

    pub fn tokens(&self, bytes_per_token: f64) -> u64 {
        (self.bytes as f64 / bytes_per_token).ceil() as u64 + self.images * IMAGE_TOKENS
    }
}

pub fn message(message: &Message) -> Rendered {
    let mut list = WireList::default();
    for block in message.blocks() {
        if let Some(wire) = wire(block) {
            let cacheable = !block.is_thinking() && !block.is_empty();
            list.push(&wire, block.is_thinking(), cacheable);
        }
    }
    let weight = weigh(message, list.bytes.len() as u64);
    Rendered {
        bytes: list.bytes.into(),
        blocks: list.blocks,
        assistant: message.is_assistant(),
        weight,
    }
}

fn weigh(message: &Message, rendered: u64) -> Weight {
    let mut weight = Weight { bytes: rendered, images: 0 };
    let mut image = |image: &Image| {
        weight.images += 1;
        weight.bytes = weight.bytes.saturating_sub(image.data.len() as u64);
    };
    for block in message.blocks() {
        match block {
            Block::Image(one) => image(one),
            Block::ToolResult { content, .. } => content.iter().for_each(|part| {
                if let ResultPart::Image(one) = part {
                    image(one);
                }
            }),
            _ => {}
        }
    }
    weight
}

pub fn tools(tools: &[ToolSpec]) -> Bytes {
    let mut list = WireList::default();
    for tool in tools {
        match tool.facts.kind {
            ToolKind::Provided => list.push(&provided(tool), false, true),
            _ => list.push(tool, false, true),
        }
    }
    list.bytes.into()
}

/// The provider's own web search.
fn provided(tool: &ToolSpec) -> Value {
    let mut wire = json!({"type": "web_search_20250305", "name": tool.name});
    let options = tool.input_schema.as_object().into_iter().flatten();
    if let Some(wire) = wire.as_object_mut() {
        wire.extend(options.map(|(name, value)| (name.clone(), value.clone())));
    }
    wire
}

pub fn system(parts: &[String]) -> Bytes {
    let mut list = WireList::default();
    // An empty text block is refused by the API.
    for text in parts.iter().filter(|text| !text.trim().is_empty()) {
        list.push(&WireMessage::Text { text }, false, true);
    }
    list.bytes.into()
}

#[derive(Default)]
struct WireList {
    bytes: Vec<u8>,
    blocks: Vec<RenderedSpan>,
}

impl WireList {
    fn push(&mut self, value: &impl Serialize, thinking: bool, cacheable: bool) {
        let before = self.bytes.len();
        if before > 0 {
            self.bytes.push(b',');
        }
        let start = self.bytes.len();
        match serde_json::to_writer(&mut self.bytes, value) {
            Ok(()) => self.blocks.push(RenderedSpan {
                range: start..self.bytes.len(),
                thinking,
                cacheable,
            }),
            Err(_) => self.bytes.truncate(before),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireMessage<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    Image {
        source: WireSource<'a>,
    },
    ToolUse {
        id: &'a str,
        name: String,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: WireContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct WireSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    One(&'a str),
    Many(Vec<WireMessage<'a>>),
}

/// None for what cannot be sent: thinking without its signature is refused by the API, parts of others are unknown to it.
fn wire(block: &Block) -> Option<WireMessage<'_>> {
    Some(match block {
        Block::Text { text, .. } => WireMessage::Text { text },
        Block::Thinking { text, signature } => {
            WireMessage::Thinking { thinking: text, signature: signature.as_deref()? }
        }
        Block::Redacted { data } => WireMessage::RedactedThinking { data },
        // This protocol writes none.
        Block::Provider(_) => return None,
        Block::Image(image) => wire_image(image),
        Block::ToolUse { id, name, input, via } => {
            let (name, input) = as_said(name, object(input), via.as_deref());
            WireMessage::ToolUse { id: id.as_str(), name: sendable_name(name), input }
        }
        Block::ToolResult { id, content, is_error } => WireMessage::ToolResult {
            tool_use_id: id.as_str(),
            content: result(content),
            is_error: *is_error,
        },
    })
}

fn wire_image(image: &Image) -> WireMessage<'_> {
    WireMessage::Image {
        source: WireSource { r#type: "base64", media_type: &image.media, data: &image.data },
    }
}

/// A plain string may be empty, a text block in a list may not.
fn result(parts: &[ResultPart]) -> WireContent<'_> {
    match parts {
        [] => WireContent::One(""),
        [ResultPart::Text { text }] => WireContent::One(text),
        parts => WireContent::Many(parts.iter().filter_map(result_part).collect()),
    }
}

fn result_part(part: &ResultPart) -> Option<WireMessage<'_>> {
    match part {
        ResultPart::Text { text } => {
            (!text.trim().is_empty()).then_some(WireMessage::Text { text })
        }
        ResultPart::Image(image) => Some(wire_image(image)),
    }
}

/// A model may make up a tool's name; replaying it must not make the request invalid.
fn sendable_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name: String =
        name.chars().take(LONGEST_NAME).map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() { "unnamed".into() } else { name }
}

fn object(input: &Value) -> &Value {
    static EMPTY: std::sync::LazyLock<Value> =
        std::sync::LazyLock::new(|| Value::Object(Default::default()));
    if input.is_object() { input } else { &EMPTY }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
