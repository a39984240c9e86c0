//! How heavy something is: its bytes, roughly as they go over the wire. What a byte costs in tokens is the gauge's
//! business.

use crate::message::{Block, Image, Message, ResultPart};
use crate::tool::ToolSpec;

/// What surrounds a block on the wire.
const FRAME: u64 = 40;
/// An image costs the same whatever the length of its data.
const IMAGE: u64 = 5_600;

pub fn of_message(message: &Message) -> u64 {
    message.blocks().iter().map(of_block).sum::<u64>() + FRAME
}

pub fn of_block(block: &Block) -> u64 {
    let content = match block {
        Block::Text { text, .. } => text.len() as u64,
        Block::Thinking { text, signature } => {
            (text.len() + signature.as_ref().map_or(0, String::len)) as u64
        }
        Block::Redacted { data } => data.len() as u64,
        Block::Provider(part) => of_json(&part.data),
        Block::Image(Image { .. }) => IMAGE,
        Block::ToolUse { id, name, input, via } => {
            let via = via.as_ref().map_or(0, String::len);
            (id.as_str().len() + name.len() + via) as u64 + of_json(input)
        }
        Block::ToolResult { id, content, .. } => {
            id.as_str().len() as u64 + content.iter().map(of_part).sum::<u64>()
        }
    };
    content + FRAME
}

pub fn of_part(part: &ResultPart) -> u64 {
    match part {
        ResultPart::Text { text } => text.len() as u64,
        ResultPart::Image(_) => IMAGE,
    }
}

/// Tools and system prompt: what every request begins with.
pub fn of_prefix(system: &[String], tools: &[ToolSpec]) -> u64 {
    let system: u64 = system.iter().map(|part| part.len() as u64 + FRAME).sum();
    system + tools.iter().map(of_tool).sum::<u64>()
}

pub fn of_tool(tool: &ToolSpec) -> u64 {
    (tool.name.len() + tool.description.len()) as u64 + of_json(&tool.input_schema) + FRAME
}

fn of_json(value: &serde_json::Value) -> u64 {
    let mut counter = ByteCounter(0);
    // Counting cannot fail; a value that cannot be written weighs what was counted of it.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct ByteCounter(u64);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
