//! Folds entries into a session, so that a resumed session equals one that never stopped.

use super::agent_record::{self, AgentRecord};
use super::entry::{Entry, Verdict};
use super::pending_calls::Pending;
use crate::context::{Boundary, CarryOver, Saved, Story, ViewChange, apply_all};
use crate::event::Control;
use crate::ids::{BlobRef, CallId, InboundId, QuestionId, SessionId};
use crate::inbox::{Inbound, InboundSource};
use crate::job::JobRecord;
use crate::ledger::{Charge, ChargeStatus, Trail, Usage};
use crate::message::{Block, Message};
use crate::prompt_texts;
use crate::question::Question;
use crate::teammate::{self, PlanRecord, TeammateStatus};
use crate::todo::Plan;
use crate::tool::Seen;
use crate::tool_facts::KnownTools;
use crate::turn::{Continue, Terminal};
use crate::undo_notice;
use crate::view::View;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// The state that a log folds to.
#[derive(Clone, Debug, Default)]
pub struct SessionRecord {
    pub id: Option<SessionId>,
    pub workspace: PathBuf,
    pub view: View,
    pub turns: u32,
    pub seen: Vec<Seen>,
    pub snapshots: Vec<Snapshot>,
    /// Commands that may have changed something, in the order in which they ended or, if they did not, began.
    pub checkpoints: Vec<Checkpoint>,
    pub plan: Arc<Plan>,
    /// How the last turn ended; none while it is open or when the process died in it.
    pub ended: Option<Terminal>,
    /// The first prompt's text, for listings.
    pub title: String,
    /// What was carried on when the conversation was last summarized.
    pub carry: CarryOver,
    /// The newest request, for the first one of the next process.
    pub trail: Trail,
    /// What is known of the size of the conversation's beginning.
    pub measured: Option<Measured>,
    /// What arrived and is neither part of the conversation nor withdrawn, oldest first.
    pub inbox: Vec<Inbound>,
    /// What was asked and not decided.
    pub questions: Vec<Question>,
    /// Jobs whose end was not reported.
    pub jobs: Vec<JobRecord>,
    /// Mode, model and thinking, if they were changed since the session began.
    pub control: Option<Control>,
    /// The agents that it started, as far as the log knows.
    pub agents: Vec<AgentRecord>,
    /// What its teammates were doing last.
    pub teammates: Vec<TeammateStatus>,
    /// The last plan of its teammates for each task.
    pub plans: Vec<PlanRecord>,
    tools: KnownTools,
    pending: Pending,
    last_usage: Usage,
    /// Where each turn began; none where it was summarized since.
    begun: Vec<Option<Begun>>,
    /// What rewinds cut off, newest last, until the conversation continues.
    cut_off: Vec<CutOff>,
}

/// The conversation as it stood before a rewind.
#[derive(Clone, Debug)]
struct CutOff {
    view: View,
    seen: Vec<Seen>,
    turns: u32,
    pending: Pending,
    begun: Vec<Option<Begun>>,
}

/// The size of so many messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// As the provider reported it; the last of them is the answer.
    Reported { usage: Usage, items: usize },
    /// As it was estimated when something had been left out.
    Estimated { tokens: u64, items: usize },
}

/// How long the lists were when a turn began.
#[derive(Clone, Copy, Debug)]
struct Begun {
    items: usize,
    seen: usize,
}

/// What a command may have changed, by the numbers of the snapshots around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub call: CallId,
    pub before: u64,
    pub after: Option<u64>,
    /// The files that it could change; empty: any.
    pub only: Vec<PathBuf>,
    /// How many changes of the file tools were recorded before it.
    pub snapshots: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub call: CallId,
    pub path: PathBuf,
    pub before: Option<BlobRef>,
    pub mode: Option<u32>,
    pub after: Option<String>,
}

impl SessionRecord {
    /// For readers to whom it does not matter what calls changed: without the tools that is not carried on.
    pub fn fold(entries: impl IntoIterator<Item = Entry>) -> Self {
        SessionRecord::fold_with(KnownTools::default(), entries)
    }

