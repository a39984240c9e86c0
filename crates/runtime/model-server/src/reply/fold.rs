//! The same answer for a request without `stream`: one JSON message.

use bytes::Bytes;
use serde_json::{Value, json};

use super::fixed_length::fixed;
use super::{ReplyItem, Resolved, Response, head};
use crate::script::{FloodKind, Part, Reply};

/// A plain message holds its flood in memory, so it gets at most this much of it.
const MOST_FLOOD: u64 = 8 << 20;

pub(super) fn folded(
    reply: &Reply,
    resolved: &Resolved,
    request_id: &str,
) -> Result<Response, String> {
    let mut response = match error_of(reply) {
        Some((kind, message)) => {
            let body = head::error_body(kind, message, request_id);
            let whole = Reply { headers: reply.headers.clone(), ..Reply::default() };
            fixed(&whole, head::usual_status(kind), "application/json", body, request_id, None)?
        }
        None => {
            let body = Bytes::from(message(resolved).to_string());
            // A message has no events: a cut at one of them breaks it in the middle.
            let middle = Some(body.len() / 2);
            fixed(reply, 200, "application/json", body, request_id, middle)?
        }
    };
    let waits = resolved.parts.iter().filter_map(|part| match part {
        Part::Wait(wait) => Some(ReplyItem::Wait(wait.clone())),
        _ => None,
    });
    response.items.splice(0..0, waits);
    Ok(response)
}

/// An `error` event inserted into the stream is an HTTP error without a stream.
fn error_of(reply: &Reply) -> Option<(&str, &str)> {
    reply.insert.iter().find_map(|insert| match &insert.part {
        Part::Event { name, data: Some(data) } if name == "error" => {
            let error = data.get("error")?;
            Some((error.get("type")?.as_str()?, error.get("message")?.as_str()?))
        }
        _ => None,
    })
}

fn message(resolved: &Resolved) -> Value {
    let mut message = json!({
        "id": resolved.id,
        "type": "message",
        "role": "assistant",
        "model": resolved.model,
        "content": resolved.parts.iter().filter_map(block).collect::<Vec<_>>(),
        "stop_reason": resolved.stop,
        "stop_sequence": resolved.stop_sequence,
        "usage": resolved.usage_json(resolved.output_tokens),
    });
    if let Some(details) = &resolved.stop_details {
        message["stop_details"] = details.clone();
    }
    message
}

fn block(part: &Part) -> Option<Value> {
    let block = match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Part::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        Part::Tool { name, input, id } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input.object()})
        }
        Part::Block { block, .. } => block.clone(),
        Part::Flood { bytes, kind: FloodKind::Text } => {
            let length = usize::try_from((*bytes).min(MOST_FLOOD)).unwrap_or_default();
            json!({"type": "text", "text": "x".repeat(length)})
        }
        _ => return None,
    };
    Some(block)
}
