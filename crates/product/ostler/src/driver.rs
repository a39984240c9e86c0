//! Drives a session: polling it runs turn after turn, dropping it cancels everything the running turn owns.

use crate::input::Prompt;
use crate::patience::Patience;
use crate::session::{Session, Work};
use crate::skills::Expanded;
use crate::slow_calls::SlowCalls;
use futures_core::Stream;
use ostler_core::event::{Envelope, Event};
use ostler_core::ids::InboundId;
use ostler_core::ports::BoxFuture;
use ostler_core::tool_facts::ToolKind;
use ostler_core::turn::Terminal;
use ostler_engine::TurnStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The end of a turn does not wait longer than this for the memory; what was begun continues.
const PATIENCE: Duration = Duration::from_secs(2);

/// The only reader that a turn waits for: it runs no further than the driver has read. Other readers observe.
pub struct Driver {
    session: Session,
    stage: Stage,
    until: Until,
}

/// When a driver ends, apart from the end of its session.
pub(crate) enum Until {
    /// It waits for more to do.
    Closed,
    /// When there is nothing left to do.
    Idle,
    /// When background jobs will not start a turn soon either.
    Quiet(Patience),
}

enum Stage {
    Idle,
    /// The prompt is looked at: it may want a skill.
    Expanding {
        expanding: BoxFuture<'static, Expanded>,
        inbound: Vec<InboundId>,
    },
    Turn {
        turn: TurnStream,
        slow: SlowCalls,
    },
    /// The end of a turn is held back while the memory keeps what the turn leaves.
    Learning {
        finished: Option<Box<Event>>,
        learnt: BoxFuture<'static, Vec<Event>>,
    },
}

impl Driver {
    pub(crate) fn new(session: Session, until: Until) -> Self {
        Driver { session, stage: Stage::Idle, until }
    }

    /// When nothing is left to do, it waits for background jobs: this long for the end of a command, and for agents until
    /// they end. Each end that is reported to the model is a turn.
    #[must_use]
    pub fn until_quiet(mut self, patience: Duration) -> Self {
        self.until = Until::Quiet(Patience::new(patience));
        self
    }

    /// Begins with the turn that the log ends in.
    pub(crate) fn resume(&mut self) {
        self.stage = self.turn(self.session.resuming());
    }

    /// False: there is nothing to do.
    fn begin_next(&mut self) -> bool {
        let Some(work) = self.session.next_work() else { return false };
        self.stage = match work {
            Work::Prompt(Prompt { typed: None, message, .. }, inbound) => {
                self.session.begin_turn();
                self.turn(self.session.turn(message, inbound))
            }
            Work::Prompt(prompt, inbound) => {
                let (session, interrupt) = (self.session.clone(), self.session.new_interrupt());
                let expanding = Box::pin(async move {
                    tokio::select! {
                        biased;
                        () = interrupt.cancelled() => Expanded::Interrupted,
                        expanded = session.expand(prompt) => expanded,
                    }
                });
                Stage::Expanding { expanding, inbound }
            }
            Work::Compact(focus) => self.turn(self.session.compacting(focus)),
        };
        true
    }

    /// The prompt was looked at: it begins a turn, or it does not.
    fn begin_expanded(&mut self, expanded: Expanded, inbound: Vec<InboundId>) {
        self.stage = Stage::Idle;
        match expanded {
            Expanded::Message(message) => {
                self.stage = self.turn(self.session.turn(message, inbound));
            }
            Expanded::Interrupted => {
                self.session.turn_ended(true);
                self.session.events().emit(Event::TurnAbandoned);
            }
            Expanded::Unknown { why } => {
                self.session.refuse(inbound);
                self.session.events().emit_waiting();
                self.session.events().emit(Event::PromptRefused { why });
                self.session.turn_ended(false);
            }
        }
    }

    fn turn(&self, turn: TurnStream) -> Stage {
        Stage::Turn { turn, slow: SlowCalls::new(self.session.slow_call()) }
    }

