//! Sessions that opencode began. New versions keep them in an SQLite database, older ones in files:
//!
//! ```text
//! <data>/opencode.db                              tables session, message, part
//! <data>/storage/session/<project>/<session>.json
//! <data>/storage/message/<session>/<message>.json
//! <data>/storage/part/<message>/<part>.json
//! ```

use crate::TranscriptInfo;
use crate::conversation::{Conversation, LeftOut, Program};
use crate::error::TranscriptError;
use crate::foreign_text::{self, CallNames, first_words};
use crate::id_prefix::the_one;
use crate::opencode_database::Database;
use crate::opencode_files::StoredFiles;
use crate::step_builder::{StepBuilder, first_prompt};
use ostler_core::message::{Block, ResultPart};
use ostler_core::time::Timestamp;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The transcripts below opencode's data directory.
#[derive(Clone, Debug)]
pub struct OpencodeTranscripts {
    data: PathBuf,
}

/// What is known of a session before its messages are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredSession {
    pub id: String,
    pub title: String,
    pub directory: PathBuf,
    /// Another session started it.
    pub is_child: bool,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub messages: u64,
}

/// A message and its parts, as they are stored.
pub(crate) struct StoredMessage {
    pub info: Value,
    pub parts: Vec<Value>,
}

/// What was read, and how much could not be.
#[derive(Default)]
pub(crate) struct StoredMessages {
    pub messages: Vec<StoredMessage>,
    pub broken: u64,
}

impl OpencodeTranscripts {
    pub fn new(data: &Path) -> Self {
        OpencodeTranscripts { data: data.to_owned() }
    }

    /// Those that were begun in a directory, or all of them; newest first. What cannot be read is not listed.
    pub fn list(&self, cwd: Option<&Path>) -> Vec<TranscriptInfo> {
        let is_of = |session: &StoredSession| {
            !session.is_child && cwd.is_none_or(|cwd| session.directory == cwd)
        };
        let mut found: Vec<_> =
            self.sessions().into_iter().filter(|(session, _)| is_of(session)).collect();
        found.sort_by_key(|(session, _)| std::cmp::Reverse(session.updated));
        found
            .into_iter()
            .map(|(session, path)| TranscriptInfo {
                program: Program::OpenCode,
                title: first_words(&session.title),
                messages: session.messages,
                branch: None,
                cwd: Some(session.directory),
                created: Some(session.created),
                modified: session.updated,
                bytes: std::fs::metadata(&path).map_or(0, |metadata| metadata.len()),
                path,
                id: session.id,
            })
            .collect()
    }

    /// A session that is in both places counts as it is in the database.
    fn sessions(&self) -> Vec<(StoredSession, PathBuf)> {
        let database = self.database_path();
        let mut found: Vec<(StoredSession, PathBuf)> = Database::open(&database)
            .and_then(|database| database.sessions())
            .unwrap_or_default()
            .into_iter()
            .map(|session| (session, database.clone()))
            .collect();
        for (session, path) in StoredFiles::new(&self.data).sessions() {
            if found.iter().all(|(known, _)| known.id != session.id) {
                found.push((session, path));
            }
        }
        found
    }

    fn database_path(&self) -> PathBuf {
        self.data.join("opencode.db")
    }

    /// A session by its id, or by a beginning that fits no other.
    pub fn find(&self, name: &str) -> Result<Option<(String, PathBuf)>, TranscriptError> {
        let named = |(session, path): (StoredSession, PathBuf)| (session.id, path);
        let found: Vec<_> =
            self.sessions().into_iter().map(named).filter(|(id, _)| id.starts_with(name)).collect();
        the_one(found, name)
    }

    pub fn read(&self, id: &str, path: &Path) -> Result<Conversation, TranscriptError> {
        let stored = match path == self.database_path() {
            true => Database::open(path)?.messages(id)?,
            false => StoredFiles::new(&self.data).messages(id)?,
        };
        let mut reader = MessageReader::default();
        for message in &stored.messages {
            reader.message(message);
        }
        let steps = reader.builder.into_steps();
        if steps.is_empty() {
            return Err(TranscriptError::Empty(path.to_owned()));
        }
        Ok(Conversation {
            program: Program::OpenCode,
            id: id.to_owned(),
            title: first_prompt(&steps).unwrap_or_default(),
            steps,
            broken_lines: stored.broken,
            left_out: reader.left_out.into_counts(),
        })
    }
}

/// Names become parts of paths and of queries.
pub(crate) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=128).contains(&id.len()) && id.bytes().all(plain)
}

