//! What a program that drives Ostler writes to its standard input, one JSON object a line.

use ostler::{Block, Image, Message};
use serde_json::{Map, Value};

/// Blocks of a message.
const MOST_BLOCKS: usize = 10_000;
/// Pasted texts of a message.
const MOST_PASTED: usize = 1_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    User(UserLine),
    /// It wants something from us.
    Request {
        id: String,
        body: Value,
    },
    /// It answers something that we asked.
    Response {
        id: String,
        answer: Result<Value, String>,
    },
    /// It does not want the answer to its request any more.
    Cancel {
        id: String,
    },
    /// A message that cannot be sent to the model, and why.
    BadUser(String),
    /// A line that nothing can be done with, and why.
    Odd(String),
    /// A kind of line that this version has no use for.
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UserLine {
    pub message: Message,
    /// As it came, for readers of the transcript.
    pub content: Value,
    pub uuid: Option<String>,
    /// False: it is only added to the conversation.
    pub should_query: bool,
    /// The text goes to the model as it is, also if it begins with a slash.
    pub verbatim: bool,
    /// The program says that a person wrote it.
    pub origin: Option<Value>,
}

impl UserLine {
    /// What it says, where it is nothing but a text.
    pub fn only_text(&self) -> Option<&str> {
        match self.message.blocks() {
            [Block::Text { text, .. }] => Some(text),
            _ => None,
        }
    }
}

/// # Errors
/// In words, if the line is not JSON: then whatever writes it is not speaking this protocol.
pub fn read_line(line: &str) -> Result<Incoming, String> {
    let value: Value =
        serde_json::from_str(line).map_err(|error| format!("it is not JSON ({error})"))?;
    let Value::Object(fields) = value else {
        return Ok(Incoming::Odd("it is not a JSON object".into()));
    };
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let read = match kind {
        "user" => return Ok(user(&fields).map_or_else(Incoming::BadUser, Incoming::User)),
        "control_request" => text(&fields, "request_id")
            .map(|id| {
                let body = fields.get("request").cloned().unwrap_or_default();
                Incoming::Request { id, body }
            })
            .ok_or("a control_request has no request_id"),
        "control_response" => response(&fields),
        "control_cancel_request" => text(&fields, "request_id")
            .map(|id| Incoming::Cancel { id })
            .ok_or("a control_cancel_request has no request_id"),
        "" => Err("it has no type"),
        _ => Ok(Incoming::Other),
    };
    Ok(read.unwrap_or_else(|why| Incoming::Odd(why.to_owned())))
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name)?.as_str().map(str::to_owned)
}

fn response(fields: &Map<String, Value>) -> Result<Incoming, &'static str> {
    let answer = fields.get("response").and_then(Value::as_object);
    let answer = answer.ok_or("a control_response has no response")?;
    let id = text(answer, "request_id").ok_or("a control_response has no request_id")?;
    let failed = text(answer, "subtype").as_deref() == Some("error");
    let answer = match failed {
        true => Err(text(answer, "error").unwrap_or_else(|| "it failed".into())),
        false => Ok(answer.get("response").cloned().unwrap_or(Value::Null)),
    };
    Ok(Incoming::Response { id, answer })
}

fn user(fields: &Map<String, Value>) -> Result<UserLine, String> {
    let content = fields.get("message").and_then(|message| message.get("content"));
    let content = content.ok_or("a user message has no content")?.clone();
    let blocks = match &content {
        Value::String(text) => vec![Block::text(text.as_str())],
        Value::Array(blocks) if blocks.len() > MOST_BLOCKS => {
            return Err(format!("a user message has more than {MOST_BLOCKS} blocks"));
        }
        Value::Array(blocks) => blocks.iter().map(block).collect::<Result<_, _>>()?,
        _ => return Err("the content of a user message is neither a string nor a list".into()),
    };
    let blocks = blocks.into_iter().chain(pasted(fields.get("pasted_content"))).collect();
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool);
    Ok(UserLine {
        message: Message::User { content: blocks },
        content,
        uuid: text(fields, "uuid").filter(|uuid| !uuid.is_empty()),
        should_query: flag("shouldQuery").unwrap_or(true),
        verbatim: flag("client_composed").unwrap_or(false),
        // A program can speak for a person, and for nobody else.
        origin: fields.get("origin").filter(|origin| origin["kind"] == "human").cloned(),
    })
}

/// What was pasted comes behind what was typed. Only texts count.
fn pasted(entries: Option<&Value>) -> Vec<Block> {
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let texts = entries.flat_map(|entry| match entry {
        Value::String(text) => vec![text.as_str()],
        Value::Array(blocks) => {
            let blocks = blocks.iter().filter(|block| block["type"] == "text");
            blocks.filter_map(|block| block["text"].as_str()).collect()
        }
        _ => Vec::new(),
    });
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts.take(MOST_PASTED).map(Block::text).collect()
}

/// A document that is a text, or several, is one text, with its title above it.
fn document(block: &Value) -> Result<Block, String> {
    let source = &block["source"];
    let text = match (source["type"].as_str(), &source["data"], &source["content"]) {
        (Some("text"), Value::String(text), _) | (Some("content"), _, Value::String(text)) => {
            text.clone()
        }
        (Some("content"), _, Value::Array(parts))
            if parts.iter().all(|it| it["type"] == "text") =>
        {
            let parts = parts.iter().filter_map(|part| part["text"].as_str());
            parts.collect::<Vec<_>>().join("\n")
        }
        _ => return Err("a document block needs a source of type text, or content of texts".into()),
    };
    let text = match block["title"].as_str() {
        Some(title) if !title.is_empty() => format!("{title}\n\n{text}"),
        _ => text,
    };
    match text.trim().is_empty() {
        true => Err("a document block is empty".into()),
        false => Ok(Block::text(text)),
    }
}

