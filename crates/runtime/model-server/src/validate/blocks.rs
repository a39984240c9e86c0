//! The shape of each content block.

use serde_json::{Map, Value};

use super::messages::{PlacedBlock, Role};
use super::{ValidationError, ValidationRule, invalid, is_name, only, required, string};

const LARGEST_IMAGE: usize = 5 << 20;
const IMAGES: &[(&str, &[u8])] = &[
    ("image/png", b"\x89PNG"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
];

#[derive(Clone, Copy)]
pub(super) struct BlockPlace {
    pub message: usize,
    pub index: usize,
    pub role: Role,
}

pub(super) fn system(fields: &Map<String, Value>) -> ValidationRule {
    match fields.get("system") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(blocks)) => {
            for (at, block) in blocks.iter().enumerate() {
                let path = format!("system.{at}");
                let (kind, fields) = typed(&path, block)?;
                if kind != "text" {
                    return Err(invalid(format!("{path}.type: Input should be 'text'")));
                }
                only(fields, &format!("{path}."), &["type", "text", "cache_control", "citations"])?;
                if string(fields, &format!("{path}."), "text")?.is_empty() {
                    return Err(empty_text(&path, fields, "system"));
                }
            }
            Ok(())
        }
        Some(_) => Err(invalid("system: Input should be a valid list")),
    }
}

/// A text of a message, in a block or as a string.
pub(super) fn text(text: &str) -> ValidationRule {
    if text.is_empty() {
        return Err(invalid("messages: text content blocks must be non-empty"));
    }
    if text.trim().is_empty() {
        return Err(invalid("messages: text content blocks must contain non-whitespace text"));
    }
    Ok(())
}

fn empty_text(path: &str, fields: &Map<String, Value>, list: &str) -> ValidationError {
    if fields.get("cache_control").is_some_and(|control| !control.is_null()) {
        return invalid(format!("{path}.text: cache_control cannot be set for empty text blocks"));
    }
    invalid(format!("{list}: text content blocks must be non-empty"))
}

pub(super) fn check(place: BlockPlace, block: &Value) -> Result<PlacedBlock<'_>, ValidationError> {
    let path = format!("messages.{}.content.{}", place.message, place.index);
    let (kind, fields) = typed(&path, block)?;
    let inner = format!("{path}.{kind}.");
    match kind {
        "text" => {
            only(fields, &inner, &["type", "text", "cache_control", "citations"])?;
            let held = string(fields, &inner, "text")?;
            if held.is_empty() {
                return Err(empty_text(&path, fields, "messages"));
            }
            text(held)?;
        }
        "image" => image(&inner, fields)?,
        "document" | "search_result" => {}
        "tool_result" => tool_result(&inner, fields)?,
        "tool_use" => tool_use(&inner, fields)?,
        "thinking" => {
            only(fields, &inner, &["type", "thinking", "signature"])?;
            string(fields, &inner, "thinking")?;
            string(fields, &inner, "signature")?;
        }
        "redacted_thinking" => {
            only(fields, &inner, &["type", "data"])?;
            string(fields, &inner, "data")?;
        }
        // Blocks of tools the server runs: their inside is not ours to judge.
        kind if kind == "server_tool_use" || kind.ends_with("_tool_result") => {}
        "container_upload" | "compaction" => {}
        other => return Err(unknown(&path, other)),
    }
    in_role(place, &path, kind)?;
    Ok(PlacedBlock { message: place.message, index: place.index, kind, value: block })
}

fn in_role(place: BlockPlace, path: &str, kind: &str) -> ValidationRule {
    let home = match kind {
        "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" => Role::Assistant,
        "tool_result" | "image" | "document" | "search_result" => Role::User,
        _ => return Ok(()),
    };
    if place.role == home {
        return Ok(());
    }
    let name = if home == Role::User { "user" } else { "assistant" };
    Err(invalid(format!("{path}: `{kind}` blocks can only be in `{name}` messages")))
}

fn typed<'a>(
    path: &str,
    block: &'a Value,
) -> Result<(&'a str, &'a Map<String, Value>), ValidationError> {
    let Some(fields) = block.as_object() else {
        return Err(invalid(format!("{path}: Input should be a valid dictionary")));
    };
    Ok((string(fields, &format!("{path}."), "type")?, fields))
}

fn unknown(path: &str, kind: &str) -> ValidationError {
    invalid(format!(
        "{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_use'"
    ))
}

