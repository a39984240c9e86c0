//! The newest envelopes of a session, for observers.
//!
//! Observers read at their own pace and can neither slow nor stop the session: a push takes a short lock, waits for
//! nobody and allocates nothing per observer. What is held is bounded in bytes. An observer that falls behind is told
//! once how much it missed, asks for the state again, and continues at the oldest envelope still held. While nobody
//! observes, nothing is held.

mod weight;

use futures_core::Stream;
use ostler_core::event::{Envelope, Event};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Bytes that a ring holds by default.
pub const RING_BYTES: usize = 256 * 1024;

/// A place in the stream of a session. Numbers start again when a session is opened again, so the opening is named too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub epoch: Arc<str>,
    pub seq: u64,
}

#[derive(Clone, Debug)]
pub enum Observed {
    Event(Arc<Envelope>),
    /// Envelopes are no longer held, or the cursor is from another opening of the session: ask for the state again.
    Lagged {
        missed: u64,
    },
}

/// Dropping it closes it.
pub struct Ring {
    epoch: Arc<str>,
    shared: Arc<Shared>,
}

struct Shared {
    limit: usize,
    held: Mutex<Held>,
    news: Arc<Notify>,
}

#[derive(Default)]
struct Held {
    envelopes: VecDeque<Weighed>,
    bytes: usize,
    observers: usize,
    /// The number of the newest envelope that was pushed.
    newest: u64,
    /// All envelopes up to this number are gone.
    gone: u64,
    closed: bool,
}

struct Weighed {
    envelope: Arc<Envelope>,
    bytes: usize,
}

/// A reader of a ring. Also a [`Stream`].
pub struct Observer {
    shared: Arc<Shared>,
    /// The last envelope that was seen.
    after: u64,
    /// Lagged from the start: the cursor was not of this opening.
    foreign: bool,
    news: Pin<Box<OwnedNotified>>,
}

impl Ring {
    /// `epoch` names this opening of the session; no other opening has the same.
    pub fn new(epoch: impl Into<Arc<str>>, bytes: usize) -> Self {
        let shared = Shared { limit: bytes, held: Mutex::default(), news: Arc::default() };
        Ring { epoch: epoch.into(), shared: Arc::new(shared) }
    }

    /// Envelopes come in the order of their numbers: they are numbered and pushed under the same lock.
    ///
    /// Events of the provider are for the driver of a turn only; they are passed over.
    pub fn push(&self, envelope: Arc<Envelope>) {
        {
            let mut held = self.shared.lock();
            if held.closed {
                return;
            }
            held.newest = envelope.seq;
            if held.observers == 0 {
                held.gone = envelope.seq;
                return;
            }
            if matches!(envelope.event, Event::Raw(_)) {
                return;
            }
            held.push(envelope, self.shared.limit);
        }
        self.shared.news.notify_waiters();
    }

    /// Everything after this number, as far as it is held.
    pub fn observe(&self, after: u64) -> Observer {
        let mut held = self.shared.lock();
        held.observers += 1;
        // A number that was not given yet cannot be of this opening.
        let foreign = after > held.newest;
        let after = if foreign { held.gone } else { after };
        drop(held);
        let news = Box::pin(self.shared.news.clone().notified_owned());
        Observer { shared: self.shared.clone(), after, foreign, news }
    }

    /// Everything after a place that an observer, of this opening or of another, was at.
    pub fn observe_from(&self, cursor: &Cursor) -> Observer {
        let foreign = cursor.epoch != self.epoch;
        let mut observer = self.observe(if foreign { 0 } else { cursor.seq });
        observer.foreign |= foreign;
        observer
    }

    /// The place after the newest envelope.
    pub fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch.clone(), seq: self.shared.lock().newest }
    }

    /// Observers get what is held, and then their end.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.news.notify_waiters();
    }

    #[cfg(test)]
    pub fn observers(&self) -> usize {
        self.shared.lock().observers
    }

    /// The estimated size of what is held.
    #[cfg(test)]
    pub fn held_bytes(&self) -> usize {
        self.shared.lock().bytes
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn push(&mut self, envelope: Arc<Envelope>, limit: usize) {
        let bytes = weight::of(&envelope);
        self.bytes += bytes;
        self.envelopes.push_back(Weighed { envelope, bytes });
        // One that is larger than the whole ring leaves at once: the state has what it brought.
        while self.bytes > limit {
            let Some(oldest) = self.envelopes.pop_front() else { break };
            self.bytes -= oldest.bytes;
            self.gone = oldest.envelope.seq;
        }
    }

    fn first_after(&self, seq: u64) -> Option<&Arc<Envelope>> {
        let at = self.envelopes.partition_point(|one| one.envelope.seq <= seq);
        self.envelopes.get(at).map(|one| &one.envelope)
    }
}

impl Observer {
    /// None once the ring is closed and everything that it held was seen.
    pub async fn next(&mut self) -> Option<Observed> {
        poll_fn(|cx| self.poll_observed(cx)).await
    }

    fn poll_observed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Observed>> {
        loop {
            // The wait for news began before this look: a push in between ends it.
            if let Poll::Ready(observed) = self.look() {
                return Poll::Ready(observed);
            }
            ready!(self.news.as_mut().poll(cx));
            self.news.set(self.shared.news.clone().notified_owned());
        }
    }

    fn look(&mut self) -> Poll<Option<Observed>> {
        let held = self.shared.lock();
        if self.foreign || self.after < held.gone {
            let missed = held.gone.saturating_sub(self.after);
            self.after = self.after.max(held.gone);
            self.foreign = false;
            return Poll::Ready(Some(Observed::Lagged { missed }));
        }
        match held.first_after(self.after) {
            Some(envelope) => {
                self.after = envelope.seq;
                Poll::Ready(Some(Observed::Event(envelope.clone())))
            }
            None if held.closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Stream for Observer {
    type Item = Observed;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Observed>> {
        self.poll_observed(cx)
    }
}

/// The last one frees what is held.
impl Drop for Observer {
    fn drop(&mut self) {
        let mut held = self.shared.lock();
        held.observers -= 1;
        if held.observers == 0 {
            held.gone = held.newest;
            held.bytes = 0;
            let envelopes = std::mem::take(&mut held.envelopes);
            drop(held);
            drop(envelopes);
        }
    }
}

#[cfg(test)]
#[path = "ring/ring_tests.rs"]
mod tests;
