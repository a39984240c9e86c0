//! The events of a session as envelopes. This is the only place where they are numbered, dated and named.

use crate::learner::Learner;
use crate::slow_calls::SlowCalls;
use futures_core::Stream;
use ostler_core::event::{AgentPath, Envelope, Event, Notice, VERSION};
use ostler_core::ids::SessionId;
use ostler_core::ports::BoxFuture;
use ostler_core::time::Clock;
use ostler_engine::TurnStream;
use ostler_skills::{Problem, Skills};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The end of a turn does not wait longer than this for the memory; what was begun goes on.
const PATIENCE: Duration = Duration::from_secs(2);

/// What all streams of a session share: the sequence, and what happens in the session outside of its turns.
pub(crate) struct SessionEvents {
    pub(crate) session: SessionId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) skills: Arc<Skills>,
    pub(crate) learner: Option<Arc<Learner>>,
    pub(crate) slow_call: Option<Duration>,
    sequence: AtomicU64,
    /// What was found when the session was opened, until somebody reads it.
    opening: Mutex<Vec<Notice>>,
}

impl SessionEvents {
    pub(crate) fn new(
        session: SessionId,
        clock: Arc<dyn Clock>,
        skills: Arc<Skills>,
        learner: Option<Arc<Learner>>,
        slow_call: Option<Duration>,
    ) -> Self {
        let (sequence, opening) = (AtomicU64::new(0), Mutex::default());
        SessionEvents { session, clock, skills, learner, slow_call, sequence, opening }
    }

    pub(crate) fn stamp(&self, event: Event) -> Envelope {
        Envelope {
            version: VERSION,
            seq: self.sequence.fetch_add(1, Ordering::Relaxed) + 1,
            at: self.clock.now(),
            session: self.session.clone(),
            agent: AgentPath::default(),
            parent: None,
            event,
        }
    }

    pub(crate) fn found_on_opening(&self, notices: impl IntoIterator<Item = Notice>) {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
    }

    /// What nobody has read yet: from the opening, of skills, and of the memory.
    pub(crate) fn waiting(&self) -> Vec<Event> {
        let opening =
            std::mem::take(&mut *self.opening.lock().unwrap_or_else(PoisonError::into_inner));
        let skills = self.skills.news().into_iter().map(skill);
        opening.into_iter().chain(skills).map(Event::notice).chain(self.memory()).collect()
    }

    fn memory(&self) -> impl Iterator<Item = Event> {
        self.learner.iter().flat_map(|learner| learner.changes())
    }
}

fn skill(problem: Problem) -> Notice {
    let Problem { file, line, what } = problem;
    Notice::Skill { file, line: u64::try_from(line).unwrap_or(u64::MAX), what }
}

/// A turn of a session: polling it drives the turn, dropping it cancels everything the turn owns.
pub struct EventStream {
    turn: TurnStream,
    events: Arc<SessionEvents>,
    /// Come before anything else of the turn.
    queue: VecDeque<Event>,
    slow: SlowCalls,
    /// The end of the turn, held back while the memory keeps what the turn leaves.
    ending: Option<(Event, BoxFuture<'static, Vec<Event>>)>,
}

impl EventStream {
    pub(crate) fn new(turn: TurnStream, events: Arc<SessionEvents>) -> Self {
        let slow = SlowCalls::new(events.slow_call);
        EventStream { turn, events, queue: VecDeque::new(), slow, ending: None }
    }

    /// The turn's own event, and what happened beside it.
    fn take(&mut self, event: Event) {
        self.slow.see(&event);
        match event {
            Event::TextDelta { .. } | Event::ThinkingDelta { .. } | Event::Raw(_) => {
                self.queue.push_back(event);
            }
            Event::TurnStarted { .. } => {
                self.queue.push_back(event);
                self.queue.extend(self.events.waiting());
            }
            Event::Finished(_) => self.ending = Some((event, self.learning())),
            event => {
                self.queue.push_back(event);
                self.queue.extend(self.events.memory());
            }
        }
    }

    fn learning(&self) -> BoxFuture<'static, Vec<Event>> {
        let learner = self.events.learner.clone();
        Box::pin(async move {
            match learner {
                Some(learner) => {
                    let learning = learner.learn_new_turns();
                    tokio::time::timeout(PATIENCE, learning).await.unwrap_or_default()
                }
                None => Vec::new(),
            }
        })
    }
}

impl Stream for EventStream {
    type Item = Envelope;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Envelope>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.queue.pop_front() {
                return Poll::Ready(Some(this.events.stamp(event)));
            }
            if let Some((_, learning)) = &mut this.ending {
                let learnt = ready!(learning.as_mut().poll(cx));
                this.queue.extend(learnt);
                this.queue.extend(this.ending.take().map(|(end, _)| end));
                continue;
            }
            match Pin::new(&mut this.turn).poll_next(cx) {
                Poll::Ready(Some(event)) => this.take(event),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    let slow = ready!(this.slow.poll_next(cx));
                    this.queue.push_back(Event::notice(slow));
                }
            }
        }
    }
}
