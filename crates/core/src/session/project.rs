//! Entries → session. A fold, so that a resumed session is the same as one that never stopped.

use super::entry::Entry;
use crate::context::{Boundary, CarryOver, Change, apply_all};
use crate::ids::{BlobRef, CallId, ModelId, SessionId};
use crate::ledger::Usage;
use crate::message::{Block, Message};
use crate::pairing;
use crate::texts;
use crate::tool::Seen;
use crate::turn::{Continue, Terminal};
use crate::view::View;
use std::path::PathBuf;

/// What a log says, folded.
#[derive(Clone, Debug, Default)]
pub struct Session {
    pub id: Option<SessionId>,
    pub workspace: PathBuf,
    pub view: View,
    pub turns: u32,
    pub seen: Vec<Seen>,
    pub snapshots: Vec<Snapshot>,
    pub spent: Vec<Spend>,
    /// How the last turn ended; none while it is open or when the process died in it.
    pub ended: Option<Terminal>,
    /// The first prompt's text, for listings.
    pub title: String,
    /// What was carried on when the conversation was last summed up.
    pub carry: CarryOver,
    /// What the provider last reported, and how many messages that were, the answer included.
    pub reported: Option<(Usage, usize)>,
    pending: Pending,
    last_usage: Usage,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub call: CallId,
    pub path: PathBuf,
    pub before: Option<BlobRef>,
    pub mode: Option<u32>,
    pub after: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Spend {
    pub model: ModelId,
    pub usage: Usage,
    pub cost: Option<f64>,
}

/// What became of the open calls since the answer that made them.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    started: Vec<CallId>,
    results: Vec<Block>,
}

impl Pending {
    pub fn started(&mut self, id: CallId) {
        self.started.push(id);
    }

    pub fn finished(&mut self, result: Block) {
        self.results.push(result);
    }

    /// Answers the open calls: with what was recorded, and with the truth where nothing was.
    pub fn settle(self, view: &mut View) {
        let open = view.open_calls().to_vec();
        if open.is_empty() {
            return;
        }
        let truth = |id: &CallId| match self.started.contains(id) {
            true => texts::LOST_EFFECT,
            false => texts::LOST_HARMLESS,
        };
        let content = pairing::complete(&open, self.results, truth);
        view.push(Message::User { content });
    }
}

impl Session {
    pub fn fold(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut session = Session::default();
        for entry in entries {
            session.apply(entry);
        }
        session
    }

    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Opened { session, workspace, .. } => {
                self.id = Some(session);
                self.workspace = workspace;
            }
            Entry::Prompt { message, .. } => self.prompt(message),
            Entry::Answer { message, .. } => {
                self.settle();
                self.view.push(message);
                let usage = std::mem::take(&mut self.last_usage);
                self.reported = (usage.prompt() > 0).then(|| (usage, self.view.items().len()));
            }
            Entry::Note { message } => {
                self.settle_before_note(&message);
                self.view.push(message);
            }
            Entry::Went { why } => self.went(why),
            Entry::CallStarted { id } => self.pending.started(id),
            Entry::CallFinished { result, seen } => {
                self.pending.finished(result);
                self.seen.extend(seen);
            }
            Entry::Decided { .. } => {}
            Entry::Snapshot { call, path, before, mode, after } => {
                self.snapshots.push(Snapshot { call, path, before, mode, after });
            }
            Entry::Spent { model, usage, cost } => {
                self.last_usage = usage;
                self.spent.push(Spend { model, usage, cost });
            }
            Entry::Elided { results, .. } => {
                self.settle();
                self.change(&results.into_iter().map(Change::Elide).collect::<Vec<_>>());
            }
            Entry::Collapsed { stories, .. } => {
                self.settle();
                self.change(&stories.into_iter().map(Change::Collapse).collect::<Vec<_>>());
            }
            Entry::Boundary(boundary) => self.begin_at(*boundary),
            Entry::End { terminal, .. } => {
                self.settle();
                self.ended = Some(terminal);
            }
        }
    }

    /// Makes the session ready for a new prompt: whatever a dead process left open gets an honest result.
    pub fn close(mut self) -> Self {
        self.settle();
        self
    }

    fn prompt(&mut self, message: Message) {
        self.settle();
        if self.title.is_empty() {
            self.title = message.text();
        }
        self.turns += 1;
        self.ended = None;
        self.view.push(message);
    }

    fn change(&mut self, changes: &[Change]) {
        apply_all(&mut self.view, changes);
        self.reported = None;
    }

    /// All that counts of what came before stands in the boundary.
    fn begin_at(&mut self, boundary: Boundary) {
        self.settle();
        self.view = boundary.view();
        self.reported = None;
        self.carry = boundary.carry;
        self.turns = boundary.turns;
        self.title = boundary.title;
        self.seen = boundary.seen;
    }

    fn went(&mut self, why: Continue) {
        match why {
            Continue::NextTurn => self.settle(),
            Continue::ImageDropRetry => {
                self.view.drop_images();
            }
            Continue::ThinkingDropRetry => {
                self.view.drop_thinking();
            }
            _ => {}
        }
    }

    /// A note follows the results of its iteration; one that closes the calls itself brings them along, but what
    /// was recorded of them is the better truth.
    fn settle_before_note(&mut self, note: &Message) {
        let closes_calls =
            note.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }));
        if !closes_calls || !self.pending.results.is_empty() {
            self.settle();
        }
    }

    fn settle(&mut self) {
        std::mem::take(&mut self.pending).settle(&mut self.view);
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
