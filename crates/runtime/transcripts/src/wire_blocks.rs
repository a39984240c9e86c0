//! Blocks as the Messages API writes them, read from a transcript.

use crate::conversation::LeftOut;
use crate::foreign_text::{self, CallNames};
use ostler_core::message::{Block, Image, ResultPart};
use serde_json::Value;

/// Turns the content of messages into blocks.
#[derive(Default)]
pub(crate) struct BlockReader {
    pub names: CallNames,
    pub left_out: LeftOut,
}

impl BlockReader {
    /// A text, or a list of blocks.
    pub fn content(&mut self, content: Option<&Value>) -> Vec<Block> {
        match content {
            Some(Value::String(text)) => vec![Block::text(text.as_str())],
            Some(Value::Array(blocks)) => {
                blocks.iter().filter_map(|block| self.block(block)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn block(&mut self, block: &Value) -> Option<Block> {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        let kind = text("type").unwrap_or("block without a type");
        let read = match kind {
            "text" => text("text").map(Block::text),
            "thinking" => text("thinking").map(|thought| Block::Thinking {
                text: thought.to_owned(),
                signature: text("signature").filter(|it| !it.is_empty()).map(str::to_owned),
            }),
            "redacted_thinking" => {
                text("data").map(|data| Block::Redacted { data: data.to_owned() })
            }
            "tool_use" => text("id").map(|id| Block::ToolUse {
                id: self.names.of(id),
                name: foreign_text::tool_name(text("name").unwrap_or_default()),
                input: foreign_text::input(block.get("input")),
                via: None,
            }),
            "tool_result" => text("tool_use_id").map(|id| {
                let id = self.names.of(id);
                let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
                Block::ToolResult { id, content: self.parts(block.get("content")), is_error }
            }),
            "image" => image(block).map(Block::Image),
            _ => None,
        };
        if read.is_none() {
            self.left_out.add(kind);
        }
        read
    }

    fn parts(&mut self, content: Option<&Value>) -> Vec<ResultPart> {
        let part = |block: Block| match block {
            Block::Text { text, .. } => Some(ResultPart::Text { text }),
            Block::Image(image) => Some(ResultPart::Image(image)),
            _ => None,
        };
        self.content(content).into_iter().filter_map(part).collect()
    }
}

fn image(block: &Value) -> Option<Image> {
    let source = block.get("source")?;
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    match text("type")? {
        "base64" => foreign_text::image(text("media_type")?, text("data")?),
        "url" => foreign_text::image_url(text("url")?),
        _ => None,
    }
}
