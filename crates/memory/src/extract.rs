//! What a conversation leaves behind, by fixed rules and without asking a model: what the user wants from now on, what
//! was decided, which files were changed, which command failed and which one worked instead.
//!
//! What tools returned and what was piped in is never kept: a page or a file that says "remember to …" is not the user,
//! and an answer that repeats it decides nothing.

use crate::hearsay::Hearsay;
use crate::secrets::is_doubtful;
use crate::sentences::{decision, sentences, wish};
use crate::text::folded;
use ostler_core::ids::{CallId, SessionId};
use ostler_core::memory::{Fact, FactKind, Origin, Scope};
use ostler_core::message::{Block, Message};
use std::collections::HashSet;
use std::path::Path;

/// Facts of one conversation, at most.
const MOST_FACTS: usize = 60;
const MOST_FILES: usize = 12;
const MOST_REMEDIES: usize = 5;
/// Longer commands say little to a reader.
const LONGEST_COMMAND: usize = 160;
const LONGEST_TITLE: usize = 80;

/// Where a conversation took place.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    pub session: &'a SessionId,
    /// The number of its first prompt.
    pub first_turn: u32,
    pub folder: &'a Path,
}

/// The facts of a conversation, in the order they were stated.
pub fn facts<'a>(messages: impl IntoIterator<Item = &'a Message>, scene: Scene<'_>) -> Vec<Fact> {
    let mut reader = Reader { turn: scene.first_turn.saturating_sub(1), ..Reader::new(scene) };
    for message in messages {
        match message {
            Message::User { content } => reader.user(content),
            Message::Assistant { content, .. } => reader.assistant(content),
        }
    }
    reader.finish()
}

struct Reader<'a> {
    scene: Scene<'a>,
    turn: u32,
    title: String,
    facts: Vec<Fact>,
    open: Vec<(CallId, Call)>,
    changed: Vec<String>,
    failed: Vec<(CallId, String)>,
    remedies: usize,
    hearsay: Hearsay,
}

enum Call {
    Change(String),
    Command(String),
}

impl<'a> Reader<'a> {
    fn new(scene: Scene<'a>) -> Self {
        Reader {
            scene,
            turn: 0,
            title: String::new(),
            facts: Vec::new(),
            open: Vec::new(),
            changed: Vec::new(),
            failed: Vec::new(),
            remedies: 0,
            hearsay: Hearsay::default(),
        }
    }

    fn user(&mut self, content: &[Block]) {
        let (mut spoke, mut piped) = (false, false);
        for block in content {
            piped |= block.begins_piped();
            if piped || !matches!(block, Block::Text { meta: false, .. }) {
                self.hearsay.hears(block);
            }
            match block {
                Block::Text { text, meta: false } => {
                    if !spoke {
                        self.turn += 1;
                        spoke = true;
                    }
                    if !piped {
                        self.said(text);
                    }
                }
                Block::ToolResult { id, is_error, .. } => self.result(id, *is_error),
                _ => {}
            }
        }
    }

    fn said(&mut self, text: &str) {
        if self.title.is_empty() {
            self.title = folded(text).chars().take(LONGEST_TITLE).collect();
        }
        for sentence in sentences(text) {
            if let Some((kind, text)) = wish(&sentence) {
                self.keep(kind, text, "the user", None);
            } else if let Some(text) = decision(&sentence) {
                self.keep(FactKind::Decision, text, "the user", None);
            }
        }
    }

    fn assistant(&mut self, content: &[Block]) {
        for block in content {
            match block {
                Block::Text { text, .. } => {
                    let decided = sentences(text);
                    let decided = decided.iter().filter_map(|sentence| decision(sentence));
                    for text in decided.filter(|text| !self.hearsay.has(text)).collect::<Vec<_>>() {
                        self.keep(FactKind::Decision, text, "an answer", None);
                    }
                }
                Block::ToolUse { id, name, input } => {
                    let text = |key: &str| {
                        input.get(key).and_then(|value| value.as_str()).map(str::to_owned)
                    };
                    let call = match name.as_str() {
                        "Write" | "Edit" => text("file_path").map(Call::Change),
                        "Bash" => text("command").map(Call::Command),
                        _ => None,
                    };
                    self.open.extend(call.map(|call| (id.clone(), call)));
                }
                _ => {}
            }
        }
    }

    fn result(&mut self, id: &CallId, is_error: bool) {
        let Some(at) = self.open.iter().position(|(open, _)| open == id) else { return };
        match self.open.swap_remove(at).1 {
            Call::Change(path) if !is_error => {
                let path = self.shown(&path);
                self.changed.retain(|other| *other != path);
                self.changed.push(path);
            }
            Call::Command(command) if is_error => self.failed.push((id.clone(), command)),
            Call::Command(command) => self.worked(id, &command),
            Call::Change(_) => {}
        }
    }

    /// The command that works after one of the same program failed is how it is done.
    fn worked(&mut self, id: &CallId, command: &str) {
        let Some(at) =
            self.failed.iter().rposition(|(_, failed)| program(failed) == program(command))
        else {
            return;
        };
        let (_, failed) = self.failed.swap_remove(at);
        let short = |text: &str| !text.contains('\n') && text.len() <= LONGEST_COMMAND;
        let plain =
            short(&failed) && short(command) && !is_doubtful(&failed) && !is_doubtful(command);
        if failed != command && plain && self.remedies < MOST_REMEDIES {
            self.remedies += 1;
            let text = format!("`{failed}` failed here; `{command}` worked.");
            self.keep(FactKind::HowTo, text, id.as_str(), None);
        }
    }

    fn shown(&self, path: &str) -> String {
        let below = Path::new(path).strip_prefix(self.scene.folder);
        below.map_or_else(|_| path.to_owned(), |below| below.display().to_string())
    }

    fn keep(&mut self, kind: FactKind, text: String, source: &str, key: Option<&str>) {
        let origin = Origin {
            session: Some(self.scene.session.clone()),
            turn: Some(self.turn.max(1)),
            source: Some(source.to_owned()),
        };
        let key = key.map(str::to_owned);
        self.facts.push(Fact { text: folded(&text), kind, scope: Scope::Project, origin, key });
    }

    fn finish(mut self) -> Vec<Fact> {
        if !self.changed.is_empty() && !self.title.is_empty() {
            let more = self.changed.len().saturating_sub(MOST_FILES);
            let skip = self.changed.len() - MOST_FILES.min(self.changed.len());
            let files: Vec<String> = self.changed.iter().skip(skip).cloned().collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = format!("Work on \"{}\" changed {}{more}.", self.title, files.join(", "));
            self.keep(FactKind::Fact, text, "changed files", Some("changed"));
        }
        let mut seen = HashSet::new();
        self.facts.retain(|fact| seen.insert(crate::text::hash_of(&fact.text)));
        // The newest statements count.
        let surplus = self.facts.len().saturating_sub(MOST_FACTS);
        self.facts.drain(..surplus);
        self.facts
    }
}

/// The program and, where it has some, its subcommand.
fn program(command: &str) -> (&str, &str) {
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    (first, words.next().filter(|word| !word.starts_with('-')).unwrap_or_default())
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
