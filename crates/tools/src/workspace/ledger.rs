//! What the model has seen: the content, by hash, that an edit relies on.

use ostler_core::tool::Seen;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub struct Ledger {
    seen: Mutex<HashMap<PathBuf, String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Fresh,
    Unread,
    Changed,
}

impl Ledger {
    /// From the session's record, oldest first.
    pub fn new(seen: Vec<Seen>) -> Self {
        let ledger = Ledger::default();
        for seen in &seen {
            ledger.saw(seen);
        }
        ledger
    }

    pub fn saw(&self, seen: &Seen) {
        match &seen.hash {
            Some(hash) => self.map().insert(seen.path.clone(), hash.clone()),
            None => self.map().remove(&seen.path),
        };
    }

    pub fn freshness(&self, path: &Path, hash: &str) -> Freshness {
        match self.map().get(path) {
            None => Freshness::Unread,
            Some(seen) if seen == hash => Freshness::Fresh,
            Some(_) => Freshness::Changed,
        }
    }

    fn map(&self) -> MutexGuard<'_, HashMap<PathBuf, String>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(path: &str, hash: Option<&str>) -> Seen {
        Seen { path: path.into(), hash: hash.map(str::to_owned) }
    }

    #[test]
    fn the_newest_sight_counts() {
        let ledger =
            Ledger::new(vec![seen("/a", Some("1")), seen("/b", Some("1")), seen("/a", Some("2"))]);
        assert_eq!(ledger.freshness(Path::new("/a"), "2"), Freshness::Fresh);
        assert_eq!(ledger.freshness(Path::new("/a"), "1"), Freshness::Changed);
        assert_eq!(ledger.freshness(Path::new("/c"), "1"), Freshness::Unread);
        ledger.saw(&seen("/b", None));
        assert_eq!(ledger.freshness(Path::new("/b"), "1"), Freshness::Unread);
    }
}
