//! Waiting for the disk, for all sessions of a process.

use ostler_core::ports::{SessionLog, StoreError};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Syncs that run at once. A session has at most one, so this many sessions with a slow disk hold up nobody else.
const MOST_AT_ONCE: usize = 8;

/// Syncs logs on a few of the runtime's threads for blocking work, never on one that drives turns. Clones share them.
#[derive(Clone)]
pub struct SyncPool {
    permits: Arc<Semaphore>,
}

impl Default for SyncPool {
    fn default() -> Self {
        SyncPool::with_threads(MOST_AT_ONCE)
    }
}

impl SyncPool {
    /// With so many threads at most; at least one.
    pub fn with_threads(most: usize) -> Self {
        SyncPool { permits: Arc::new(Semaphore::new(most.max(1))) }
    }

    /// Lets the disk have the beginning of a new log while the rest of the session is made. Where that cannot be done beside
    /// it, the first sync does it.
    pub fn sync_ahead(&self, log: &Arc<dyn SessionLog>) {
        let (permit, runtime) = (self.permits.clone().try_acquire_owned(), Handle::try_current());
        if let (Ok(permit), Ok(runtime)) = (permit, runtime) {
            let log = log.clone();
            runtime.spawn_blocking(move || {
                let _permit = permit;
                log.sync_ahead();
            });
        }
    }

    /// Everything that was appended to the log survives a loss of power.
    ///
    /// # Errors
    /// What the log says, or that the runtime is shutting down.
    pub(crate) async fn sync(&self, log: &Arc<dyn SessionLog>) -> Result<(), StoreError> {
        let stopping = || StoreError::Io {
            doing: "sync",
            path: log.id().as_str().into(),
            why: "the program is shutting down".into(),
        };
        let permits = self.permits.clone();
        let permit = permits.acquire_owned().await.map_err(|_| stopping())?;
        let syncing = log.clone();
        let synced = tokio::task::spawn_blocking(move || {
            // The thread is busy until the disk answers, also if nobody waits for it any more.
            let _permit = permit;
            syncing.sync()
        });
        synced.await.unwrap_or_else(|_| Err(stopping()))
    }
}

#[cfg(test)]
#[path = "sync_pool_tests.rs"]
mod tests;
