//! Renews the claim of a worker, whatever the worker is doing: in a thread, with a connection of its own.

use crate::facts::{Fact, FactFile};
use crate::plan::Plan;
use crate::worker::open_patiently;
use ostler_board::{BoardError, TaskAction};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The claim to renew: task and fence.
type Held = Arc<Mutex<Option<(String, u64)>>>;

pub struct Heartbeat(Held);

impl Heartbeat {
    pub fn start(plan: &Plan, directory: &Path, name: &str) -> Result<Self, String> {
        let mut board = open_patiently(plan, directory)?;
        let mut facts = FactFile::append_to(directory, name)?;
        let lease = Duration::from_millis(plan.lease_ms);
        let held = Held::default();
        let watched = held.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(lease / 4);
                let Some((task, fence)) = lock(&watched).clone() else { continue };
                let fact = match board.act(&task, &TaskAction::Renew { fence, lease }) {
                    Ok(now) => Fact::Renewed { task, fence, at_ms: now.changed_ms },
                    // The worker goes on all the same: whatever it does, it must not count.
                    Err(BoardError::Refused(_)) => Fact::RenewRefused { task, fence },
                    Err(_) => continue,
                };
                if facts.record(&fact).is_err() {
                    return;
                }
            }
        });
        Ok(Heartbeat(held))
    }

    pub fn begin(&self, task: &str, fence: u64) {
        *lock(&self.0) = Some((task.to_owned(), fence));
    }

    pub fn end(&self) {
        *lock(&self.0) = None;
    }
}

fn lock(held: &Held) -> MutexGuard<'_, Option<(String, u64)>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
