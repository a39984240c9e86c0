//! What a surface needs to display a session, as a pure fold over its envelopes.
//!
//! **The law**: the state at a sequence number plus the envelopes after it is the same as all envelopes from the start,
//! at every number, also between two deltas and after a way through JSON. A surface that joins late therefore misses
//! nothing that is still on the screen of one that was there.
//!
//! The size is bounded by one answer: deltas give way to blocks, tails replace each other, a finished call keeps an
//! excerpt of its result, notices are the last [`NOTICES`].

mod live;

pub use live::{
    Backoff, CallStage, ContextFill, EXCERPT, LiveAnswer, LiveCall, LiveTurn, RecentNotice,
    Spending, TurnPhase,
};

use crate::event::{AgentPath, Control, Envelope, Event, Finished};
use crate::ids::{CallId, QuestionId};
use crate::inbox::QueuedItem;
use crate::ledger::Usage;
use crate::message::Block;
use crate::model::Retry;
use crate::question::Question;
use crate::teammate::TeammateStatus;
use crate::time::Timestamp;
use crate::todo::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Notices that are kept.
pub const NOTICES: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionState {
    /// The last envelope that is part of this; 0 before the first.
    pub seq: u64,
    /// The call that started this agent; none for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<LiveTurn>,
    #[serde(default)]
    pub answer: LiveAnswer,
    /// Of the current iteration, in the order in which they became known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<LiveCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// What waits to be delivered, in the order of its arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueuedItem>,
    /// What a person has to answer, oldest first. See [`SessionState::open_questions`] for those of all agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<Plan>>,
    #[serde(default)]
    pub context: ContextFill,
    /// What the finished turns cost. See [`SessionState::spent_so_far`] for the sum with the running one.
    #[serde(default)]
    pub spent: Spending,
    /// None until something was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// How the last turn that came to its end did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Box<Finished>>,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub notices: VecDeque<RecentNotice>,
    /// Why the session was closed, once it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// The agents below this one that are not closed, by their whole path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, SessionState>,
    /// What its teammates are doing, by their path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub teammates: BTreeMap<String, TeammateStatus>,
}

impl SessionState {
    pub fn apply(&mut self, envelope: &Envelope) {
        self.seq = envelope.seq;
        // A teammate is there also when no session of it is open.
        if let Event::TeammateChanged(status) = &envelope.event {
            self.teammates.insert(envelope.agent.to_string(), status.clone());
        } else if envelope.agent.is_root() {
            self.apply_own(envelope.at, &envelope.event);
            // An answer given at the root may be about a question from below.
            if let Event::QuestionClosed { id, .. } = &envelope.event {
                self.agents.values_mut().for_each(|agent| agent.close_question(id));
            }
        } else if let Event::Closed { .. } = &envelope.event {
            self.remove_agent(&envelope.agent);
        } else {
            let agent = self.agents.entry(envelope.agent.to_string()).or_default();
            agent.seq = envelope.seq;
            agent.parent.clone_from(&envelope.parent);
            agent.apply_own(envelope.at, &envelope.event);
        }
    }

