//! How many agents may run, and how deep they may start each other: one count for a session and all agents below it.

use super::refusal::AgentRefused;
use ostler_core::event::AgentPath;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

pub(crate) struct AgentSlots {
    running: AtomicUsize,
    /// Some agent has ended.
    freed: Notify,
    most: usize,
    deepest: usize,
}

/// Taken by a running agent, free again when it is dropped.
pub(super) struct Slot(Arc<AgentSlots>);

impl AgentSlots {
    pub(super) fn new(most: usize, deepest: usize) -> Arc<Self> {
        Arc::new(AgentSlots { running: AtomicUsize::new(0), freed: Notify::new(), most, deepest })
    }

    /// Comes back when a slot may be free.
    pub(super) async fn free(&self) {
        let freed = self.freed.notified();
        tokio::pin!(freed);
        // Before looking: a slot that is given back in between wakes us.
        freed.as_mut().enable();
        if self.running.load(Ordering::Acquire) >= self.most {
            freed.await;
        }
    }

    /// For an agent that the one at this path starts.
    pub(super) fn take(self: &Arc<Self>, above: &AgentPath) -> Result<Slot, AgentRefused> {
        if above.names().len() >= self.deepest {
            return Err(AgentRefused::TooDeep { limit: self.deepest });
        }
        let more = |running: usize| (running < self.most).then_some(running + 1);
        match self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(Slot(self.clone())),
            Err(_) => Err(AgentRefused::TooMany { limit: self.most }),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.freed.notify_waiters();
    }
}
