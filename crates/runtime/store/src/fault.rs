//! A store that dies on purpose, for crash tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// Aborts the process at one append of the store, counted from 1 over all its logs; the `Opened` entry of a
/// created session counts, the entries copied by a fork do not. 0 never happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub after_writes: u64,
    /// Only so many bytes of that append reach the file; none: all of them.
    pub torn: Option<usize>,
}

pub(crate) struct FaultPlan {
    fault: Fault,
    appends: AtomicU64,
}

impl FaultPlan {
    pub fn new(fault: Fault) -> Self {
        FaultPlan { fault, appends: AtomicU64::new(0) }
    }

    /// Counts an append of `length` bytes. When it is the fatal one: how many bytes of it to write.
    pub fn fatal(&self, length: usize) -> Option<usize> {
        let nth = self.appends.fetch_add(1, Ordering::Relaxed) + 1;
        (nth == self.fault.after_writes).then(|| self.fault.torn.unwrap_or(length).min(length))
    }
}