    /// The open questions of the session's own agent and of those below it.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        let below = self.agents.values().flat_map(|agent| agent.questions.iter());
        self.questions.iter().chain(below)
    }

    /// What finished turns cost, and the sealed answers of a running one.
    pub fn spent_so_far(&self) -> Spending {
        let running = self.turn.as_ref().map_or_else(Spending::default, |turn| turn.spent);
        self.spent.plus(running)
    }

    /// A turn has started and not come to its end.
    pub fn is_running(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.phase != TurnPhase::Finished)
    }

    /// An agent takes those that it started with it.
    fn remove_agent(&mut self, path: &AgentPath) {
        let path = path.to_string();
        let below = format!("{path}/");
        self.agents.retain(|name, _| *name != path && !name.starts_with(&below));
    }

    fn apply_own(&mut self, at: Timestamp, event: &Event) {
        if ends_backoff(event) {
            self.backoff = None;
        }
        match event {
            Event::TurnStarted { turn } => self.start_turn(*turn, at),
            Event::IterationStarted { n, model, why, window } => {
                self.clear_iteration();
                self.context.window = *window;
                let turn = self.turn.get_or_insert_default();
                turn.phase = TurnPhase::Waiting;
                turn.iteration = *n;
                turn.model = Some(model.clone());
                turn.why = *why;
            }
            Event::Retrying(retry) => self.backoff = Some(backoff(at, retry)),
            Event::AnswerStarted { .. }
            | Event::TextDelta { .. }
            | Event::ThinkingDelta { .. }
            | Event::BlockFinished { .. } => self.hear_answer(event),
            Event::AnswerSealed { usage, cost, .. } => self.seal(*usage, *cost),
            Event::AnswerDropped => {
                self.clear_iteration();
                self.set_phase(TurnPhase::Preparing);
            }
            Event::Went(_) => self.set_phase(TurnPhase::Preparing),
            Event::Queued(_) | Event::Delivered { .. } | Event::Dequeued { .. } => {
                self.change_queue(event);
            }
            Event::CallAsked { .. }
            | Event::CallStarted { .. }
            | Event::CallProgress { .. }
            | Event::CallFinished { .. } => self.follow_call(at, event),
            Event::QuestionClosed { id, .. } => self.close_question(id),
            Event::ControlChanged(control) => self.control = Some(control.clone()),
            Event::Plan(plan) => self.plan = Some(plan.clone()),
            Event::Compacting { .. } => self.set_phase(TurnPhase::Compacting),
            Event::Compacted { receipt } => {
                self.context.tokens = receipt.after;
                self.set_phase(TurnPhase::Preparing);
            }
            Event::Notice { level, notice } => {
                self.notice(RecentNotice { at, level: *level, notice: notice.clone() });
            }
            Event::Finished(finished) => self.finish_turn(finished),
            Event::TurnAbandoned => self.end_turn(),
            Event::Closed { reason } => {
                self.end_turn();
                self.agents.clear();
                self.closed = Some(reason.clone());
            }
            // News for a log or a line on the screen; nothing of it lasts.
            Event::PromptRefused { .. }
            | Event::MessageAdded { .. }
            | Event::MemoryChanged(_)
            | Event::TeammateChanged(_)
            | Event::Raw(_)
            | Event::Unknown(_) => {}
        }
    }

    fn notice(&mut self, notice: RecentNotice) {
        self.notices.push_back(notice);
        if self.notices.len() > NOTICES {
            self.notices.pop_front();
        }
    }

    /// The turn before may have been dropped without an end.
    fn start_turn(&mut self, number: u32, since: Timestamp) {
        self.end_turn();
        let spent =
            std::mem::take(&mut self.turn).map_or_else(Spending::default, |turn| turn.spent);
        self.spent = self.spent.plus(spent);
        self.turn = Some(LiveTurn { number, since, ..LiveTurn::default() });
    }

    /// The sum at the end covers the sealed answers, and the dropped ones as well.
    fn finish_turn(&mut self, finished: &Finished) {
        self.end_turn();
        if let Some(turn) = &mut self.turn {
            turn.spent = Spending::default();
        }
        self.spent.add(finished.usage, finished.cost);
        self.finished = Some(Box::new(finished.clone()));
    }

    fn end_turn(&mut self) {
        self.clear_iteration();
        self.questions.clear();
        self.set_phase(TurnPhase::Finished);
    }

    /// Calls belong to the answer that announced them.
    fn clear_iteration(&mut self) {
        self.answer = LiveAnswer::default();
        for call in std::mem::take(&mut self.calls) {
            self.withdraw_questions(&call.id);
        }
    }

    fn set_phase(&mut self, phase: TurnPhase) {
        if let Some(turn) = &mut self.turn {
            turn.phase = phase;
        }
    }

    fn hear_answer(&mut self, event: &Event) {
        self.set_phase(TurnPhase::Answering);
        match event {
            Event::AnswerStarted { message_id, .. } => {
                self.clear_iteration();
                self.answer.message_id.clone_from(message_id);
            }
            Event::TextDelta { text } => self.answer.text.push_str(text),
            Event::ThinkingDelta { text } => self.answer.thinking.push_str(text),
            Event::BlockFinished { block } => {
                self.answer.push(block);
                if let Block::ToolUse { id, name, input, .. } = block {
                    self.call(id, name).input = input.clone();
                }
            }
            _ => {}
        }
    }

    fn seal(&mut self, usage: Usage, cost: Option<f64>) {
        self.answer.sealed = true;
        self.context.tokens = usage.prompt() + usage.output;
        if let Some(turn) = &mut self.turn {
            turn.spent.add(usage, cost);
        }
        self.await_calls();
    }

    /// Until the seal the phase is that of the answer, whatever runs beside it.
    fn await_calls(&mut self) {
        if self.answer.sealed {
            let all_over = self.calls.iter().all(|call| call.stage.is_finished());
            self.set_phase(if all_over { TurnPhase::Preparing } else { TurnPhase::RunningCalls });
        }
    }

    fn change_queue(&mut self, event: &Event) {
        match event {
            Event::Queued(item) => match self.queue.iter_mut().find(|had| had.id == item.id) {
                Some(had) => had.clone_from(item),
                None => self.queue.push(item.clone()),
            },
            Event::Delivered { ids } | Event::Dequeued { ids } => {
                self.queue.retain(|item| !ids.contains(&item.id));
            }
            _ => {}
        }
    }

    fn follow_call(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::CallAsked { id, name, question, .. } => {
                let call = self.call(id, name);
                // A call that runs already asks something else.
                let is_running = matches!(call.stage, CallStage::Running { .. });
                if !is_running {
                    call.stage = CallStage::Asked;
                }
                if let Some(question) = question {
                    if !is_running {
                        call.input = question.input.clone();
                    }
                    self.questions.retain(|open| open.id != question.id);
                    self.questions.push(Question::clone(question));
                }
            }
            Event::CallStarted { id, name, input } => {
                let call = self.call(id, name);
                call.input = input.clone();
                call.stage = CallStage::Running { since: at, tail: String::new() };
                self.withdraw_questions(id);
            }
            Event::CallProgress { id, tail: newest } => {
                let call = self.calls.iter_mut().find(|call| call.id == *id);
                if let Some(CallStage::Running { tail, .. }) = call.map(|call| &mut call.stage) {
                    tail.clone_from(newest);
                }
            }
            Event::CallFinished { id, name, outcome, result, shown, took_ms, input, .. } => {
                let excerpt = live::excerpt(result, shown.as_deref());
                let (outcome, took_ms) = (*outcome, *took_ms);
                let call = self.call(id, name);
                call.stage = CallStage::Finished { outcome, excerpt, took_ms };
                if let Some(input) = input {
                    call.input = Value::clone(input);
                }
                self.withdraw_questions(id);
            }
            _ => {}
        }
        self.await_calls();
    }

    /// Calls that no answer announced are those that a person started.
    fn call(&mut self, id: &CallId, name: &str) -> &mut LiveCall {
        let known = self.calls.iter().position(|call| call.id == *id);
        let at = known.unwrap_or_else(|| {
            let (id, stage) = (id.clone(), CallStage::Announced);
            self.calls.push(LiveCall { id, name: name.to_owned(), input: Value::Null, stage });
            self.calls.len() - 1
        });
        &mut self.calls[at]
    }

    fn withdraw_questions(&mut self, call: &CallId) {
        self.questions.retain(|open| open.call != *call);
    }

    fn close_question(&mut self, id: &QuestionId) {
        self.questions.retain(|open| open.id != *id);
    }
}

/// Whole milliseconds, as on the wire: otherwise a state that went through JSON would differ.
fn backoff(since: Timestamp, retry: &Retry) -> Backoff {
    let wait = u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX);
    Backoff { since, retry: Retry { wait: Duration::from_millis(wait), ..retry.clone() } }
}

/// Whatever shows that the turn continues. Items, questions, control and notices come at any time.
fn ends_backoff(event: &Event) -> bool {
    matches!(
        event,
        Event::TurnStarted { .. }
            | Event::IterationStarted { .. }
            | Event::AnswerStarted { .. }
            | Event::TextDelta { .. }
            | Event::ThinkingDelta { .. }
            | Event::BlockFinished { .. }
            | Event::AnswerSealed { .. }
            | Event::AnswerDropped
            | Event::Went(_)
            | Event::Compacting { .. }
            | Event::Compacted { .. }
            | Event::MessageAdded { .. }
            | Event::Finished(_)
            | Event::TurnAbandoned
            | Event::Closed { .. }
    )
}

#[cfg(test)]
mod law_tests;
#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod scan_tests;
#[cfg(test)]
mod streams_tests;