    /// The tools say which files their calls changed.
    pub fn fold_with(tools: KnownTools, entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut session = SessionRecord { tools, ..SessionRecord::default() };
        for entry in entries {
            session.apply(entry);
        }
        session
    }

    /// What calls changed is carried on for these tools, from here on.
    pub fn know_tools(&mut self, tools: KnownTools) {
        self.tools = tools;
    }

    pub fn apply(&mut self, entry: Entry) {
        if goes_on(&entry) {
            self.cut_off.clear();
        }
        match entry {
            Entry::Opened { session, workspace, .. } => {
                (self.id, self.workspace) = (Some(session), workspace);
            }
            Entry::Prompt { message, inbound, .. } => {
                self.prompt(message);
                self.admitted(&inbound);
            }
            Entry::Answer { message, .. } => self.answered(message),
            Entry::Note { message, inbound } => {
                self.note(message);
                self.admitted(&inbound);
            }
            Entry::Inbound(item) => self.arrived(*item),
            Entry::Asked { question, .. } => self.open_question(*question),
            Entry::Withdrawn { inbound, questions } => {
                self.admitted(&inbound);
                self.questions.retain(|had| !questions.contains(&had.id));
            }
            Entry::Control(control) => self.control = Some(control),
            Entry::Went { why } => self.went(why),
            Entry::CallStarted { id } => self.pending.started(id),
            Entry::Detached { job } => self.jobs.push(*job),
            Entry::CallFinished { result, seen } => self.finished(result, seen),
            Entry::Decided { call, question, verdict, input, .. } => {
                self.decided(&call, question.as_ref());
                if let (Verdict::Allow, Some(input)) = (verdict, input) {
                    self.input_changed(call, input);
                }
            }
            Entry::Snapshot { call, path, before, mode, after } => {
                self.snapshots.push(Snapshot { call, path, before, mode, after });
            }
            Entry::Checkpoint { call, before, after, only, .. } => {
                self.checkpoint(call, before, after, only);
            }
            Entry::Rewound { turn, .. } => self.rewind(turn),
            Entry::RewindUndone { .. } => self.undo_rewind(),
            Entry::Planned { plan } => self.plan = Arc::new(plan),
            Entry::Spent { model, usage, charge, front, .. } => {
                self.trail.spent(&model, &usage, charge.as_deref(), front.map(|front| *front));
                self.last_usage = known_usage(usage, charge.as_deref());
            }
            Entry::Elided { results, saved, .. } => {
                self.settle();
                self.change(results.into_iter().map(ViewChange::Elide), saved);
            }
            Entry::Collapsed { stories, saved } => self.collapsed(stories, saved),
            Entry::Boundary(boundary) => self.begin_at(*boundary),
            Entry::End { terminal, .. } => self.end(terminal),
            Entry::Agent(record) => agent_record::add(&mut self.agents, *record),
            Entry::Teammate { status, .. } => teammate::add(&mut self.teammates, *status),
            Entry::TeammatePlan { plan, .. } => teammate::add_plan(&mut self.plans, *plan),
        }
    }

    /// Makes the session ready for a new prompt: whatever a dead process left open gets an honest result.
    pub fn close(mut self) -> Self {
        self.settle();
        self
    }

    fn answered(&mut self, message: Message) {
        self.settle();
        if self.view.is_empty() || self.ended.is_some() {
            self.lost_prompt();
        }
        self.view.push(message);
        let usage = std::mem::take(&mut self.last_usage);
        let items = self.view.items().len();
        self.measured = (usage.prompt() > 0).then_some(Measured::Reported { usage, items });
    }

    fn finished(&mut self, result: Block, seen: Vec<Seen>) {
        // A deferred call that is answered: the turn continues.
        self.ended = self.ended.filter(|ended| *ended != Terminal::ToolDeferred);
        if let Block::ToolResult { id, .. } = &result {
            self.questions.retain(|had| had.call != *id);
        }
        self.pending.finished(result);
        self.seen.extend(seen);
    }

    fn end(&mut self, terminal: Terminal) {
        // A deferred call is neither run nor answered: the turn continues there when it is resumed.
        if terminal != Terminal::ToolDeferred {
            self.settle();
        }
        self.ended = Some(terminal);
    }

