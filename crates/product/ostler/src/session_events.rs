//! The events of a session as envelopes. This is the only place where they are numbered, dated and named, and where they
//! go to everybody who reads them.

use crate::learner::Learner;
use crate::ring::{Cursor, Observer as RingObserver, RING_BYTES, Ring};
use crate::system::{SystemClock, new_uuid};
use futures_util::task::AtomicWaker;
use ostler_core::event::{AgentPath, Envelope, Event, Notice, VERSION};
use ostler_core::ids::{CallId, SessionId};
use ostler_core::session_state::SessionState;
use ostler_core::time::Clock;
use ostler_hooks::{EventLog, Observer};
use ostler_skills::{Problem, Skills};
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use tokio::sync::Notify;

pub(crate) struct SessionEvents {
    session: SessionId,
    clock: Arc<dyn Clock>,
    /// Sources of notices outside of turns.
    voices: OnceLock<Voices>,
    stream: Mutex<EventStream>,
    /// The driver, where there is one.
    driver: AtomicWaker,
    /// The driver has read, or is gone.
    read: Notify,
    /// A call has begun.
    call_begun: Notify,
}

/// Envelopes that wait for the driver before agents below it wait, too.
const MOST_UNREAD: usize = 256;

/// What has to be asked for its news. Skills and memory know nothing of sessions or events, and what they find is found
/// while the driver itself waits for them: it asks them next to the event that they belong to, so their news have a fixed
/// place in the stream, which events sent from elsewhere would not have.
pub(crate) struct Voices {
    pub(crate) skills: Arc<Skills>,
    pub(crate) learner: Option<Arc<Learner>>,
}

/// Everything that one lock keeps in one order.
struct EventStream {
    seq: u64,
    state: SessionState,
    ring: Ring,
    /// What was found when the session was opened, until somebody reads it.
    opening: Vec<Notice>,
    observer: Observer,
    /// What the driver has not read yet; none where there is no driver.
    unread: Option<VecDeque<Arc<Envelope>>>,
    /// Calls of the running turn that have begun and not ended.
    begun: HashSet<CallId>,
}

impl EventStream {
    /// True: a call has begun.
    fn follow_calls(&mut self, event: &Event) -> bool {
        match event {
            Event::CallStarted { id, .. } => return self.begun.insert(id.clone()),
            Event::CallFinished { id, .. } => drop(self.begun.remove(id)),
            Event::Finished(_) | Event::TurnAbandoned => self.begun.clear(),
            _ => {}
        }
        false
    }
}

impl SessionEvents {
    /// `log` is the directory of event logs, where they are wanted.
    pub(crate) fn new(session: SessionId, log: Option<&Path>) -> Arc<Self> {
        let clock = Arc::new(SystemClock);
        let log = log.and_then(|folder| EventLog::open(folder, &session, clock.clone()));
        let stream = EventStream {
            seq: 0,
            state: SessionState::default(),
            ring: Ring::new(new_uuid(), RING_BYTES),
            opening: Vec::new(),
            observer: Observer::new(log),
            unread: None,
            begun: HashSet::new(),
        };
        Arc::new(SessionEvents {
            session,
            clock,
            voices: OnceLock::new(),
            stream: Mutex::new(stream),
            driver: AtomicWaker::new(),
            read: Notify::new(),
            call_begun: Notify::new(),
        })
    }

    pub(crate) fn listen_to(&self, voices: Voices) {
        let _ = self.voices.set(voices);
    }

    pub(crate) fn learner(&self) -> Option<&Arc<Learner>> {
        self.voices.get()?.learner.as_ref()
    }

    /// Numbers an event and hands it to everybody who reads.
    pub(crate) fn emit(&self, event: Event) -> Arc<Envelope> {
        self.emit_from(AgentPath::default(), None, event)
    }

