//! Asking a running command to end, from another task than the one that waits for it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

pub(crate) const STOP: u8 = 1;
pub(crate) const KILL: u8 = 2;

/// A handle that ends one command; see [`RunningCommand::stopper`](crate::RunningCommand::stopper).
#[derive(Debug, Clone, Default)]
pub struct Stopper {
    shared: Arc<StopShared>,
}

#[derive(Debug, Default)]
struct StopShared {
    level: AtomicU8,
    changed: Notify,
    /// A new time limit that the command has not heard of.
    limit: Mutex<Option<Duration>>,
    limited: Notify,
}

impl Stopper {
    /// SIGTERM to the group, then SIGKILL after the command's grace.
    pub fn stop(&self) {
        self.raise(STOP);
    }

    /// SIGKILL to the group at once.
    pub fn kill(&self) {
        self.raise(KILL);
    }

    /// Another time limit instead of the command's own, counted from its start.
    pub fn set_limit(&self, limit: Duration) {
        *self.limit() = Some(limit);
        self.shared.limited.notify_one();
    }

    /// Waits for a new limit. Safe to cancel.
    pub(crate) async fn new_limit(&self) -> Duration {
        loop {
            if let Some(limit) = self.limit().take() {
                return limit;
            }
            self.shared.limited.notified().await;
        }
    }

    fn limit(&self) -> MutexGuard<'_, Option<Duration>> {
        self.shared.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise(&self, level: u8) {
        self.shared.level.fetch_max(level, Ordering::AcqRel);
        self.shared.changed.notify_one();
    }

    /// Waits until more is asked than what the caller has already seen.
    pub(crate) async fn above(&self, seen: u8) -> u8 {
        loop {
            let level = self.shared.level.load(Ordering::Acquire);
            if level > seen {
                return level;
            }
            self.shared.changed.notified().await;
        }
    }
}
