//! A conversation of another program, and the entries of a session that begins with it.

use crate::foreign_text;
use ostler_core::context::{Boundary, CarryOver, Made, Receipt, Trigger};
use ostler_core::ids::{CallId, ModelId};
use ostler_core::message::{Block, Message};
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use ostler_core::turn::Terminal;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    ClaudeCode,
    Codex,
    OpenCode,
}

impl Program {
    /// On the command line.
    pub fn word(self) -> &'static str {
        match self {
            Program::ClaudeCode => "claude",
            Program::Codex => "codex",
            Program::OpenCode => "opencode",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Program::ClaudeCode => "Claude Code",
            Program::Codex => "Codex",
            Program::OpenCode => "opencode",
        })
    }
}

/// What was said, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A person's words. A turn begins.
    Prompt {
        content: Vec<Block>,
        at: Timestamp,
    },
    /// Something that was added to the conversation in between.
    Note {
        content: Vec<Block>,
    },
    Answer {
        content: Vec<Block>,
        model: ModelId,
    },
    /// Results of calls.
    Results(Vec<Block>),
    /// Everything before was summarized; these messages stayed word for word.
    Summary {
        text: String,
        kept: Vec<Message>,
        at: Timestamp,
        manual: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    pub program: Program,
    pub id: String,
    pub title: String,
    pub steps: Vec<Step>,
    /// Lines that could not be read.
    pub broken_lines: u64,
    /// What was left out, by its kind.
    pub left_out: BTreeMap<String, u64>,
}

impl Conversation {
    /// What the import is recorded as in the log of the new session.
    pub fn origin(&self) -> String {
        format!("{}:{}", self.program.word(), self.id)
    }

    pub fn messages(&self) -> u64 {
        let spoken = |step: &&Step| !matches!(step, Step::Summary { .. } | Step::Note { .. });
        self.steps.iter().filter(spoken).count() as u64
    }

    /// What a person should know about the import, in one line.
    pub fn words(&self) -> String {
        let mut line = format!(
            "imported {} from {} session {}",
            ostler_core::text::counted(self.messages(), "message"),
            self.program,
            self.id
        );
        if self.broken_lines > 0 {
            let lines = ostler_core::text::counted(self.broken_lines, "broken line");
            line.push_str(&format!("; {lines} skipped"));
        }
        let left: Vec<String> =
            self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        if !left.is_empty() {
            line.push_str(&format!("; left out: {}", left.join(", ")));
        }
        line
    }

    /// Everything after the first entry of the new session.
    pub fn entries(&self) -> Vec<Entry> {
        let mut maker = EntryMaker::default();
        for step in &self.steps {
            maker.step(step);
        }
        maker.end()
    }
}

#[derive(Default)]
struct EntryMaker {
    entries: Vec<Entry>,
    in_turn: bool,
    turns: u32,
    title: String,
    newest: Timestamp,
    /// Calls of the last answer without a result.
    open: Vec<CallId>,
}

