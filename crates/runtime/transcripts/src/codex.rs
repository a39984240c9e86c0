//! Sessions that Codex began: `sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl` below its home.

use crate::TranscriptInfo;
use crate::claude::is_uuid;
use crate::conversation::{Conversation, LeftOut, Program};
use crate::error::TranscriptError;
use crate::foreign_text::{self, CallNames, first_words};
use crate::id_prefix::the_one;
use crate::iso_time::parse_iso_time;
use crate::json_lines::{JsonLines, Line};
use crate::step_builder::{StepBuilder, first_prompt};
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::time::Timestamp;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

const LISTED: usize = 500;
/// Years, months, days.
const DEPTH: usize = 3;
/// Files that are looked at.
const FILES: usize = 20_000;
/// How messages begin that Codex writes in the person's name.
const NOT_TYPED: [&str; 6] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<permissions instructions>",
    "<skill>",
];

/// The transcripts below Codex's home.
#[derive(Clone, Debug)]
pub struct CodexTranscripts {
    sessions: PathBuf,
}

impl CodexTranscripts {
    pub fn new(codex_home: &Path) -> Self {
        CodexTranscripts { sessions: codex_home.join("sessions") }
    }

    /// Those that were begun in a directory, or all of them; newest first. What cannot be read is not listed.
    pub fn list(&self, cwd: Option<&Path>) -> Vec<TranscriptInfo> {
        let mut files: Vec<_> = self
            .files()
            .into_iter()
            .filter_map(|(id, path)| {
                Some((fs::symlink_metadata(&path).ok()?.modified().ok()?, id, path))
            })
            .collect();
        files.sort_by(|a, b| b.cmp(a));
        let of_cwd = |info: &TranscriptInfo| cwd.is_none_or(|cwd| info.cwd.as_deref() == Some(cwd));
        files
            .into_iter()
            .filter_map(|(_, id, path)| glance(&id, &path, cwd))
            .filter(of_cwd)
            .take(LISTED)
            .collect()
    }

    /// A transcript by its id, or by a beginning that fits no other.
    pub fn find(&self, name: &str) -> Result<Option<(String, PathBuf)>, TranscriptError> {
        let mut found: Vec<_> =
            self.files().into_iter().filter(|(id, _)| id.starts_with(name)).collect();
        // A session that was forked or archived has several files; the newest path is the last day's.
        found.sort_by(|a, b| b.1.cmp(&a.1));
        the_one(found, name)
    }

    pub fn read(&self, id: &str, path: &Path) -> Result<Conversation, TranscriptError> {
        let file = JsonLines::open(path)?;
        let mut reader = RolloutReader::default();
        file.each(|line| reader.line(line))?;
        let RolloutReader { builder, broken, left_out, .. } = reader;
        let steps = builder.into_steps();
        if steps.is_empty() {
            return Err(TranscriptError::Empty(path.to_owned()));
        }
        Ok(Conversation {
            program: Program::Codex,
            id: id.to_owned(),
            title: first_prompt(&steps).unwrap_or_default(),
            steps,
            broken_lines: broken,
            left_out: left_out.into_counts(),
        })
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        walk(&self.sessions, DEPTH, &mut found);
        found
    }
}

/// Links are not followed.
fn walk(folder: &Path, depth: usize, found: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            continue;
        };
        if found.len() >= FILES {
            return;
        }
        if kind.is_dir() && depth > 0 {
            walk(&entry.path(), depth - 1, found);
        } else if let Some(id) = session_id(&name).filter(|_| kind.is_file()) {
            found.push((id, entry.path()));
        }
    }
}

/// `rollout-2026-03-01T10-00-00-<uuid>.jsonl`.
fn session_id(name: &str) -> Option<String> {
    let name = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let id = name.get(name.len().checked_sub(36)?..)?;
    is_uuid(id).then(|| id.to_ascii_lowercase())
}

