//! What waits for the running turn to end, in order of arrival.
//!
//! Prompts that have to wait are items of the inbox, so they survive a crash; this is only their order. A prompt
//! that can start at once is not recorded twice: its turn records it.

use crate::input::Prompt;
use crate::session::Work;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    places: VecDeque<Place>,
    /// A turn runs.
    busy: bool,
    /// The last turn was stopped, or the session was opened again: what waits does not start by itself.
    held: bool,
    /// The last turn was stopped, and nobody said anything since: the end of a job does not start another one.
    quiet: bool,
    closed: bool,
}

/// One place in the order.
pub(crate) enum Place {
    Direct(Prompt),
    Compact(Option<String>),
    /// An item of the inbox. It may have been delivered or withdrawn since.
    Inbox,
}

impl Queue {
    /// For a session whose log holds items that were not delivered: they are held.
    pub(crate) fn resumed(items: usize) -> Self {
        let places = (0..items).map(|_| Place::Inbox).collect();
        Queue(Mutex::new(Waiting { places, held: items > 0, ..Waiting::default() }))
    }

    pub(crate) fn push(&self, place: Place) {
        let mut waiting = self.waiting();
        waiting.held = false;
        waiting.places.push_back(place);
    }

    /// A prompt that can start at once, ahead of what is held. It is given back if something has to end first. Of prompts
    /// that arrive at the same moment one starts; the others have to be recorded, because nothing else would keep them.
    pub(crate) fn push_if_idle(&self, prompt: Prompt) -> Option<Prompt> {
        let mut waiting = self.waiting();
        let is_taken = waiting.places.iter().any(|place| matches!(place, Place::Direct(_)));
        if waiting.busy || is_taken || (!waiting.held && !waiting.places.is_empty()) {
            return Some(prompt);
        }
        waiting.places.push_front(Place::Direct(prompt));
        None
    }

    /// What is held may start.
    pub(crate) fn release(&self) {
        self.waiting().held = false;
    }

    /// Everything that was held has been delivered with a turn that somebody asked for.
    pub(crate) fn release_delivered(&self) {
        let mut waiting = self.waiting();
        if waiting.held && waiting.places.iter().all(|place| matches!(place, Place::Inbox)) {
            waiting.held = false;
            waiting.places.clear();
        }
    }

    /// A turn runs.
    pub(crate) fn has_turn(&self) -> bool {
        self.waiting().busy
    }

    /// The next work, if something may start. `inbox` takes the oldest item of the inbox that starts a turn.
    pub(crate) fn take(&self, inbox: impl Fn() -> Option<Work>) -> Option<Work> {
        let mut waiting = self.waiting();
        while !waiting.closed {
            if waiting.held && !matches!(waiting.places.front(), Some(Place::Direct(_))) {
                return None;
            }
            let work = match waiting.places.pop_front()? {
                Place::Direct(prompt) => Some(Work::Prompt(prompt, Vec::new())),
                Place::Compact(focus) => Some(Work::Compact(focus)),
                Place::Inbox => inbox(),
            };
            if work.is_some() {
                (waiting.busy, waiting.quiet) = (true, false);
                return work;
            }
        }
        None
    }

    /// A turn that nobody asked for, if one may start.
    pub(crate) fn take_unasked(&self, work: impl Fn() -> Option<Work>) -> Option<Work> {
        let mut waiting = self.waiting();
        if waiting.closed || waiting.busy || waiting.held || waiting.quiet {
            return None;
        }
        let work = work()?;
        waiting.busy = true;
        Some(work)
    }

    /// A turn that nobody asked for may start.
    pub(crate) fn may_start_unasked(&self) -> bool {
        let waiting = self.waiting();
        !(waiting.closed || waiting.busy || waiting.held || waiting.quiet)
    }

    /// False: a turn runs, or is about to.
    pub(crate) fn begin_if_idle(&self) -> bool {
        let mut waiting = self.waiting();
        let is_idle = !waiting.busy && (waiting.held || waiting.places.is_empty());
        waiting.busy |= is_idle;
        is_idle
    }

    /// A turn begins that nobody queued.
    pub(crate) fn begin(&self) {
        self.waiting().busy = true;
    }

    pub(crate) fn ended(&self, keep: bool) {
        let mut waiting = self.waiting();
        (waiting.busy, waiting.quiet) = (false, keep);
        waiting.held |= keep && !waiting.places.is_empty();
    }

    /// A summary that was asked for waits.
    pub(crate) fn has_compaction(&self) -> bool {
        self.waiting().places.iter().any(|place| matches!(place, Place::Compact(_)))
    }

    /// Summaries that were asked for are forgotten.
    pub(crate) fn cancel_compactions(&self) {
        self.waiting().places.retain(|place| !matches!(place, Place::Compact(_)));
    }

    /// False: it was closed before.
    pub(crate) fn close(&self) -> bool {
        !std::mem::replace(&mut self.waiting().closed, true)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.waiting().closed
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
