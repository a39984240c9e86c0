//! What the model has seen: the content, by hash, that a change relies on, and how much of it.

use ostler_core::tool::{OutputPart, Seen};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Separate pieces of one file that are remembered; whoever reads it in more has not seen it whole.
const MAX_PIECES: usize = 256;

#[derive(Default)]
pub struct SeenFiles {
    seen: Mutex<HashMap<PathBuf, SeenState>>,
}

#[derive(Clone, Debug, PartialEq)]
struct SeenState {
    hash: String,
    /// None: all of it.
    pieces: Option<Vec<(u64, u64)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    Fresh,
    /// As it was read, but not all of it was read.
    Partial,
    Unread,
    /// Another content was seen, the one with this hash.
    Changed(String),
}

impl SeenFiles {
    /// The conversation went back: the model has seen this, and nothing else.
    pub fn go_back(&self, seen: Vec<Seen>) {
        let before = SeenFiles::new(seen).seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = before;
    }

    /// From the session's record, oldest first.
    pub fn new(seen: Vec<Seen>) -> Self {
        let ledger = SeenFiles::default();
        for seen in &seen {
            ledger.saw(seen);
        }
        ledger
    }

    /// Gives back the content that no longer counts for any file.
    pub fn saw(&self, seen: &Seen) -> Option<String> {
        let mut map = self.map();
        let old = put(&mut map, seen)?.hash;
        (!map.values().any(|sight| sight.hash == old)).then_some(old)
    }

    pub fn freshness(&self, path: &Path, hash: &str) -> Freshness {
        match self.map().get(path) {
            None => Freshness::Unread,
            Some(seen) if seen.hash != hash => Freshness::Changed(seen.hash.clone()),
            Some(SeenState { pieces: None, .. }) => Freshness::Fresh,
            Some(_) => Freshness::Partial,
        }
    }

    /// The newest sight of the file was of all its lines.
    pub fn is_whole(&self, path: &Path) -> bool {
        self.map().get(path).is_none_or(|sight| sight.pieces.is_none())
    }

    fn map(&self) -> MutexGuard<'_, HashMap<PathBuf, SeenState>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What stood there before.
fn put(map: &mut HashMap<PathBuf, SeenState>, seen: &Seen) -> Option<SeenState> {
    let Some(hash) = &seen.hash else { return map.remove(&seen.path) };
    let before = map.get(&seen.path).filter(|sight| sight.hash == *hash);
    let pieces = match (seen.part, before.map(|sight| sight.pieces.as_ref())) {
        (None, _) | (_, Some(None)) => None,
        (Some(part), Some(Some(pieces))) => with(pieces.clone(), part),
        (Some(part), None) => with(Vec::new(), part),
    };
    map.insert(seen.path.clone(), SeenState { hash: hash.clone(), pieces })
}

/// The pieces and one more, sorted and joined; none if they are the whole file.
fn with(mut pieces: Vec<(u64, u64)>, part: OutputPart) -> Option<Vec<(u64, u64)>> {
    if part.first <= part.last && pieces.len() < MAX_PIECES {
        pieces.push((part.first, part.last));
    }
    pieces.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (first, last) in pieces {
        match joined.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    let whole = matches!(joined.as_slice(), [(first, last)] if *first <= 1 && *last >= part.of);
    (!whole).then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(path: &str, hash: Option<&str>) -> Seen {
        Seen { path: path.into(), hash: hash.map(str::to_owned), part: None }
    }

    /// A content is given back when the last file that had it has another.
    #[test]
    fn replaced_contents_are_given_back_once_nobody_has_them() {
        let ledger = SeenFiles::default();
        assert_eq!(ledger.saw(&seen("/a", Some("1"))), None);
        assert_eq!(ledger.saw(&seen("/b", Some("1"))), None);
        assert_eq!(ledger.saw(&seen("/a", Some("1"))), None, "the same again");
        assert_eq!(ledger.saw(&seen("/a", Some("2"))), None, "the other still has it");
        assert_eq!(ledger.saw(&seen("/b", None)), Some("1".into()));
        assert_eq!(ledger.saw(&seen("/a", Some("3"))), Some("2".into()));
    }

    #[test]
    fn the_newest_sight_counts() {
        let ledger = SeenFiles::new(vec![
            seen("/a", Some("1")),
            seen("/b", Some("1")),
            seen("/a", Some("2")),
        ]);
        assert_eq!(ledger.freshness(Path::new("/a"), "2"), Freshness::Fresh);
        assert_eq!(ledger.freshness(Path::new("/a"), "1"), Freshness::Changed("2".into()));
        assert_eq!(ledger.freshness(Path::new("/c"), "1"), Freshness::Unread);
        ledger.saw(&seen("/b", None));
        assert_eq!(ledger.freshness(Path::new("/b"), "1"), Freshness::Unread);
    }

    #[test]
    fn parts_make_a_whole_only_together() {
        let table: &[(&[(u64, u64)], bool)] = &[
            (&[(1, 10)], true),
            (&[(1, 9)], false),
            (&[(2, 10)], false),
            (&[(1, 0)], false),
            (&[(1, 5), (6, 10)], true),
            (&[(6, 10), (1, 5)], true),
            (&[(1, 5), (7, 10)], false),
            (&[(1, 5), (7, 10), (6, 6)], true),
            (&[(3, 4), (1, 8), (5, 10)], true),
            (&[(1, 10), (3, 4)], true),
        ];
        for (parts, whole) in table {
            let ledger = SeenFiles::default();
            for (first, last) in *parts {
                let part = Some(OutputPart { first: *first, last: *last, of: 10 });
                ledger.saw(&Seen { part, ..seen("/a", Some("1")) });
            }
            let expected = if *whole { Freshness::Fresh } else { Freshness::Partial };
            assert_eq!(ledger.freshness(Path::new("/a"), "1"), expected, "{parts:?}");
        }
    }

    #[test]
    fn parts_of_another_content_do_not_count() {
        let part = |first, last| Some(OutputPart { first, last, of: 10 });
        let ledger = SeenFiles::new(vec![
            Seen { part: part(1, 5), ..seen("/a", Some("1")) },
            Seen { part: part(6, 10), ..seen("/a", Some("2")) },
        ]);
        assert_eq!(ledger.freshness(Path::new("/a"), "2"), Freshness::Partial);
        // What was seen whole stays so when a part of it is read again, but not when it changes.
        ledger.saw(&seen("/a", Some("2")));
        ledger.saw(&Seen { part: part(1, 1), ..seen("/a", Some("2")) });
        assert_eq!(ledger.freshness(Path::new("/a"), "2"), Freshness::Fresh);
        ledger.saw(&Seen { part: part(1, 1), ..seen("/a", Some("3")) });
        assert_eq!(ledger.freshness(Path::new("/a"), "3"), Freshness::Partial);
    }

    #[test]
    fn pieces_are_bounded() {
        let ledger = SeenFiles::default();
        for i in 0..2_000 {
            let part = Some(OutputPart { first: 2 * i + 1, last: 2 * i + 1, of: 4_000 });
            ledger.saw(&Seen { part, ..seen("/a", Some("1")) });
        }
        let pieces = ledger.map().get(Path::new("/a")).and_then(|sight| sight.pieces.clone());
        assert_eq!(pieces.map(|pieces| pieces.len()), Some(MAX_PIECES));
    }
}
