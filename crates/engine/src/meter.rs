//! Who spends, for what, and where it is written down.

use ostler_core::ids::{CountingIds, IdSource};
use ostler_core::ledger::{Broken, Purpose, Sent, watch};
use ostler_core::ports::{Ledger, NoLedger};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub struct Meter {
    pub ledger: Arc<dyn Ledger>,
    /// Names of requests.
    pub ids: Arc<dyn IdSource>,
    /// Whose requests these are.
    pub agent: String,
    /// What for, if somebody said; else the prompt's first line stands for it.
    pub task: Option<String>,
    /// Of an ordinary request: `Answer`, or `Subagent` for an agent that another one started.
    pub purpose: Purpose,
    last: Mutex<Option<Sent>>,
    made_room: AtomicBool,
}

impl Default for Meter {
    fn default() -> Self {
        Meter::new(Arc::new(NoLedger), Arc::new(CountingIds::default()))
    }
}

impl Meter {
    pub fn new(ledger: Arc<dyn Ledger>, ids: Arc<dyn IdSource>) -> Self {
        Meter {
            ledger,
            ids,
            agent: "main".into(),
            task: None,
            purpose: Purpose::Answer,
            last: Mutex::default(),
            made_room: AtomicBool::new(false),
        }
    }

    /// What was sent before is no longer what the next request begins with, on purpose.
    pub(crate) fn made_room(&self) {
        self.made_room.store(true, Ordering::Relaxed);
    }

    /// Compares an answered request with the one before it, and remembers it for the next.
    pub(crate) fn answered(&self, sent: Sent) -> Option<Broken> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let made_room = self.made_room.swap(false, Ordering::Relaxed);
        let broken = last.as_ref().and_then(|before| watch(before, &sent, made_room));
        *last = Some(sent);
        broken
    }
}
