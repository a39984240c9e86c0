//! Output of running calls. Bounded by the number of calls, because a newer tail replaces an older one.

use ostler_core::event::Notice;
use ostler_core::ports::Progress;
use ostler_core::question::Question;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Signal {
    Started(usize),
    Asked(usize, Box<Question>),
    Progress(usize, String),
    /// Something the person should know.
    Notice(Notice),
}

#[derive(Default)]
pub(crate) struct Signals {
    queue: Mutex<VecDeque<Signal>>,
    arrived: Notify,
}

impl Signals {
    pub(crate) fn send(&self, signal: Signal) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Signal::Progress(call, _) = &signal {
            queue.retain(|had| !matches!(had, Signal::Progress(other, _) if other == call));
        }
        queue.push_back(signal);
        self.arrived.notify_one();
    }

    pub(crate) fn take(&self) -> Option<Signal> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Cancel-safe: a signal is taken only when it is returned.
    pub(crate) async fn next(&self) -> Signal {
        loop {
            let arrived = self.arrived.notified();
            if let Some(signal) = self.take() {
                return signal;
            }
            arrived.await;
        }
    }
}

/// One call's sender. Remembers its newest tail for the result of a call that is stopped.
pub(crate) struct CallProgress {
    pub(crate) index: usize,
    pub(crate) signals: Arc<Signals>,
    pub(crate) last: Arc<Mutex<String>>,
}

impl Progress for CallProgress {
    fn tail(&self, tail: &str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = tail.to_owned();
        self.signals.send(Signal::Progress(self.index, tail.to_owned()));
    }
}