    /// The same for an event of an agent below, which this call started.
    pub(crate) fn emit_from(
        &self,
        agent: AgentPath,
        parent: Option<CallId>,
        event: Event,
    ) -> Arc<Envelope> {
        let mut stream = self.stream();
        if agent.is_root() && stream.follow_calls(&event) {
            self.call_begun.notify_waiters();
        }
        // The provider's own events are for the driver alone, and leave no gap in what others read.
        let is_shared = !matches!(event, Event::Raw(_));
        stream.seq += u64::from(is_shared);
        let envelope = Arc::new(Envelope {
            version: VERSION,
            seq: stream.seq,
            at: self.clock.now(),
            session: self.session.clone(),
            agent,
            parent,
            event,
        });
        if is_shared {
            stream.state.apply(&envelope);
            stream.observer.see(&envelope);
            stream.ring.push(envelope.clone());
        }
        if let Some(unread) = &mut stream.unread {
            unread.push_back(envelope.clone());
            self.driver.wake();
        }
        envelope
    }

    pub(crate) fn found_on_opening(&self, notices: impl IntoIterator<Item = Notice>) {
        self.stream().opening.extend(notices);
    }

    /// Emits what nobody has read yet: from the opening, of skills, and of the memory.
    pub(crate) fn emit_waiting(&self) -> Vec<Arc<Envelope>> {
        let opening = std::mem::take(&mut self.stream().opening);
        let skills = self.voices.get().map(|voices| voices.skills.news()).unwrap_or_default();
        let notices = opening.into_iter().chain(skills.into_iter().map(skill));
        let mut emitted: Vec<_> = notices.map(|notice| self.emit(Event::notice(notice))).collect();
        emitted.extend(self.emit_memory());
        emitted
    }

    pub(crate) fn emit_memory(&self) -> Vec<Arc<Envelope>> {
        let changes = self.learner().map(|learner| learner.changes().collect::<Vec<_>>());
        changes.into_iter().flatten().map(|event| self.emit(event)).collect()
    }

    /// From here on the driver reads. False: somebody drives already.
    pub(crate) fn begin_driving(&self) -> bool {
        let mut stream = self.stream();
        let free = stream.unread.is_none();
        stream.unread.get_or_insert_default();
        free
    }

    pub(crate) fn end_driving(&self) {
        self.stream().unread = None;
        self.read.notify_waiters();
    }

    pub(crate) fn is_driven(&self) -> bool {
        self.stream().unread.is_some()
    }

    /// The next envelope for the driver, in order.
    pub(crate) fn unread(&self) -> Option<Arc<Envelope>> {
        let mut stream = self.stream();
        let unread = stream.unread.as_mut()?;
        let next = unread.pop_front();
        if unread.len() < MOST_UNREAD {
            self.read.notify_waiters();
        }
        next
    }

    /// Returns when the driver has read most of what there is, or nobody drives. Agents below wait for it, so a
    /// slow driver slows them down as well.
    pub(crate) async fn room(&self) {
        loop {
            let read = self.read.notified();
            tokio::pin!(read);
            // From here on no news are missed.
            read.as_mut().enable();
            if self.stream().unread.as_ref().is_none_or(|unread| unread.len() < MOST_UNREAD) {
                return;
            }
            read.await;
        }
    }

    /// Returns when everybody who reads knows that the call has begun.
    pub(crate) async fn begun(&self, call: &CallId) {
        loop {
            let begun = self.call_begun.notified();
            tokio::pin!(begun);
            // From here on no news are missed.
            begun.as_mut().enable();
            if self.stream().begun.contains(call) {
                return;
            }
            begun.await;
        }
    }

    pub(crate) fn register(&self, waker: &Waker) {
        self.driver.register(waker);
    }

    /// There is something to do.
    pub(crate) fn wake_driver(&self) {
        self.driver.wake();
    }

    /// What the tools did, one line each.
    pub(crate) fn statistics(&self) -> Vec<String> {
        self.stream().observer.stats().lines()
    }

    /// What the events so far amount to, and the place after the last of them.
    pub(crate) fn state(&self) -> (SessionState, Cursor) {
        let stream = self.stream();
        (stream.state.clone(), stream.ring.cursor())
    }

    pub(crate) fn observe(&self, from: &Cursor) -> RingObserver {
        self.stream().ring.observe_from(from)
    }

    /// The session is over: the event log is complete with its statistics, and observers come to their end.
    pub(crate) fn finish(&self) {
        let mut stream = self.stream();
        stream.observer.finish();
        stream.ring.close();
    }

    fn stream(&self) -> MutexGuard<'_, EventStream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn skill(problem: Problem) -> Notice {
    let Problem { file, line, what } = problem;
    Notice::Skill { file, line: u64::try_from(line).unwrap_or(u64::MAX), what }
}
