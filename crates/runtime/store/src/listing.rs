//! What a listing shows of a log, without loading it: one pass in a small buffer, checks left out.

use crate::line;
use ostler_core::ids::SessionId;
use ostler_core::message::Message;
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

const BUFFER: usize = 64 << 10;
/// Enough of a line to see what kind of fact it holds.
const KIND_BYTES: u64 = 64;
/// So much of a prompt is looked at for the title.
const PROMPT_BYTES: u64 = 64 << 10;
/// A title that does not come so early is not looked for.
const TITLE_WITHIN: u64 = 1 << 20;
const TITLE_CHARS: usize = 1000;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct LogSummary {
    pub created: Option<Timestamp>,
    pub workspace: Option<PathBuf>,
    pub title: String,
    /// Facts that hold a message: prompts, answers, notes.
    pub messages: u64,
    /// Another session started it.
    pub is_child: bool,
    /// The conversation that it began with.
    pub forked_from: Option<SessionId>,
}

impl LogSummary {
    /// A file that a process died over before anything stood in it is no session to show.
    pub fn is_empty(&self) -> bool {
        self.created.is_none() && self.messages == 0
    }
}

pub(crate) fn summarise(source: impl Read) -> io::Result<LogSummary> {
    let mut source = BufReader::with_capacity(BUFFER, source);
    let mut summary = LogSummary::default();
    let mut at = 0;
    let mut start = Vec::new();
    loop {
        let untitled = summary.title.is_empty() && at < TITLE_WITHIN;
        start.clear();
        let limit = if untitled { PROMPT_BYTES } else { KIND_BYTES };
        let read = source.by_ref().take(limit).read_until(b'\n', &mut start)?;
        if read == 0 {
            return Ok(summary);
        }
        let whole = start.pop_if(|last| *last == b'\n').is_some();
        let rest = if whole { 0 } else { source.skip_until(b'\n')? };
        at += (read + rest) as u64;
        summary.look_at(&start, untitled);
    }
}

impl LogSummary {
    fn look_at(&mut self, start: &[u8], untitled: bool) {
        let fact = line::fact(start);
        self.messages += u64::from(matches!(fact, Some(b"prompt" | b"answer" | b"note")));
        match fact {
            Some(b"opened") if self.created.is_none() => {
                let opened = entry(start);
                if let Some(Entry::Opened { at, workspace, started_by, forked_from, .. }) = opened {
                    self.created = Some(at);
                    self.workspace = Some(workspace);
                    self.is_child = started_by.is_some();
                    self.forked_from = forked_from.map(|fork| fork.session);
                }
            }
            Some(b"prompt") if untitled => {
                self.title = match entry(start) {
                    Some(Entry::Prompt { message, .. }) => title(&message),
                    _ => shorten(&first_text(start)),
                };
            }
            _ => {}
        }
    }
}

pub(crate) fn title(message: &Message) -> String {
    shorten(&message.text())
}

fn shorten(text: &str) -> String {
    beginning_of_prompt(text).chars().take(TITLE_CHARS).collect()
}

/// What a prompt is about. That of a worker quotes a task of the board, whose title is in the second line.
pub fn beginning_of_prompt(text: &str) -> &str {
    let text = text.trim();
    let quoted = text.split_once('\n').filter(|(line, _)| line.starts_with("<board-task "));
    quoted.map_or(text, |(_, rest)| rest.trim_start())
}

fn entry(line: &[u8]) -> Option<Entry> {
    line::parse(line::decode(line)?.json).ok()
}

/// The beginning of a person's text in a line of which only the beginning is at hand.
fn first_text(start: &[u8]) -> String {
    const TEXT: &str = "{\"type\":\"text\",\"text\":\"";
    let text = String::from_utf8_lossy(start);
    let mut rest = &*text;
    while let Some((_, after)) = rest.split_once(TEXT) {
        let end = closing_quote(after).unwrap_or(after.len());
        let (inner, tail) = after.split_at(end);
        if !tail.starts_with("\",\"meta\":true") {
            return unescape(inner);
        }
        rest = tail;
    }
    String::new()
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// The longest beginning that is a JSON string; what is cut off is at most half a pair of `\uXXXX`.
fn unescape(inner: &str) -> String {
    let mut inner = inner.trim_end_matches('\u{fffd}').to_owned();
    for _ in 0..12 {
        if let Ok(text) = serde_json::from_str(&format!("\"{inner}\"")) {
            return text;
        }
        inner.pop();
    }
    String::new()
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
