//! The inbox of a session: what arrived, on record, and who waits for it.

use crate::agent::Agent;
use crate::journal::Journal;
use ostler_core::ids::InboundId;
use ostler_core::inbox::{Delivery, Inbound, InboundSource, QueuedItem};
use ostler_core::ports::{Arrivals, BoxFuture, StoreError};
use ostler_core::session::Entry;

/// A handle: copies lead to the same inbox.
#[derive(Clone)]
pub struct Inbox {
    journal: Journal,
}

impl Agent {
    pub fn inbox(&self) -> Inbox {
        self.journal.inbox()
    }
}

impl Journal {
    pub fn inbox(&self) -> Inbox {
        Inbox { journal: self.clone() }
    }
}

impl Inbox {
    /// Records the item and wakes those who wait for one.
    ///
    /// # Errors
    /// If the log refuses it: then it has not arrived.
    pub fn arrive(&self, item: Inbound) -> Result<(), StoreError> {
        self.journal.write_beside(Entry::Inbound(Box::new(item)))?;
        self.journal.arrived().notify_waiters();
        Ok(())
    }

    /// Takes back what is still pending of these, and says what that was. An item that a turn is about to admit stays.
    ///
    /// # Errors
    /// If the log refuses it: then everything is pending as before.
    pub fn withdraw(&self, ids: &[InboundId]) -> Result<Vec<InboundId>, StoreError> {
        self.journal.withdraw(ids)
    }

    /// Items that will never be delivered, also those that were taken.
    ///
    /// # Errors
    /// If the log refuses it.
    pub fn refuse(&self, ids: Vec<InboundId>) -> Result<(), StoreError> {
        if ids.is_empty() { Ok(()) } else { self.journal.refuse(ids) }
    }

    /// What arrived and was not admitted, oldest first.
    pub fn pending(&self) -> Vec<Inbound> {
        self.journal.pending(|_| true)
    }

    /// The item that the next turn begins with; a steer that no turn took is one as well. From here on it cannot be
    /// withdrawn, until another one is taken or a turn begins without it.
    pub fn next_prompt(&self) -> Option<Inbound> {
        let starts = |item: &Inbound| match item.when {
            Delivery::AfterTurn | Delivery::WithResults => true,
            Delivery::NextBoundary | Delivery::NextStep => item.source == InboundSource::Person,
            Delivery::Later => false,
        };
        self.journal.take(starts, 1).pop()
    }

    /// The news of a job or of a teammate that a turn could begin with, taken as above. News that `may_start` refuses come with the next
    /// prompt.
    pub fn next_report(&self, may_start: impl Fn(&InboundId) -> bool) -> Option<Inbound> {
        self.journal.take(|item| is_report(item) && may_start(&item.id), 1).pop()
    }

    pub fn has_report(&self, may_start: impl Fn(&InboundId) -> bool) -> bool {
        !self.journal.pending(|item| is_report(item) && may_start(&item.id)).is_empty()
    }

    /// What is to be delivered now. `waited`: a call that waits has ended since the last time. `results`: the request will
    /// carry results of calls.
    pub(crate) fn take_due(&self, waited: bool, results: bool) -> Vec<Inbound> {
        let with_results = |item: &Inbound| results && item.when == Delivery::WithResults;
        self.journal.take(|item| is_due(item, waited) || with_results(item), usize::MAX)
    }

    pub(crate) fn has_due(&self, waited: bool) -> bool {
        !self.journal.pending(|item| is_due(item, waited)).is_empty()
    }

    /// A person wants the turn to go another way.
    pub(crate) fn is_steered(&self) -> bool {
        !self.journal.pending(is_steer).is_empty()
    }

    /// Waits until a person does.
    pub(crate) async fn steered(&self) {
        let _ = self.journal.first_pending(is_steer).await;
    }
}

fn is_due(item: &Inbound, waited: bool) -> bool {
    match item.when {
        Delivery::NextBoundary | Delivery::NextStep => true,
        Delivery::Later => waited,
        Delivery::AfterTurn | Delivery::WithResults => false,
    }
}

/// What is only to be read on the way begins no turn.
fn is_report(item: &Inbound) -> bool {
    item.when != Delivery::NextStep
        && matches!(item.source, InboundSource::Job { .. } | InboundSource::Agent { .. })
}

fn is_steer(item: &Inbound) -> bool {
    item.when == Delivery::NextBoundary && item.source == InboundSource::Person
}

impl Arrivals for Journal {
    fn next(&self) -> BoxFuture<'static, QueuedItem> {
        let journal = self.clone();
        Box::pin(async move { journal.first_pending(|item| is_due(item, true)).await.queued() })
    }
}
