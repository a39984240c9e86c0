//! A store that dies on purpose, for crash tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// Aborts the process at one append, counted from 1 over all logs of one [`FaultPlan`]; the `Opened` entry of a
/// created session counts, the entries copied by a fork do not. 0 never happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub after_writes: u64,
    /// Only so many bytes of that append reach the file; none: all of them.
    pub torn: Option<usize>,
}

/// Counts for everything that shares it.
#[derive(Debug)]
pub struct FaultPlan {
    fault: Fault,
    appends: AtomicU64,
}

impl FaultPlan {
    pub fn new(fault: Fault) -> Self {
        FaultPlan { fault, appends: AtomicU64::new(0) }
    }

    /// Counts a write elsewhere, which is whole or not there.
    pub fn count(&self) {
        if self.fatal(0).is_some() {
            std::process::abort();
        }
    }

    /// Counts an append of `length` bytes. When it is the fatal one: how many bytes of it to write.
    pub(crate) fn fatal(&self, length: usize) -> Option<usize> {
        let nth = self.appends.fetch_add(1, Ordering::Relaxed) + 1;
        (nth == self.fault.after_writes).then(|| self.fault.torn.unwrap_or(length).min(length))
    }
}