/// None: no conversation of a person, or of another directory.
fn glance(id: &str, path: &Path, cwd: Option<&Path>) -> Option<TranscriptInfo> {
    let file = JsonLines::open(path).ok()?;
    let mut glance = Glance::default();
    file.each(|line| {
        if glance.is_elsewhere(cwd) || glance.is_agent {
            return;
        }
        if let Line::Whole(text, _) = line
            && let Ok(line) = serde_json::from_slice::<Value>(text)
        {
            glance.see(&line);
        }
    })
    .ok()?;
    let metadata = fs::symlink_metadata(path).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let is_shown = !glance.is_agent && glance.messages > 0;
    is_shown.then(|| TranscriptInfo {
        program: Program::Codex,
        id: id.to_owned(),
        title: glance.title.unwrap_or_default(),
        messages: glance.messages,
        branch: glance.branch,
        cwd: glance.cwd,
        created: glance.created,
        modified: Timestamp(u64::try_from(modified.as_millis()).unwrap_or(0)),
        bytes: metadata.len(),
        path: path.to_owned(),
    })
}

#[derive(Default)]
struct Glance {
    title: Option<String>,
    messages: u64,
    branch: Option<String>,
    cwd: Option<PathBuf>,
    created: Option<Timestamp>,
    is_agent: bool,
}

impl Glance {
    fn is_elsewhere(&self, cwd: Option<&Path>) -> bool {
        matches!((cwd, &self.cwd), (Some(cwd), Some(found)) if found != cwd)
    }

    fn see(&mut self, line: &Value) {
        let Some(payload) = line.get("payload") else { return };
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        match line.get("type").and_then(Value::as_str) {
            Some("session_meta") if self.cwd.is_none() => {
                self.cwd = text("cwd").map(PathBuf::from);
                self.created = text("timestamp").and_then(parse_iso_time);
                let branch = payload.get("git").and_then(|git| git.get("branch")?.as_str());
                self.branch = branch.map(first_words);
                // An agent that another session started.
                self.is_agent = text("parent_thread_id").is_some()
                    || payload.get("source").is_some_and(Value::is_object);
            }
            Some("response_item") => match (text("type"), text("role")) {
                (Some("message"), Some("user")) => {
                    let said = texts(payload.get("content"));
                    let Some(said) = said.iter().find(|said| is_typed(said)) else { return };
                    self.messages += 1;
                    self.title.get_or_insert_with(|| first_words(said));
                }
                (Some("message"), Some("assistant"))
                | (Some("function_call_output" | "custom_tool_call_output"), _) => {
                    self.messages += 1;
                }
                _ => {}
            },
            _ => {}
        }
    }
}

fn is_typed(text: &str) -> bool {
    let text = text.trim_start();
    !text.is_empty() && !NOT_TYPED.iter().any(|beginning| text.starts_with(beginning))
}

fn texts(content: Option<&Value>) -> Vec<&str> {
    let blocks = content.and_then(Value::as_array).into_iter().flatten();
    blocks.filter_map(|block| block.get("text")?.as_str()).collect()
}

struct RolloutReader {
    builder: StepBuilder,
    names: CallNames,
    left_out: LeftOut,
    broken: u64,
    at: Timestamp,
}

impl Default for RolloutReader {
    fn default() -> Self {
        RolloutReader {
            builder: StepBuilder::new(),
            names: CallNames::default(),
            left_out: LeftOut::default(),
            broken: 0,
            at: Timestamp::default(),
        }
    }
}