fn tool_use(path: &str, fields: &Map<String, Value>) -> ValidationRule {
    only(fields, path, &["type", "id", "name", "input", "cache_control", "caller"])?;
    if !is_name(string(fields, path, "id")?, usize::MAX) {
        return Err(invalid(format!("{path}id: String should match pattern '^[a-zA-Z0-9_-]+$'")));
    }
    if !is_name(string(fields, path, "name")?, 128) {
        return Err(invalid(format!(
            "{path}name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        )));
    }
    if !required(fields, path, "input")?.is_object() {
        return Err(invalid(format!("{path}input: Input should be a valid dictionary")));
    }
    Ok(())
}

fn tool_result(path: &str, fields: &Map<String, Value>) -> ValidationRule {
    only(fields, path, &["type", "tool_use_id", "content", "is_error", "cache_control"])?;
    if !is_name(string(fields, path, "tool_use_id")?, usize::MAX) {
        return Err(invalid(format!(
            "{path}tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        )));
    }
    let failed = match fields.get("is_error") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(failed)) => *failed,
        Some(_) => return Err(invalid(format!("{path}is_error: Input should be a valid boolean"))),
    };
    let parts = match fields.get("content") {
        None | Some(Value::String(_) | Value::Null) => return Ok(()),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(invalid(format!("{path}content: Input should be a valid list"))),
    };
    for (at, part) in parts.iter().enumerate() {
        let part_path = format!("{path}content.{at}");
        let (kind, fields) = typed(&part_path, part)?;
        match kind {
            "text" => {
                let inner = format!("{part_path}.text.");
                only(fields, &inner, &["type", "text", "cache_control", "citations"])?;
                if string(fields, &inner, "text")?.is_empty() {
                    return Err(empty_text(&part_path, fields, "messages"));
                }
            }
            _ if failed => {
                return Err(invalid(format!(
                    "{}: all content must be type \"text\" if \"is_error\" is true",
                    path.trim_end_matches('.')
                )));
            }
            "image" => image(&format!("{part_path}.image."), fields)?,
            "document" | "search_result" | "tool_reference" => {}
            other => return Err(unknown(&part_path, other)),
        }
    }
    Ok(())
}

fn image(path: &str, fields: &Map<String, Value>) -> ValidationRule {
    only(fields, path, &["type", "source", "cache_control"])?;
    let Some(source) = required(fields, path, "source")?.as_object() else {
        return Err(invalid(format!("{path}source: Input should be a valid dictionary")));
    };
    match string(source, &format!("{path}source."), "type")? {
        "base64" => {}
        "url" | "file" => return Ok(()),
        other => {
            return Err(invalid(format!(
                "{path}source: Input tag '{other}' found using 'type' does not match any of the expected tags: 'base64', 'file', 'url'"
            )));
        }
    }
    let path = format!("{path}source.base64");
    only(source, &format!("{path}."), &["type", "media_type", "data"])?;
    let media = string(source, &format!("{path}."), "media_type")?;
    if !IMAGES.iter().any(|(known, _)| *known == media) {
        return Err(invalid(format!(
            "{path}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        )));
    }
    let data = string(source, &format!("{path}."), "data")?;
    if data.is_empty() {
        return Err(invalid(format!("{path}: image cannot be empty")));
    }
    // The limit counts the encoded text, not the picture.
    if data.len() > LARGEST_IMAGE {
        return Err(invalid(format!(
            "{path}: image exceeds 5 MB maximum: {} bytes > {LARGEST_IMAGE} bytes",
            data.len()
        )));
    }
    let Some(start) = base64_start(data) else {
        return Err(invalid(format!("{path}.data: Invalid base64 data")));
    };
    match IMAGES.iter().find(|(_, magic)| start.starts_with(magic)) {
        Some((found, _)) if *found != media => Err(invalid(format!(
            "{path}.data: The image was specified using the {media} media type, but the image appears to be a {found} image"
        ))),
        _ => Ok(()),
    }
}

/// The first bytes of base64 data, or nothing if it is not base64.
fn base64_start(data: &str) -> Option<Vec<u8>> {
    let body = data.trim_end_matches('=');
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    if !data.len().is_multiple_of(4) || data.len() - body.len() > 2 {
        return None;
    }
    let mut start = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for byte in body.bytes() {
        bits = (bits << 6 | u32::from(digit(byte)?)) & 0xffff;
        held += 6;
        if held >= 8 && start.len() < 8 {
            held -= 8;
            start.push((bits >> held & 0xff) as u8);
        } else if held >= 8 {
            held -= 8;
        }
    }
    Some(start)
}
