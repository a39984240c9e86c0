//! What waits for the running turn to end, in the order in which it came.

use crate::session::Work;
use crate::system::SystemIds;
use ostler_core::ids::{IdSource, InboundId};
use ostler_core::inbox::{Delivery, InboundSource, QueuedItem};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    work: VecDeque<(Option<QueuedItem>, Work)>,
    /// A turn runs.
    busy: bool,
    /// The last turn was stopped: nothing starts until somebody sends something.
    held: bool,
    closed: bool,
}

impl Queue {
    /// Gives how the item is known, if it has to wait.
    pub(crate) fn push(&self, work: Work) -> Option<QueuedItem> {
        let mut waiting = self.waiting();
        let waits = waiting.busy || !waiting.work.is_empty();
        let item = waits.then(|| item(&work));
        waiting.held = false;
        waiting.work.push_back((item.clone(), work));
        item
    }

    pub(crate) fn take(&self) -> Option<(Work, Option<InboundId>)> {
        let mut waiting = self.waiting();
        if waiting.held || waiting.closed {
            return None;
        }
        let (item, work) = waiting.work.pop_front()?;
        waiting.busy = true;
        Some((work, item.map(|item| item.id)))
    }

    pub(crate) fn ended(&self, keep: bool) {
        let mut waiting = self.waiting();
        waiting.busy = false;
        waiting.held |= keep && !waiting.work.is_empty();
    }

    /// Gives the names of what was taken back.
    pub(crate) fn cancel(&self, which: Option<&InboundId>) -> Vec<InboundId> {
        let mut ids = Vec::new();
        self.waiting().work.retain(|(item, _)| match item {
            Some(item) if which.is_none_or(|which| *which == item.id) => {
                ids.push(item.id.clone());
                false
            }
            _ => true,
        });
        ids
    }

    pub(crate) fn items(&self) -> Vec<QueuedItem> {
        self.waiting().work.iter().filter_map(|(item, _)| item.clone()).collect()
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

fn item(work: &Work) -> QueuedItem {
    let text = match work {
        Work::Prompt(prompt) => prompt.message.text(),
        Work::Compact(None) => "/compact".to_owned(),
        Work::Compact(Some(focus)) => format!("/compact {focus}"),
    };
    QueuedItem {
        id: InboundId::new(SystemIds.uuid()),
        source: InboundSource::Person,
        when: Delivery::AfterTurn,
        text,
    }
}
