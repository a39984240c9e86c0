//! A content block while it arrives, piece by piece.

use super::wire::{Delta, WireBlock};
use ostler_core::ids::CallId;
use ostler_core::message::Block;
use ostler_core::model::ModelEvent;
use serde_json::Value;

/// The types we read; others are skipped as a whole.
pub const BLOCKS: [&str; 5] =
    ["text", "thinking", "redacted_thinking", "tool_use", "web_search_tool_result"];
pub const DELTAS: [&str; 4] =
    ["text_delta", "thinking_delta", "signature_delta", "input_json_delta"];

#[derive(Debug)]
pub enum OpenBlock {
    Text(String),
    Thinking { text: String, signature: String },
    Redacted(String),
    ToolUse { id: String, name: String, given: Option<Value>, json: String },
    Skipped,
}

impl OpenBlock {
    /// What a block's start already says of it.
    pub fn started(block: WireBlock, out: &mut Vec<ModelEvent>) -> Self {
        let open = OpenBlock::of(block);
        match &open {
            OpenBlock::Text(text) if !text.is_empty() => out.push(ModelEvent::Text(text.clone())),
            OpenBlock::Thinking { text, .. } if !text.is_empty() => {
                out.push(ModelEvent::Thinking(text.clone()));
            }
            _ => {}
        }
        open
    }

    fn of(block: WireBlock) -> Self {
        match block.r#type.as_str() {
            "text" => OpenBlock::Text(block.text.unwrap_or_default()),
            "thinking" => OpenBlock::Thinking {
                text: block.thinking.unwrap_or_default(),
                signature: block.signature.unwrap_or_default(),
            },
            "redacted_thinking" => OpenBlock::Redacted(block.data.unwrap_or_default()),
            "tool_use" => OpenBlock::ToolUse {
                id: block.id.unwrap_or_default(),
                name: block.name.unwrap_or_default(),
                given: block.input,
                json: String::new(),
            },
            // Only searches of our own ask for them, and these read text.
            "web_search_tool_result" => OpenBlock::Text(found(block.content.as_ref())),
            _ => OpenBlock::Skipped,
        }
    }

    /// Adds a delta. One that belongs to another kind of block is given back by its name.
    pub fn append(&mut self, delta: Delta, out: &mut Vec<ModelEvent>) -> Result<(), String> {
        let add = |to: &mut String, piece: Option<String>| {
            let piece = piece.unwrap_or_default();
            to.push_str(&piece);
            piece
        };
        match (self, delta.r#type.as_str()) {
            (OpenBlock::Skipped, _) => {}
            (OpenBlock::Text(text), "text_delta") => {
                let piece = add(text, delta.text);
                out.extend((!piece.is_empty()).then_some(ModelEvent::Text(piece)));
            }
            (OpenBlock::Thinking { text, .. }, "thinking_delta") => {
                let piece = add(text, delta.thinking);
                out.extend((!piece.is_empty()).then_some(ModelEvent::Thinking(piece)));
            }
            (OpenBlock::Thinking { signature, .. }, "signature_delta") => {
                add(signature, delta.signature);
            }
            (OpenBlock::ToolUse { json, .. }, "input_json_delta") => {
                add(json, delta.partial_json);
            }
            (_, known) if DELTAS.contains(&known) => return Err(delta.r#type),
            _ => {}
        }
        Ok(())
    }

    /// The block as a whole; none if it was skipped.
    pub fn finish(self) -> Option<ModelEvent> {
        Some(match self {
            OpenBlock::Text(text) => ModelEvent::Block(Block::text(text)),
            OpenBlock::Thinking { text, signature } => {
                let signature = Some(signature).filter(|signature| !signature.is_empty());
                ModelEvent::Block(Block::Thinking { text, signature })
            }
            OpenBlock::Redacted(data) => ModelEvent::Block(Block::Redacted { data }),
            OpenBlock::ToolUse { id, name, given, json } => {
                finish_call(CallId::new(id), name, given, json)
            }
            OpenBlock::Skipped => return None,
        })
    }
}

/// The pages that a search of the provider found, a line each.
fn found(content: Option<&Value>) -> String {
    let Some(pages) = content.and_then(Value::as_array) else {
        let why = content.and_then(|content| content.get("error_code")?.as_str());
        return format!("(the search failed: {})\n", why.unwrap_or("no reason given"));
    };
    let text = |page: &Value, name: &str| -> String {
        page.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let line = |page: &Value| format!("- {}: {}\n", text(page, "title"), text(page, "url"));
    pages.iter().map(line).collect()
}

/// A call is usable if its input is an object. Pieces win over what the block's start gave.
fn finish_call(id: CallId, name: String, given: Option<Value>, json: String) -> ModelEvent {
    let input = match json.trim() {
        "" => given.filter(Value::is_object).or_else(|| Some(Value::Object(Default::default()))),
        text => serde_json::from_str(text).ok().filter(Value::is_object),
    };
    match input {
        Some(input) => ModelEvent::Block(Block::ToolUse { id, name, input, via: None }),
        None => ModelEvent::Cut { id, name, raw: json },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// An answer without what the provider's search found would have lost its sources.
    #[test]
    fn pages_that_the_provider_found_are_lines() {
        let text = |block: Value| {
            let block: WireBlock = serde_json::from_value(block).unwrap();
            match OpenBlock::started(block, &mut Vec::new()).finish() {
                Some(ModelEvent::Block(Block::Text { text, .. })) => Some(text),
                _ => None,
            }
        };
        let page = json!({"type": "web_search_result", "title": "Docs", "url": "https://docs.rs/", "encrypted_content": "x"});
        let found = |content: Value| json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": content});
        assert_eq!(text(found(json!([page]))).as_deref(), Some("- Docs: https://docs.rs/\n"));
        let failed =
            json!({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"});
        let said = text(found(failed));
        assert_eq!(said.as_deref(), Some("(the search failed: max_uses_exceeded)\n"));
        let call =
            json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}});
        assert_eq!(text(call), None, "the provider runs it");
    }
}
