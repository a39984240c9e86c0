//! What a conversation leaves behind, by fixed rules and without asking a model: what the user wants from now on, what
//! was decided, which files were changed, which command failed and which one worked instead.
//!
//! What tools returned and what was piped in is never kept: a page or a file that says "remember to …" is not the user,
//! and an answer that repeats it decides nothing.

use crate::secrets::is_doubtful;
use crate::sentences::{decision, sentences, wish};
use crate::text::folded;
use crate::third_party_text::Hearsay;
use ostler_core::ids::{CallId, SessionId};
use ostler_core::memory::{FactKind, MemoryFact, Origin, Scope};
use ostler_core::message::{Block, Message};
use ostler_core::tool_facts::{KnownTools, ToolKind};
use std::collections::HashSet;
use std::path::Path;

/// Facts of one conversation, at most.
const MOST_FACTS: usize = 60;
const MOST_FILES: usize = 12;
const MOST_REMEDIES: usize = 5;
/// Longer commands say little to a reader.
const LONGEST_COMMAND: usize = 160;
const LONGEST_TITLE: usize = 80;

/// Lines of a prompt that nobody writes by hand, and those at its ends that somebody does.
const LONG_PROMPT: usize = 40;
const OWN_LINES: usize = 5;
/// Programs that fail when they find nothing: another call of them is no remedy.
const LOOKING: [&str; 16] = [
    "ls", "cat", "grep", "rg", "find", "fd", "head", "tail", "sed", "awk", "test", "[", "diff",
    "stat", "which", "echo",
];

/// Where a conversation took place.
#[derive(Clone, Copy, Debug)]
pub struct LearningScene<'a> {
    pub session: &'a SessionId,
    /// The number of its first prompt.
    pub first_turn: u32,
    pub folder: &'a Path,
    /// What it was about from its beginning, if that lies before what is read here.
    pub title: &'a str,
    /// Files that were changed before what is read here.
    pub changed: &'a [String],
    /// They say which calls change a file or run a command.
    pub tools: &'a KnownTools,
}

/// The facts of a conversation, in the order they were stated.
pub fn facts<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    scene: LearningScene<'_>,
) -> Vec<MemoryFact> {
    let mut reader = ConversationReader {
        turn: scene.first_turn.saturating_sub(1),
        ..ConversationReader::new(scene)
    };
    reader.begun(scene.title);
    scene.changed.iter().for_each(|path| reader.change(path));
    for message in messages {
        match message {
            Message::User { content } => reader.user(content),
            Message::Assistant { content, .. } => reader.assistant(content),
        }
    }
    reader.finish()
}

struct ConversationReader<'a> {
    scene: LearningScene<'a>,
    turn: u32,
    title: String,
    facts: Vec<MemoryFact>,
    open: Vec<(CallId, LearntCall)>,
    changed: Vec<String>,
    changes: usize,
    failed: Vec<FailedCommand>,
    remedies: usize,
    hearsay: Hearsay,
}

struct FailedCommand {
    command: String,
    turn: u32,
    /// Changed files at that moment.
    changed: usize,
}

enum LearntCall {
    Change(String),
    Command(String),
}

impl<'a> ConversationReader<'a> {
    fn new(scene: LearningScene<'a>) -> Self {
        ConversationReader {
            scene,
            turn: 0,
            title: String::new(),
            facts: Vec::new(),
            open: Vec::new(),
            changed: Vec::new(),
            changes: 0,
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

    fn begun(&mut self, text: &str) {
        if self.title.is_empty() {
            self.title = title(&folded(text));
        }
    }

    fn change(&mut self, path: &str) {
        let path = self.shown(path);
        self.changed.retain(|other| *other != path);
        self.changed.push(path);
    }

    fn said(&mut self, text: &str) {
        self.begun(text);
        for sentence in sentences(&own_words(text)) {
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
                Block::ToolUse { id, name, input, .. } => {
                    let facts = self.scene.tools.facts(name);
                    let command = match facts.kind {
                        ToolKind::Runs => {
                            facts.main_input().and_then(|name| input.get(name)?.as_str())
                        }
                        _ => None,
                    };
                    let changes =
                        facts.changed(input).map(|path| LearntCall::Change(path.to_owned()));
                    let commands = command.map(|text| LearntCall::Command(text.to_owned()));
                    self.open.extend(changes.chain(commands).map(|call| (id.clone(), call)));
                }
                _ => {}
            }
        }
    }

    fn result(&mut self, id: &CallId, is_error: bool) {
        while let Some(at) = self.open.iter().position(|(open, _)| open == id) {
            let (_, call) = self.open.swap_remove(at);
            self.ended(id, call, is_error);
        }
    }

    fn ended(&mut self, id: &CallId, call: LearntCall, is_error: bool) {
        match call {
            LearntCall::Change(path) if !is_error => {
                self.change(&path);
                self.changes += 1;
            }
            LearntCall::Command(command) if is_error => {
                let (turn, changed) = (self.turn, self.changes);
                self.failed.push(FailedCommand { command, turn, changed });
            }
            LearntCall::Command(command) => self.worked(id, &command),
            LearntCall::Change(_) => {}
        }
    }

    /// The command that works after one of the same program failed is how it is done: in the same turn, and if no file
    /// was changed meanwhile, which is what made it work then.
    fn worked(&mut self, id: &CallId, command: &str) {
        let (turn, changed) = (self.turn, self.changes);
        let is_remedied = |failed: &FailedCommand| {
            program(&failed.command) == program(command)
                && (failed.turn, failed.changed) == (turn, changed)
        };
        let Some(at) = self.failed.iter().rposition(is_remedied) else { return };
        let FailedCommand { command: failed, .. } = self.failed.swap_remove(at);
        let short = |text: &str| !text.contains('\n') && text.len() <= LONGEST_COMMAND;
        let looks = LOOKING.contains(&program(command).0);
        let plain =
            short(&failed) && short(command) && !is_doubtful(&failed) && !is_doubtful(command);
        if failed != command && plain && !looks && self.remedies < MOST_REMEDIES {
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
        self.facts.push(MemoryFact {
            text: folded(&text),
            kind,
            scope: Scope::Project,
            origin,
            key,
        });
    }

    fn finish(mut self) -> Vec<MemoryFact> {
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

/// Whole sentences as far as they fit, else whole words.
fn title(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(LONGEST_TITLE) else { return text.to_owned() };
    let head = text.get(..end).unwrap_or_default();
    match head.rfind(". ") {
        Some(at) => head.get(..=at).unwrap_or(head).to_owned(),
        None => format!("{}…", head.rfind(' ').and_then(|at| head.get(..at)).unwrap_or(head)),
    }
}

/// The program and, where it has some, its subcommand; after directories and variables in front of it.
fn program(command: &str) -> (&str, &str) {
    let mut rest = command.trim_start();
    while let Some((first, after)) = rest.split_once("&&") {
        if !first.trim_start().starts_with("cd ") {
            break;
        }
        rest = after;
    }
    let mut words = rest.split_whitespace().skip_while(|word| word.contains('='));
    let first = words.next().unwrap_or_default();
    (first, words.next().filter(|word| !word.starts_with('-')).unwrap_or_default())
}

/// A long prompt is mostly pasted: only its beginning and its end are the person's own words.
fn own_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= LONG_PROMPT {
        return text.to_owned();
    }
    let end = lines.len() - OWN_LINES;
    let own = lines.iter().take(OWN_LINES).chain(lines.iter().skip(end));
    own.copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