pub(crate) fn millis(value: Option<&Value>) -> Timestamp {
    Timestamp(value.and_then(Value::as_u64).unwrap_or(0))
}

struct MessageReader {
    builder: StepBuilder,
    names: CallNames,
    left_out: LeftOut,
}

impl Default for MessageReader {
    fn default() -> Self {
        MessageReader {
            builder: StepBuilder::new(),
            names: CallNames::default(),
            left_out: LeftOut::default(),
        }
    }
}

impl MessageReader {
    fn message(&mut self, message: &StoredMessage) {
        let info = &message.info;
        let text = |key: &str| info.get(key).and_then(Value::as_str);
        let at = millis(info.get("time").and_then(|time| time.get("created")));
        match text("role") {
            Some("user") => self.user(&message.parts, at),
            Some("assistant") => {
                self.builder.flush();
                self.builder.model(foreign_text::model(text("modelID").unwrap_or_default()));
                if info.get("summary").and_then(Value::as_bool) == Some(true) {
                    let said: Vec<&str> = message.parts.iter().filter_map(said).collect();
                    self.builder.summary(said.join("\n\n"), Vec::new(), at, false);
                    return;
                }
                for part in &message.parts {
                    self.part(part);
                }
                self.builder.flush();
            }
            _ => self.left_out.add("messages without a role"),
        }
    }

    fn user(&mut self, parts: &[Value], at: Timestamp) {
        let (mut typed, mut added) = (Vec::new(), Vec::new());
        for part in parts {
            let text = |key: &str| part.get(key).and_then(Value::as_str);
            let is = |key: &str| part.get(key).and_then(Value::as_bool) == Some(true);
            match text("type") {
                Some("text") if is("ignored") => {}
                Some("text") if is("synthetic") => {
                    added.push(foreign_text::note(text("text").unwrap_or_default()));
                }
                Some("text") => typed.extend(text("text").map(Block::text)),
                Some("file") => match text("url").and_then(foreign_text::image_url) {
                    Some(image) => typed.push(Block::Image(image)),
                    None => self.left_out.add("files"),
                },
                Some("compaction" | "agent" | "subtask" | "snapshot") => {}
                kind => self.left_out.add(kind.unwrap_or("part without a type")),
            }
        }
        if typed.is_empty() {
            self.builder.note(added);
        } else {
            typed.extend(added);
            self.builder.prompt(typed, at);
        }
    }

    fn part(&mut self, part: &Value) {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        match text("type") {
            Some("step-start") => self.builder.flush(),
            Some("text") => {
                if let Some(text) = said(part) {
                    self.builder.part(Block::text(text));
                }
            }
            Some("reasoning") => {
                let thought = text("text").unwrap_or_default().to_owned();
                if !thought.trim().is_empty() {
                    self.builder.part(Block::Thinking { text: thought, signature: None });
                }
            }
            Some("tool") => self.tool(part),
            Some("step-finish" | "snapshot" | "patch" | "retry") => {}
            kind => self.left_out.add(kind.unwrap_or("part without a type")),
        }
    }

    /// A call with what came of it. One that was still running has no result.
    fn tool(&mut self, part: &Value) {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        let Some(id) = text("callID") else { return self.left_out.add("calls without an id") };
        let id = self.names.of(id);
        let name = foreign_text::tool_name(text("tool").unwrap_or_default());
        let state = part.get("state");
        let field = |key: &str| state.and_then(|state| state.get(key));
        let input = foreign_text::input(field("input"));
        self.builder.call(Block::ToolUse { id: id.clone(), name, input, via: None });
        let (key, is_error) = match field("status").and_then(Value::as_str) {
            Some("completed") => ("output", false),
            Some("error") => ("error", true),
            _ => return,
        };
        let mut content =
            vec![ResultPart::text(field(key).and_then(Value::as_str).unwrap_or_default())];
        for file in field("attachments").and_then(Value::as_array).into_iter().flatten() {
            match file.get("url").and_then(Value::as_str).and_then(foreign_text::image_url) {
                Some(image) => content.push(ResultPart::Image(image)),
                None => self.left_out.add("files"),
            }
        }
        self.builder.result(Block::ToolResult { id, content, is_error });
    }
}

fn said(part: &Value) -> Option<&str> {
    let is_text = part.get("type").and_then(Value::as_str) == Some("text");
    let ignored = part.get("ignored").and_then(Value::as_bool) == Some(true);
    part.get("text")?.as_str().filter(|text| is_text && !ignored && !text.trim().is_empty())
}