impl RolloutReader {
    fn line(&mut self, line: Line<'_>) {
        let read = match line {
            Line::Whole(text, _) => serde_json::from_slice::<Value>(text).ok(),
            Line::TooLong => None,
        };
        let Some(line) = read.filter(Value::is_object) else {
            self.broken += 1;
            return;
        };
        let at = line.get("timestamp").and_then(Value::as_str).and_then(parse_iso_time);
        self.at = at.unwrap_or(self.at);
        let Some(payload) = line.get("payload") else { return };
        match line.get("type").and_then(Value::as_str) {
            Some("turn_context") => {
                if let Some(model) = payload.get("model").and_then(Value::as_str) {
                    self.builder.model(foreign_text::model(model));
                }
            }
            Some("response_item") => self.item(payload),
            Some("compacted") => self.compacted(payload),
            Some("event_msg")
                if payload.get("type").and_then(Value::as_str) == Some("thread_rolled_back") =>
            {
                let turns = payload.get("num_turns").and_then(Value::as_u64);
                self.builder.roll_back(turns.unwrap_or(0));
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Value) {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        match text("type") {
            Some("message") => self.message(text("role"), item.get("content")),
            Some("reasoning") => {
                let summary = texts(item.get("summary")).join("\n\n");
                if !summary.is_empty() {
                    self.builder.part(Block::Thinking { text: summary, signature: None });
                }
            }
            Some("function_call") => {
                let arguments = text("arguments").unwrap_or_default();
                let input = serde_json::from_str(arguments)
                    .unwrap_or_else(|_| serde_json::json!({ "arguments": arguments }));
                self.call(text("call_id"), text("name"), &input);
            }
            Some("custom_tool_call") => {
                self.call(text("call_id"), text("name"), &serde_json::json!(text("input")));
            }
            Some("local_shell_call") => {
                let action = item.get("action").cloned().unwrap_or_default();
                self.call(text("call_id"), Some("local_shell"), &action);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                self.output(text("call_id"), item.get("output"));
            }
            kind => self.left_out.add(kind.unwrap_or("item without a type")),
        }
    }

    fn message(&mut self, role: Option<&str>, content: Option<&Value>) {
        match role {
            Some("assistant") => {
                for text in texts(content) {
                    self.builder.part(Block::text(text));
                }
            }
            Some("user") => {
                let blocks = self.blocks(content);
                if blocks.is_empty() {
                    self.left_out.add("instructions");
                }
                self.builder.prompt(blocks, self.at);
            }
            _ => self.left_out.add("instructions"),
        }
    }

    /// What the person said. What Codex put in front of it describes another program.
    fn blocks(&mut self, content: Option<&Value>) -> Vec<Block> {
        let mut blocks = Vec::new();
        for block in content.and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| block.get(key).and_then(Value::as_str);
            match (text("text"), text("image_url").map(foreign_text::image_url)) {
                (Some(text), _) if is_typed(text) => blocks.push(Block::text(text)),
                (Some(_), _) => {}
                (None, Some(Some(image))) => blocks.push(Block::Image(image)),
                (None, _) => self.left_out.add(text("type").unwrap_or("block")),
            }
        }
        blocks
    }

    fn call(&mut self, id: Option<&str>, name: Option<&str>, input: &Value) {
        let Some(id) = id else { return self.left_out.add("calls without an id") };
        let (id, name) = (self.names.of(id), foreign_text::tool_name(name.unwrap_or_default()));
        let input = foreign_text::input(Some(input));
        self.builder.part(Block::ToolUse { id, name, input, via: None });
    }

    /// A text, a list of parts, or an object with either.
    fn output(&mut self, id: Option<&str>, output: Option<&Value>) {
        let Some(id) = id else { return self.left_out.add("results without an id") };
        let inner = output.and_then(|output| output.get("content")).or(output);
        let failed =
            output.and_then(|it| it.get("success")).and_then(Value::as_bool) == Some(false);
        let content = match inner {
            Some(Value::String(text)) => vec![ResultPart::text(text.as_str())],
            other => self.parts(other),
        };
        let id = self.names.of(id);
        self.builder.result(Block::ToolResult { id, content, is_error: failed });
    }

    fn parts(&mut self, content: Option<&Value>) -> Vec<ResultPart> {
        let mut parts = Vec::new();
        for part in content.and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| part.get(key).and_then(Value::as_str);
            match (text("text"), text("image_url").and_then(foreign_text::image_url)) {
                (Some(text), _) => parts.push(ResultPart::text(text)),
                (None, Some(image)) => parts.push(ResultPart::Image(image)),
                (None, None) => self.left_out.add(text("type").unwrap_or("part")),
            }
        }
        parts
    }

    /// What the person said before is repeated by Codex; the summary stands for the rest.
    fn compacted(&mut self, payload: &Value) {
        let message = payload.get("message").and_then(Value::as_str).unwrap_or_default();
        let history = payload.get("replacement_history").and_then(Value::as_array);
        let (mut kept, mut summary) = (Vec::new(), message.to_owned());
        for item in history.into_iter().flatten() {
            if item.get("role").and_then(Value::as_str) != Some("user") {
                continue;
            }
            let content = self.blocks(item.get("content"));
            let message = Message::User { content };
            match message.text() {
                text if text.is_empty() => {}
                text if summary.is_empty() => summary = text,
                text if text.contains(summary.as_str()) => {}
                _ => kept.push(message),
            }
        }
        let summary = if summary.is_empty() { "(no summary)".to_owned() } else { summary };
        self.builder.summary(summary, kept, self.at, false);
    }
}