fn block(block: &Value) -> Result<Block, String> {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    let of_source = |name: &str| block.get("source")?.get(name)?.as_str();
    match field("type") {
        Some("text") => Ok(Block::text(field("text").ok_or("a text block has no text")?)),
        Some("document") => document(block),
        Some("image") => match (of_source("type"), of_source("media_type"), of_source("data")) {
            (Some("base64"), Some(media), Some(data)) => {
                Ok(Block::Image(Image { media: media.to_owned(), data: data.into(), blob: None }))
            }
            _ => {
                Err("an image block needs a source of type base64 with media_type and data".into())
            }
        },
        Some(other) => Err(format!("blocks of type {other} are not supported in a user message")),
        None => Err("a block has no type".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn user_line(content: Value) -> UserLine {
        let line = json!({"type": "user", "message": {"role": "user", "content": content}});
        match read_line(&line.to_string()) {
            Ok(Incoming::User(line)) => line,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_is_a_text_or_blocks() {
        let line = user_line(json!("hello"));
        assert_eq!(line.only_text(), Some("hello"));
        assert!(line.should_query && !line.verbatim && line.uuid.is_none());
        let source = json!({"type": "base64", "media_type": "image/png", "data": "AA=="});
        let line = user_line(
            json!([{"type": "text", "text": "see"}, {"type": "image", "source": source}]),
        );
        assert_eq!(line.message.blocks().len(), 2);
        assert_eq!(line.only_text(), None);
    }

    #[test]
    fn documents_and_what_was_pasted_are_texts() {
        let texts = |line: &UserLine| -> Vec<String> {
            let blocks = line.message.blocks().iter();
            blocks
                .map(|block| match block {
                    Block::Text { text, .. } => text.clone(),
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        let plain = json!({"type": "text", "media_type": "text/plain", "data": "one"});
        let parts = json!({"type": "content", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "three"}]});
        let line = user_line(json!([
            {"type": "text", "text": "see"},
            {"type": "document", "source": plain, "title": "A.md"},
            {"type": "document", "source": parts},
        ]));
        assert_eq!(texts(&line), ["see", "A.md\n\none", "two\nthree"]);
        let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "AA=="});
        let bad =
            json!({"type": "user", "message": {"content": [{"type": "document", "source": pdf}]}});
        assert!(
            matches!(read_line(&bad.to_string()), Ok(Incoming::BadUser(why)) if why.contains("document"))
        );
        let pasted = json!(["x", [{"type": "text", "text": "y"}, {"type": "image"}], 5, " "]);
        let line =
            json!({"type": "user", "message": {"content": "look"}, "pasted_content": pasted});
        let Ok(Incoming::User(line)) = read_line(&line.to_string()) else { panic!("not read") };
        assert_eq!(texts(&line), ["look", "x", "y"]);
    }

    #[test]
    fn lines_that_cannot_be_understood_say_why() {
        assert!(read_line("nonsense").unwrap_err().contains("not JSON"));
        for (line, part) in [
            ("[1]", "not a JSON object"),
            ("{}", "no type"),
            (r#"{"type":5}"#, "no type"),
            (r#"{"type":"control_request","request":{}}"#, "request_id"),
            (r#"{"type":"control_response"}"#, "no response"),
            (r#"{"type":"control_response","response":{}}"#, "no request_id"),
            (r#"{"type":"control_cancel_request"}"#, "no request_id"),
        ] {
            let read = read_line(line).unwrap();
            assert!(matches!(&read, Incoming::Odd(why) if why.contains(part)), "{line}: {read:?}");
        }
        for (line, part) in [
            (r#"{"type":"user"}"#, "no content"),
            (r#"{"type":"user","message":{"content":5}}"#, "neither"),
            (r#"{"type":"user","message":{"content":[{"type":"video"}]}}"#, "video"),
        ] {
            let read = read_line(line).unwrap();
            let is_bad = matches!(&read, Incoming::BadUser(why) if why.contains(part));
            assert!(is_bad, "{line}: {read:?}");
        }
        assert_eq!(read_line(r#"{"type":"keep_alive"}"#), Ok(Incoming::Other));
        let bare = r#"{"type":"control_request","request_id":"r"}"#;
        let (id, body) = ("r".to_owned(), Value::Null);
        assert_eq!(read_line(bare), Ok(Incoming::Request { id, body }));
    }

    #[test]
    fn an_answer_is_a_value_or_an_error() {
        let read = |response: Value| {
            read_line(&json!({"type": "control_response", "response": response}).to_string())
        };
        let (id, ok) = ("r".to_owned(), json!({"a": 1}));
        assert_eq!(
            read(json!({"subtype": "success", "request_id": "r", "response": {"a": 1}})),
            Ok(Incoming::Response { id: id.clone(), answer: Ok(ok) })
        );
        assert_eq!(
            read(json!({"subtype": "error", "request_id": "r", "error": "no"})),
            Ok(Incoming::Response { id, answer: Err("no".into()) })
        );
    }
}
