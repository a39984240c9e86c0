//! `next` says what to do, `advance` processes what happened. Both are pure.
//!
//! Control never depends on what a message says, only on whether calls are open: that is what makes the
//! exhaustive walk over control states a proof.

use super::limits::Limits;
use super::reason::{Continue, Terminal};
use super::state::{Phase, Recovery, State};
use crate::ids::InboundId;
use crate::message::{Block, Message};
use crate::model::ModelErrorKind;
use crate::prompt_texts;
use crate::view::{View, ViewItem};
use std::sync::Arc;

/// What the driver must do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Prepare,
    Sample { escalated: bool, fallback: bool, stream_retry: u8 },
    Collapse,
    Compact,
    SettleTools,
    StopHooks,
    Finish(Terminal),
}

/// What the driver saw.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The prompt does not enter the conversation, which stays as it was, and the turn is over before it began.
    PromptRefused(Terminal),
    Prepared(Result<View, PrepareError>),
    /// Items of the inbox that enter the conversation as one message, instead of what the step was to do.
    Received {
        message: Message,
        ids: Vec<InboundId>,
    },
    Sampled {
        message: Option<Message>,
        cut: bool,
        end: SampleEnd,
    },
    Collapsed(Option<(View, u32)>),
    Compacted(Option<View>),
    ToolsSettled {
        results: Vec<Block>,
        extra: Vec<Message>,
        end: ToolsEnd,
    },
    StopHooks(StopVerdict),
    /// The log made this of the conversation before the step ended as `then` says.
    Reshaped {
        view: View,
        then: Box<Outcome>,
    },
    /// The user stopped a step that has nothing to hand over.
    Interrupted,
    /// A fact could not be recorded, so the turn must not continue.
    StoreFailed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrepareError {
    BlockingLimit,
    BudgetSpent,
    /// Nobody can say what is left of it.
    BudgetUnknown,
    RapidRefill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleEnd {
    /// The model has said all; also any stop reason that means no more than that.
    EndOfTurn,
    MaxOutput,
    /// The window is full: like the output limit, but a higher limit would not help.
    WindowFull,
    Paused,
    Refused,
    /// Complete, but without text or calls.
    Empty,
    Cancelled,
    /// The user said something else before an answer began.
    Redirected,
    /// The stream ended before the answer did.
    Broken(ModelErrorKind),
    /// No answer began.
    Failed(ModelErrorKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolsEnd {
    Finished,
    /// The user said something else: calls that had not started were skipped.
    Redirected,
    Cancelled,
    HookStopped,
    /// The answer spent the rest of the budget: its calls were skipped.
    BudgetSpent,
    /// A hook left a call to be decided later: it stays open.
    Deferred,
}

#[derive(Clone, Debug)]
pub enum StopVerdict {
    Pass,
    Block(Message),
    Prevent,
    SpendMore(Message),
    /// The hooks were not asked: something is to be delivered first.
    Arrived,
}

/// What became of it: the new state, and the facts to be recorded before anything follows from them.
#[derive(Clone, Debug)]
pub struct Advance {
    pub state: State,
    pub facts: Vec<Fact>,
}

#[derive(Clone, Debug)]
pub enum Fact {
    /// The answer belongs to the conversation now.
    Answered(Arc<ViewItem>),
    /// The answer was discarded; readers remove what they displayed.
    Dropped,
    /// The harness itself added a message.
    Noted(Arc<ViewItem>),
    /// These items of the inbox are part of the conversation now.
    Admitted {
        item: Arc<ViewItem>,
        ids: Vec<InboundId>,
    },
    Went(Continue),
    Ended(Terminal),
}

pub fn next(state: &State) -> Step {
    match state.phase {
        Phase::Prepare => Step::Prepare,
        Phase::Sample => Step::Sample {
            escalated: state.recovery.escalated,
            fallback: state.recovery.fell_back,
            stream_retry: state.recovery.stream_retries,
        },
        Phase::Collapse => Step::Collapse,
        Phase::Compact => Step::Compact,
        Phase::SettleTools { .. } => Step::SettleTools,
        Phase::StopHooks => Step::StopHooks,
        Phase::Done(terminal) => Step::Finish(terminal),
    }
}

pub fn advance(state: State, outcome: Outcome, limits: &Limits) -> Advance {
    let turn = Turn { state, facts: Vec::new(), limits };
    match outcome {
        Outcome::PromptRefused(terminal) => turn.refused(terminal),
        Outcome::Prepared(Ok(view)) => turn.with_view(view).to(Phase::Sample),
        Outcome::Prepared(Err(PrepareError::BlockingLimit)) => turn.done(Terminal::BlockingLimit),
        Outcome::Prepared(Err(PrepareError::BudgetSpent)) => turn.done(Terminal::MaxBudget),
        Outcome::Prepared(Err(PrepareError::BudgetUnknown)) => turn.done(Terminal::LedgerFailed),
        Outcome::Prepared(Err(PrepareError::RapidRefill)) => turn.done(Terminal::RapidRefill),
        Outcome::Received { message, ids } => turn.received(message, ids),
        Outcome::Reshaped { view, then } => advance(turn.with_view(view).state, *then, limits),
        Outcome::Sampled { message, cut, end } => turn.sampled(message, cut, end),
        Outcome::Collapsed(Some((view, drained))) => {
            turn.with_view(view).continue_because(Continue::CollapseDrainRetry { drained })
        }
        Outcome::Collapsed(None) => turn.compact_or_end(),
        Outcome::Compacted(Some(view)) => {
            turn.with_view(view).continue_because(Continue::ReactiveCompactRetry)
        }
        Outcome::Compacted(None) => turn.done(Terminal::PromptTooLong),
        Outcome::ToolsSettled { results, extra, end } => turn.settled(results, extra, end),
        Outcome::StopHooks(verdict) => turn.stopped(verdict),
        Outcome::Interrupted => turn.done(Terminal::AbortedStreaming),
        Outcome::StoreFailed => turn.done(Terminal::StoreFailed),
    }
}

struct Turn<'a> {
    state: State,
    facts: Vec<Fact>,
    limits: &'a Limits,
}

impl Turn<'_> {
    /// The model never hears of it, so nothing is added for the model either.
    fn refused(mut self, terminal: Terminal) -> Advance {
        self.facts.push(Fact::Ended(terminal));
        self.to(Phase::Done(terminal))
    }

    /// What enters is settled before anything is asked; the way from here is the same as before.
    fn received(mut self, message: Message, ids: Vec<InboundId>) -> Advance {
        if let Some(item) = self.state.view.push(message) {
            self.facts.push(Fact::Admitted { item, ids });
        }
        self.to(Phase::Prepare)
    }

    fn sampled(mut self, message: Option<Message>, cut: bool, end: SampleEnd) -> Advance {
        if let Some(why) = self.way_round_without_this_answer(end) {
            self.facts.push(Fact::Dropped);
            return match why {
                Drop::Again(why) => self.continue_because(why),
                Drop::Collapse => self.to(Phase::Collapse),
                Drop::Compact => self.to(Phase::Compact),
            };
        }
        if let Some(item) = message.and_then(|message| self.state.view.push(message)) {
            self.facts.push(Fact::Answered(item));
        }
        let calls_open = !self.state.view.open_calls().is_empty();
        match end {
            SampleEnd::Cancelled if calls_open => {
                self.to(Phase::SettleTools { cancelled: true, cut })
            }
            SampleEnd::Cancelled => self.done(Terminal::AbortedStreaming),
            SampleEnd::Refused => self.done(Terminal::Refusal),
            SampleEnd::Failed(kind) | SampleEnd::Broken(kind) => self.failed(kind),
            _ if calls_open => self.to(Phase::SettleTools { cancelled: false, cut }),
            SampleEnd::EndOfTurn | SampleEnd::Empty | SampleEnd::Redirected => {
                self.to(Phase::StopHooks)
            }
            SampleEnd::Paused => self.paused(),
            SampleEnd::MaxOutput | SampleEnd::WindowFull => self.cut_off(),
        }
    }

    /// The reasons to continue that discard the answer, each at most as often as its limit says.
    fn way_round_without_this_answer(&mut self, end: SampleEnd) -> Option<Drop> {
        let (recovery, limits) = (&mut self.state.recovery, self.limits);
        match end {
            SampleEnd::Redirected => Some(Drop::Again(Continue::Redirected)),
            SampleEnd::MaxOutput if limits.may_escalate && !recovery.escalated => {
                recovery.escalated = true;
                Some(Drop::Again(Continue::MaxOutputTokensEscalate))
            }
            SampleEnd::Empty if recovery.empty_retries < limits.max_empty_retries => {
                recovery.empty_retries += 1;
                Some(Drop::Again(Continue::EmptyRetry { attempt: recovery.empty_retries }))
            }
            SampleEnd::Broken(kind) | SampleEnd::Failed(kind) if kind.is_fault_of_request() => {
                self.mended_request(kind)
            }
            SampleEnd::Broken(_) if recovery.stream_retries < limits.max_stream_retries => {
                recovery.stream_retries += 1;
                Some(Drop::Again(Continue::StreamRetry { attempt: recovery.stream_retries }))
            }
            SampleEnd::Broken(kind) | SampleEnd::Failed(kind)
                if kind.another_model_may_help() && limits.has_fallback && !recovery.fell_back =>
            {
                recovery.fell_back = true;
                recovery.stream_retries = 0;
                Some(Drop::Again(Continue::ModelFallback))
            }
            _ => None,
        }
    }

    /// The same request would fail again, on whichever model: it must change first.
    fn mended_request(&mut self, kind: ModelErrorKind) -> Option<Drop> {
        let State { view, recovery, .. } = &mut self.state;
        match kind {
            ModelErrorKind::ContextOverflow if !recovery.collapsed => {
                recovery.collapsed = true;
                Some(Drop::Collapse)
            }
            ModelErrorKind::ContextOverflow if !recovery.compacted => {
                recovery.compacted = true;
                Some(Drop::Compact)
            }
            ModelErrorKind::BadImage if !recovery.images_dropped => {
                recovery.images_dropped = true;
                view.drop_images().then_some(Drop::Again(Continue::ImageDropRetry))
            }
            ModelErrorKind::BadThinking if !recovery.thinking_dropped => {
                recovery.thinking_dropped = true;
                view.drop_thinking().then_some(Drop::Again(Continue::ThinkingDropRetry))
            }
            _ => None,
        }
    }

    fn failed(self, kind: ModelErrorKind) -> Advance {
        match kind {
            ModelErrorKind::ContextOverflow => self.done(Terminal::PromptTooLong),
            ModelErrorKind::BadImage => self.done(Terminal::ImageError),
            kind => self.done(Terminal::ModelError(kind)),
        }
    }

    fn compact_or_end(mut self) -> Advance {
        if self.state.recovery.compacted {
            return self.done(Terminal::PromptTooLong);
        }
        self.state.recovery.compacted = true;
        self.to(Phase::Compact)
    }

    fn paused(mut self) -> Advance {
        if self.state.recovery.pauses >= self.limits.max_pauses {
            return self.done(Terminal::ModelError(ModelErrorKind::Protocol));
        }
        self.state.recovery.pauses += 1;
        let attempt = self.state.recovery.pauses;
        self.continue_because(Continue::PauseResume { attempt })
    }

    fn cut_off(mut self) -> Advance {
        if self.state.recovery.resumes >= self.limits.max_resumes {
            return self.done(Terminal::MaxOutputTokens);
        }
        self.state.recovery.resumes += 1;
        let attempt = self.state.recovery.resumes;
        self.note(Message::meta(prompt_texts::RESUME));
        self.continue_because(Continue::MaxOutputTokensRecovery { attempt })
    }

    fn settled(mut self, results: Vec<Block>, extra: Vec<Message>, end: ToolsEnd) -> Advance {
        let (cancelled, cut) = match self.state.phase {
            Phase::SettleTools { cancelled, cut } => (cancelled, cut),
            _ => (false, false),
        };
        if end == ToolsEnd::Deferred && !cancelled {
            return self.deferred();
        }
        self.state.view.push(Message::User { content: results });
        for message in extra {
            self.note(message);
        }
        match end {
            _ if cancelled => self.done(Terminal::AbortedStreaming),
            ToolsEnd::Cancelled => self.done(Terminal::AbortedTools),
            ToolsEnd::HookStopped => self.done(Terminal::HookStopped),
            ToolsEnd::BudgetSpent => self.done(Terminal::MaxBudget),
            _ if self.is_last_iteration() => self.done(Terminal::MaxTurns),
            _ if cut && self.state.recovery.cut_calls >= self.limits.max_cut_calls => {
                self.done(Terminal::MaxOutputTokens)
            }
            ToolsEnd::Finished | ToolsEnd::Redirected | ToolsEnd::Deferred => self.next_turn(cut),
        }
    }

    fn is_last_iteration(&self) -> bool {
        self.limits.max_iterations.is_some_and(|max| self.state.iteration >= max)
    }

    /// The calls stay open in the view as they do in the log: resuming the turn settles them.
    fn deferred(mut self) -> Advance {
        self.facts.push(Fact::Ended(Terminal::ToolDeferred));
        self.to(Phase::Done(Terminal::ToolDeferred))
    }

    /// A new iteration may recover afresh. The model choice outlives it, and so does the count of cut calls
    /// until an answer comes whose calls are all complete: a cut call leads here by itself.
    fn next_turn(mut self, cut: bool) -> Advance {
        let had = self.state.recovery;
        let cut_calls = if cut { had.cut_calls + 1 } else { 0 };
        self.state.recovery =
            Recovery { fell_back: had.fell_back, cut_calls, ..Recovery::default() };
        self.state.iteration = self.state.iteration.saturating_add(1);
        self.continue_because(Continue::NextTurn)
    }

    fn stopped(mut self, verdict: StopVerdict) -> Advance {
        match verdict {
            StopVerdict::Pass => self.done(Terminal::Completed),
            StopVerdict::Prevent => self.done(Terminal::StopHookPrevented),
            StopVerdict::Arrived if self.is_last_iteration() => self.done(Terminal::MaxTurns),
            StopVerdict::Arrived => {
                self.state.iteration = self.state.iteration.saturating_add(1);
                self.continue_because(Continue::Redirected)
            }
            StopVerdict::Block(_)
                if self.state.recovery.stop_blocks >= self.limits.max_stop_blocks =>
            {
                self.done(Terminal::StopHookPrevented)
            }
            StopVerdict::Block(reason) => {
                self.state.recovery.stop_blocks += 1;
                self.note(reason);
                self.continue_because(Continue::StopHookBlocking)
            }
            StopVerdict::SpendMore(_) if self.state.recovery.nudges >= self.limits.max_nudges => {
                self.done(Terminal::Completed)
            }
            StopVerdict::SpendMore(nudge) => {
                self.state.recovery.nudges += 1;
                self.note(nudge);
                self.continue_because(Continue::TokenBudgetContinuation)
            }
        }
    }

    fn note(&mut self, message: Message) {
        if let Some(item) = self.state.view.push(message) {
            self.facts.push(Fact::Noted(item));
        }
    }

    fn with_view(mut self, view: View) -> Self {
        self.state.view = view;
        self
    }

    fn to(self, phase: Phase) -> Advance {
        Advance { state: State { phase, ..self.state }, facts: self.facts }
    }

    fn continue_because(mut self, why: Continue) -> Advance {
        self.facts.push(Fact::Went(why));
        self.state.last = Some(why);
        self.to(Phase::Prepare)
    }

    /// However the turn ends, the history is valid and the model will know that it was stopped.
    fn done(mut self, terminal: Terminal) -> Advance {
        // Calls that were being settled may have run; elsewhere none can have started.
        let why = match self.state.phase {
            Phase::SettleTools { .. } => prompt_texts::LOST_EFFECT,
            _ => prompt_texts::TURN_ENDED,
        };
        if let Some(item) = self.state.view.close_open_calls(why) {
            self.facts.push(Fact::Noted(item));
        }
        let kept = self.facts.iter().any(|fact| matches!(fact, Fact::Answered(_)));
        match terminal {
            Terminal::ModelError(_) if kept => {
                self.note(Message::meta(prompt_texts::BROKEN_ANSWER))
            }
            Terminal::AbortedStreaming => {
                self.note(Message::meta(prompt_texts::INTERRUPTED_ANSWER))
            }
            Terminal::AbortedTools => self.note(Message::meta(prompt_texts::INTERRUPTED_TOOLS)),
            _ => {}
        }
        self.facts.push(Fact::Ended(terminal));
        self.to(Phase::Done(terminal))
    }
}

enum Drop {
    Again(Continue),
    Collapse,
    Compact,
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod facts;
#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "walk_tests.rs"]
mod walk;
