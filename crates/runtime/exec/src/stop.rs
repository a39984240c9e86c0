//! Asking a running command to end, from another task than the one that waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

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