    /// The turn's own event, and what happened beside it.
    fn take(&mut self, event: Event) {
        let events = self.session.events();
        match event {
            Event::TextDelta { .. } | Event::ThinkingDelta { .. } | Event::Raw(_) => {
                events.emit(event);
            }
            Event::TurnStarted { .. } => {
                events.emit(event);
                events.emit_waiting();
            }
            // The request is about to go: from here on the model takes longer than we do.
            Event::IterationStarted { .. } => {
                events.emit(event);
                events.emit_memory();
                self.session.probe_sandbox();
            }
            Event::Finished(_) => {
                let (learnt, event) =
                    (self.learning(), self.session.with_spending_of_agents(event));
                self.stage = Stage::Learning { finished: Some(Box::new(event)), learnt };
            }
            event => {
                events.emit(event);
                events.emit_memory();
            }
        }
    }

    fn learning(&self) -> BoxFuture<'static, Vec<Event>> {
        let learner = self.session.events().learner().cloned();
        Box::pin(async move {
            let Some(learner) = learner else { return Vec::new() };
            tokio::time::timeout(PATIENCE, learner.learn_new_turns()).await.unwrap_or_default()
        })
    }

    fn turn_ended(&mut self, finished: Event) {
        if let Event::Finished(finished) = &finished {
            self.session.turn_ended(keeps_queue_waiting(finished.terminal));
        }
        self.session.events().emit(finished);
        self.stage = Stage::Idle;
        if let Until::Quiet(quiet) = &mut self.until {
            quiet.restart();
        }
    }
}

/// An agent takes its time, and its own events show what it does.
fn is_delegation(session: &Session, event: &Event) -> bool {
    match event {
        Event::CallStarted { name, .. } => session.known_tools().kind(name) == ToolKind::Delegates,
        _ => false,
    }
}

/// After these nothing starts by itself: somebody should look first.
fn keeps_queue_waiting(terminal: Terminal) -> bool {
    matches!(
        terminal,
        Terminal::AbortedStreaming
            | Terminal::AbortedTools
            | Terminal::MaxTurns
            | Terminal::MaxBudget
            | Terminal::LedgerFailed
            | Terminal::StoreFailed
    )
}

impl Stream for Driver {
    type Item = Arc<Envelope>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Arc<Envelope>>> {
        let this = &mut *self;
        this.session.events().register(cx.waker());
        this.session.serve_team();
        loop {
            if let Some(envelope) = this.session.events().unread() {
                return Poll::Ready(Some(envelope));
            }
            match &mut this.stage {
                Stage::Idle => {
                    if this.session.is_closed() {
                        return Poll::Ready(None);
                    }
                    if this.begin_next() {
                        continue;
                    }
                    match &mut this.until {
                        Until::Closed => return Poll::Pending,
                        Until::Idle => return Poll::Ready(None),
                        Until::Quiet(quiet) => {
                            ready!(quiet.poll(&this.session, cx));
                            return Poll::Ready(None);
                        }
                    }
                }
                Stage::Expanding { expanding, inbound } => {
                    let expanded = ready!(expanding.as_mut().poll(cx));
                    let inbound = std::mem::take(inbound);
                    this.begin_expanded(expanded, inbound);
                }
                Stage::Turn { turn, slow } => match Pin::new(turn).poll_next(cx) {
                    Poll::Ready(Some(event)) => {
                        if !is_delegation(&this.session, &event) {
                            slow.see(&event);
                        }
                        this.take(event);
                    }
                    Poll::Ready(None) => {
                        this.session.turn_ended(false);
                        this.stage = Stage::Idle;
                    }
                    Poll::Pending => {
                        let notice = ready!(slow.poll_next(cx));
                        this.session.events().emit(Event::notice(notice));
                    }
                },
                Stage::Learning { finished, learnt } => {
                    let learnt = ready!(learnt.as_mut().poll(cx));
                    let finished = finished.take();
                    for event in learnt {
                        this.session.events().emit(event);
                    }
                    match finished {
                        Some(finished) => this.turn_ended(*finished),
                        None => this.stage = Stage::Idle,
                    }
                }
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let was_running = !matches!(self.stage, Stage::Idle);
        self.stage = Stage::Idle;
        self.session.events().end_driving();
        if was_running {
            self.session.turn_ended(true);
            self.session.events().emit(Event::TurnAbandoned);
        }
    }
}
