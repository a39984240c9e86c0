//! Who spends, for what, and where it is recorded.

use ostler_core::event::AgentPath;
use ostler_core::ids::{CountingIds, IdSource};
use ostler_core::ledger::{Broken, Earlier, Front, Purpose, SentRequest, watch};
use ostler_core::ports::{Ledger, NoLedger};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub struct Meter {
    pub ledger: Arc<dyn Ledger>,
    /// Names of requests.
    pub ids: Arc<dyn IdSource>,
    /// Whose requests these are.
    pub agent: String,
    /// Its place among the agents of the session.
    pub path: AgentPath,
    /// What for, if somebody said; otherwise the first line of the prompt.
    pub task: Option<String>,
    /// Of an ordinary request: `Answer`, or `Subagent` for an agent that another one started.
    pub purpose: Purpose,
    last: Mutex<Last>,
    made_room: AtomicBool,
}

/// The request before.
#[derive(Default)]
enum Last {
    #[default]
    None,
    /// Of an earlier process, as the log knows it.
    Earlier(Earlier),
    Sent(SentRequest),
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
            path: AgentPath::default(),
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

    /// The session continues after this request.
    pub fn resumed(self, earlier: Option<Earlier>) -> Self {
        let last = Mutex::new(earlier.map_or(Last::None, Last::Earlier));
        Meter { last, ..self }
    }

    /// Compares an answered request with the one before it, and remembers it for the next. Gives also what the log does
    /// not know yet of its front.
    pub(crate) fn answered(&self, sent: SentRequest) -> (Option<Broken>, Option<Front>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let made_room = self.made_room.swap(false, Ordering::Relaxed);
        let broken = match &*last {
            Last::Sent(before) => watch(before, &sent, made_room),
            Last::Earlier(before) if !made_room => before.watch(&sent),
            Last::Earlier(_) | Last::None => None,
        };
        // A session is resumed from its newest boundary, so the front follows each.
        let known =
            matches!(&*last, Last::Sent(before) if !made_room && before.has_front_of(&sent));
        let front = (!known).then(|| sent.front());
        *last = Last::Sent(sent);
        (broken, front)
    }
}