    fn decided(&mut self, call: &CallId, question: Option<&QuestionId>) {
        self.questions.retain(|had| match question {
            Some(id) => had.id != *id,
            None => had.call != *call,
        });
    }

    /// What is carried on of the call goes by what ran.
    fn input_changed(&mut self, call: CallId, input: Value) {
        let blocks = self.view.messages().last().map(Message::blocks).unwrap_or_default();
        let name = blocks.iter().find_map(|block| match block {
            Block::ToolUse { id, name, .. } if *id == call => Some(name),
            _ => None,
        });
        if let Some(name) = name {
            let files = self.tools.facts(name).changed(&input).map(str::to_owned).collect();
            self.carry.ran_on(call.clone(), files);
        }
        self.pending.changed(call, input);
    }

    /// A call that is asked about again has one question.
    fn open_question(&mut self, question: Question) {
        self.questions.retain(|had| had.call != question.call);
        self.questions.push(question);
    }

    fn arrived(&mut self, item: Inbound) {
        if let InboundSource::Job { id, .. } = &item.source {
            self.jobs.retain(|job| job.id.as_str() != id);
        }
        if self.inbox.iter().all(|had| had.id != item.id) {
            self.inbox.push(item);
        }
    }

    /// Pending no longer, whatever became of them.
    fn admitted(&mut self, ids: &[InboundId]) {
        self.inbox.retain(|had| !ids.contains(&had.id));
    }

    /// What became of the open calls so far.
    pub fn pending(&self) -> &Pending {
        &self.pending
    }

    fn prompt(&mut self, message: Message) {
        self.settle();
        if self.title.is_empty() {
            self.title = message.text();
        }
        self.turns += 1;
        self.ended = None;
        self.begun.push(Some(Begun { items: self.view.items().len(), seen: self.seen.len() }));
        self.record_undo_notices(&message);
        self.view.push(message);
    }

    /// The model learns of an undo once, whatever happens to the message later.
    fn record_undo_notices(&mut self, message: &Message) {
        let told = message.blocks().iter().filter_map(undo_notice::told_in).max();
        self.carry.undo_told = self.carry.undo_told.max(told.unwrap_or(0));
    }

    /// An answer that nobody asked for: the record of its prompt could not be read. Without one in its place the answer
    /// and all that belongs to it would go, too.
    fn lost_prompt(&mut self) {
        self.turns += 1;
        self.ended = None;
        self.begun.push(Some(Begun { items: self.view.items().len(), seen: self.seen.len() }));
        self.view.push(Message::meta(prompt_texts::LOST_PROMPT));
    }

    /// Lists of what happened that only a new process reads. The log has them; a session that continues for days would
    /// fill the memory with them.
    pub fn forget_history(&mut self) {
        self.snapshots = Vec::new();
        self.checkpoints = Vec::new();
        self.cut_off = Vec::new();
    }

    /// Everything that was said, and what was seen meanwhile. A process that reads the log has it again.
    pub fn forget_conversation(&mut self) {
        self.forget_history();
        self.view = View::default();
        (self.seen, self.begun) = (Vec::new(), Vec::new());
    }

    fn checkpoint(&mut self, call: CallId, before: u64, after: Option<u64>, only: Vec<PathBuf>) {
        self.checkpoints.retain(|other| other.call != call || other.after.is_some());
        let snapshots = self.snapshots.len();
        self.checkpoints.push(Checkpoint { call, before, after, only, snapshots });
    }

    /// There is such a turn, and the conversation before it was not changed.
    pub fn can_rewind(&self, turn: u32) -> bool {
        self.begun_at(turn).is_some()
    }

    fn begun_at(&self, turn: u32) -> Option<(usize, Begun)> {
        let at = usize::try_from(turn).ok()?.checked_sub(1)?;
        Some((at, (*self.begun.get(at)?)?))
    }

    /// What came after is forgotten, also what the model saw of files; what was done to them is not.
    fn rewind(&mut self, turn: u32) {
        let Some((at, begun)) = self.begun_at(turn) else { return };
        self.cut_off.push(CutOff {
            view: self.view.clone(),
            seen: self.seen.clone(),
            turns: self.turns,
            pending: std::mem::take(&mut self.pending),
            begun: self.begun.clone(),
        });
        self.questions.clear();
        self.view.truncate(begun.items);
        self.seen.truncate(begun.seen);
        self.begun.truncate(at);
        self.turns = turn - 1;
        self.measured = None;
        self.trail.cut();
    }

