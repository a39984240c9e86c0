//! What a listing shows of a transcript: one pass, nothing kept.

use super::reader::is_typed;
use crate::TranscriptInfo;
use crate::conversation::Program;
use crate::error::TranscriptError;
use crate::foreign_text::first_words;
use crate::iso_time::parse_iso_time;
use crate::json_lines::{self, MAX_LINE};
use ostler_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Who wrote a line of ours, in its field `entrypoint`.
const OURS: &str = "ostler";
/// So much of a file is looked at. What is counted is too low for a longer one.
const LOOKED_AT: u64 = 64 << 20;

/// Only what a listing needs of a line. Everything else is skipped without being kept.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineHead<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    uuid: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_compact_summary: bool,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    git_branch: Option<String>,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    custom_title: Option<String>,
    #[serde(default)]
    ai_title: Option<String>,
    #[serde(default)]
    entrypoint: Option<String>,
    #[serde(default, borrow)]
    message: Option<&'a RawValue>,
}

#[derive(Default)]
struct Glance {
    messages: u64,
    first_prompt: Option<String>,
    custom_title: Option<String>,
    generated_title: Option<String>,
    branch: Option<String>,
    cwd: Option<PathBuf>,
    created: Option<Timestamp>,
    is_ours: bool,
}

/// None: there is no conversation in it, or Ostler wrote it.
pub(crate) fn glance(path: &Path, id: &str) -> Result<Option<TranscriptInfo>, TranscriptError> {
    let file = json_lines::open(path)?;
    let metadata = file.metadata().map_err(|error| TranscriptError::io("read", path, error))?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|since| u64::try_from(since.as_millis()).ok());
    let seen = Glance::of(file).map_err(|error| TranscriptError::io("read", path, error))?;
    if seen.messages == 0 || seen.is_ours {
        return Ok(None);
    }
    let title = seen.custom_title.or(seen.generated_title).or(seen.first_prompt);
    Ok(Some(TranscriptInfo {
        program: Program::ClaudeCode,
        id: id.to_owned(),
        title: title.unwrap_or_default(),
        messages: seen.messages,
        branch: seen.branch,
        cwd: seen.cwd,
        created: seen.created,
        modified: Timestamp(modified.unwrap_or(0)),
        bytes: metadata.len(),
        path: path.to_owned(),
    }))
}

impl Glance {
    fn of(file: File) -> std::io::Result<Self> {
        let mut glance = Glance::default();
        let mut reader = BufReader::with_capacity(256 << 10, file.take(LOOKED_AT));
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = MAX_LINE as u64;
            if reader.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
                return Ok(glance);
            }
            if let Ok(head) = serde_json::from_slice::<LineHead<'_>>(line.trim_ascii()) {
                glance.see(&head);
            }
        }
    }

    fn see(&mut self, head: &LineHead<'_>) {
        let title = |text: &Option<String>| text.as_deref().map(first_words);
        self.custom_title = title(&head.custom_title).or(self.custom_title.take());
        self.generated_title = title(&head.ai_title).or(self.generated_title.take());
        let spoken = matches!(head.kind.as_str(), "user" | "assistant");
        if head.uuid.is_none() || head.is_sidechain || !spoken {
            return;
        }
        self.messages += 1;
        self.is_ours |= head.entrypoint.as_deref() == Some(OURS);
        if let Some(branch) = head.git_branch.as_ref().filter(|branch| !branch.is_empty()) {
            self.branch = Some(first_words(branch));
        }
        if self.cwd.is_none() {
            self.cwd = head.cwd.as_ref().map(PathBuf::from);
        }
        if self.created.is_none() {
            self.created = head.timestamp.as_deref().and_then(parse_iso_time);
        }
        let typed = head.kind == "user" && !head.is_meta && !head.is_compact_summary;
        if typed && self.first_prompt.is_none() {
            self.first_prompt = head.message.and_then(prompt_words);
        }
    }
}

#[derive(Deserialize)]
struct PromptMessage {
    content: PromptContent,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PromptContent {
    Text(String),
    Blocks(Vec<PromptBlock>),
}

#[derive(Deserialize)]
struct PromptBlock {
    #[serde(default)]
    text: Option<String>,
}

fn prompt_words(message: &RawValue) -> Option<String> {
    let message: PromptMessage = serde_json::from_str(message.get()).ok()?;
    let texts = match message.content {
        PromptContent::Text(text) => vec![text],
        PromptContent::Blocks(blocks) => {
            blocks.into_iter().filter_map(|block| block.text).collect()
        }
    };
    texts
        .iter()
        .map(|text| text.trim())
        .find(|text| !text.is_empty() && is_typed(text))
        .map(first_words)
}