impl EntryMaker {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Prompt { content, at } => {
                self.end_turn();
                let message = Message::User { content: content.clone() };
                if self.title.is_empty() {
                    self.title = message.text();
                }
                self.newest = self.newest.max(*at);
                (self.in_turn, self.turns) = (true, self.turns + 1);
                self.entries.push(Entry::prompt(message, *at));
            }
            Step::Note { content } => {
                let message = Message::User { content: content.clone() };
                self.entries.push(Entry::note(message));
            }
            Step::Answer { content, model } => {
                self.close_calls();
                let message = Message::assistant(model, content.clone());
                self.open = message.calls().cloned().collect();
                self.in_turn = true;
                self.entries.push(Entry::Answer { message, stop: None });
            }
            Step::Results(results) => self.results(results),
            Step::Summary { text, kept, at, manual } => {
                self.newest = self.newest.max(*at);
                self.summarized(text, kept, *manual);
            }
        }
    }

    /// Only results of open calls: others would be dropped anyway.
    fn results(&mut self, results: &[Block]) {
        for result in results {
            let Block::ToolResult { id, .. } = result else { continue };
            let Some(at) = self.open.iter().position(|open| open == id) else { continue };
            self.open.remove(at);
            self.entries.push(Entry::CallFinished { result: result.clone(), seen: Vec::new() });
        }
    }

    /// Nobody knows how far a call got that has no result: it may have changed something.
    fn close_calls(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.entries.extend(open.into_iter().map(|id| Entry::CallStarted { id }));
    }

    fn end_turn(&mut self) {
        self.close_calls();
        if std::mem::take(&mut self.in_turn) {
            self.entries.push(Entry::End { terminal: Terminal::Completed, at: self.newest });
        }
    }

    fn summarized(&mut self, text: &str, kept: &[Message], manual: bool) {
        self.close_calls();
        let carry =
            CarryOver { goal: foreign_text::first_words(&self.title), ..CarryOver::default() };
        let receipt = Receipt {
            trigger: if manual { Trigger::Manual } else { Trigger::Auto },
            made: Made::Extract { why: "it was written by the program that it came from".into() },
            messages: self.entries.len() as u64,
            calls: Vec::new(),
            calls_dropped: 0,
            kept: kept.len() as u64,
            before: 0,
            after: (text.len() / 4) as u64,
            requests: 0,
            attached: Vec::new(),
        };
        let boundary = Boundary {
            head: vec![foreign_text::summary(text)],
            kept: kept.to_vec(),
            carry,
            receipt,
            turns: self.turns,
            title: self.title.clone(),
            seen: Vec::new(),
            at: self.newest,
            inbox: Vec::new(),
            questions: Vec::new(),
            jobs: Vec::new(),
            control: None,
        };
        self.entries.push(Entry::Boundary(Box::new(boundary)));
    }

    fn end(mut self) -> Vec<Entry> {
        self.end_turn();
        self.entries
    }
}

/// Counts what is left out.
#[derive(Default)]
pub(crate) struct LeftOut(BTreeMap<String, u64>);

impl LeftOut {
    /// Kinds that are listed by name; the rest is counted together.
    const KINDS: usize = 8;

    pub fn add(&mut self, kind: &str) {
        self.add_many(kind, 1);
    }

    pub fn add_all(&mut self, other: LeftOut) {
        for (kind, count) in other.0 {
            self.add_many(&kind, count);
        }
    }

    fn add_many(&mut self, kind: &str, count: u64) {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_-. ".contains(*c);
        let name: String = kind.chars().filter(is_plain).take(40).collect();
        let known = self.0.contains_key(&name) || self.0.len() < LeftOut::KINDS;
        let name = if known && !name.is_empty() { name } else { "others".into() };
        *self.0.entry(name).or_default() += count;
    }

    pub fn into_counts(self) -> BTreeMap<String, u64> {
        self.0
    }
}

/// Messages without the calls whose results are missing and without results whose calls are, as a boundary keeps them.
pub(crate) fn paired(messages: Vec<Message>) -> Vec<Message> {
    let ids = |is_call: bool| -> HashSet<CallId> {
        let blocks = messages.iter().flat_map(|message| message.blocks());
        let id = |block: &Block| match block {
            Block::ToolUse { id, .. } if is_call => Some(id.clone()),
            Block::ToolResult { id, .. } if !is_call => Some(id.clone()),
            _ => None,
        };
        blocks.filter_map(id).collect()
    };
    let (calls, results) = (ids(true), ids(false));
    let is_kept = |block: &Block| match block {
        Block::ToolUse { id, .. } => results.contains(id),
        Block::ToolResult { id, .. } => calls.contains(id),
        _ => true,
    };
    let mut messages = messages;
    for message in &mut messages {
        message.blocks_mut().retain(is_kept);
    }
    messages.retain(|message| !message.blocks().is_empty());
    messages
}
