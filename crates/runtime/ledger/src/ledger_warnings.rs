//! What a person should know about the file, and whether a row did not get there.

use crate::db::Db;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct LedgerWarnings {
    words: Mutex<Vec<String>>,
    /// Some row will not come by itself: the log alone has it.
    dropped: AtomicBool,
    said: AtomicBool,
}

impl LedgerWarnings {
    fn tell(&self, words: String) {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }

    /// A damaged file was replaced by this one.
    pub(crate) fn set_aside(&self, db: &mut Db) {
        if let Some(words) = db.set_aside() {
            self.tell(words);
        }
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A row could not be written. Said once.
    pub(crate) fn late(&self, why: &str) {
        if !self.said.swap(true, Ordering::Relaxed) {
            self.tell(format!(
                "This request is not in the ledger yet: {why}; `ostler cost --rebuild` adds it."
            ));
        }
    }

    /// A row was discarded.
    pub(crate) fn missed(&self, why: &str) {
        self.dropped.store(true, Ordering::Relaxed);
        self.late(why);
    }

    pub(crate) fn has_missed(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }
}