    /// The last rewind can be taken back: nothing was said since.
    pub fn can_undo_rewind(&self) -> bool {
        !self.cut_off.is_empty()
    }

    fn undo_rewind(&mut self) {
        let Some(CutOff { view, seen, turns, pending, begun }) = self.cut_off.pop() else { return };
        (self.view, self.seen, self.turns) = (view, seen, turns);
        (self.pending, self.begun) = (pending, begun);
        self.measured = None;
        self.trail.cut();
    }

    /// Stories are shorter than what they stand for; a turn that began inside of one is no longer there.
    fn move_begun(&mut self, before: usize, stories: &[Story]) {
        let gone: usize = stories.iter().map(|story| story.count.saturating_sub(1)).sum();
        let as_told = self.view.items().len().checked_add(gone) == Some(before);
        for begun in &mut self.begun {
            let moved = begun.filter(|_| as_told).and_then(|Begun { items, seen }| {
                let mut less = 0;
                for Story { first, count, .. } in stories {
                    if items >= first + count {
                        less += count.saturating_sub(1);
                    } else if items > *first {
                        return None;
                    }
                }
                Some(Begun { items: items.checked_sub(less)?, seen })
            });
            *begun = moved;
        }
    }

    /// What the exchanges of these stories did is in no message from here on.
    fn carry_on(&mut self, stories: &[Story]) {
        for Story { first, count, .. } in stories {
            let told = self.view.messages().skip(*first).take(*count);
            self.carry = std::mem::take(&mut self.carry).and_of(told, &self.tools);
        }
    }

    fn collapsed(&mut self, stories: Vec<Story>, saved: Saved) {
        self.settle();
        let before = self.view.items().len();
        let replaced = stories.clone();
        self.carry_on(&stories);
        self.change(stories.into_iter().map(ViewChange::Collapse), saved);
        self.move_begun(before, &replaced);
    }

    fn change(&mut self, changes: impl Iterator<Item = ViewChange>, saved: Saved) {
        apply_all(&mut self.view, &changes.collect::<Vec<_>>());
        self.measure(saved.after);
    }

    /// Something was left out on purpose.
    fn measure(&mut self, tokens: u64) {
        self.trail.cut();
        let items = self.view.items().len();
        self.measured = Some(Measured::Estimated { tokens, items });
    }

    /// The boundary contains everything that still matters of what came before.
    fn begin_at(&mut self, boundary: Boundary) {
        self.settle();
        self.view = boundary.view();
        self.measure(boundary.receipt.after);
        self.carry = boundary.carry;
        self.turns = boundary.turns;
        self.title = boundary.title;
        self.seen = boundary.seen;
        self.inbox = boundary.inbox;
        self.questions = boundary.questions;
        self.jobs = boundary.jobs;
        self.control = boundary.control;
        self.begun = vec![None; usize::try_from(self.turns).unwrap_or_default()];
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
    fn note(&mut self, note: Message) {
        let closes_calls =
            note.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }));
        if !closes_calls || self.pending.has_results() {
            self.settle();
        }
        self.record_undo_notices(&note);
        self.view.push(note);
    }

    /// A question is about an open call, so none outlives this.
    fn settle(&mut self) {
        self.questions.clear();
        std::mem::take(&mut self.pending).settle(&mut self.view);
    }
}

/// An estimate teaches nothing about sizes.
fn known_usage(usage: Usage, charge: Option<&Charge>) -> Usage {
    let is_known = charge.is_none_or(|charge| charge.status != ChargeStatus::Estimated);
    if is_known { usage } else { Usage::default() }
}

/// The conversation changes here, so what was derived from it is reset.
fn goes_on(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Prompt { .. }
            | Entry::Answer { .. }
            | Entry::Note { .. }
            | Entry::Elided { .. }
            | Entry::Collapsed { .. }
            | Entry::Boundary(_)
    )
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
