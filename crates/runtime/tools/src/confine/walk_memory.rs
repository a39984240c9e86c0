//! What earlier walks saw: a directory that has not changed since is not read again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A directory that has just changed may change again without getting another time. After this long it cannot.
const SETTLED: Duration = Duration::from_millis(50);
/// Directories that are remembered: some tens of megabytes at most.
const MOST_FOLDERS: usize = 100_000;

#[derive(Default)]
pub(super) struct WalkMemory(Mutex<HashMap<PathBuf, RememberedFolder>>);

struct RememberedFolder {
    stamp: FolderTime,
    /// When it was first seen with this stamp.
    seen: Instant,
    /// None: it was read so soon after that that a later change may have the same stamp.
    names: Option<FolderNames>,
}

/// What a walk needs of a directory in which it found nothing.
#[derive(Clone)]
pub(super) struct FolderNames {
    pub(super) count: usize,
    pub(super) below: Vec<OsString>,
}

/// Which directory it is, and when it changed. No program can set this time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderTime {
    place: (u64, u64),
    changed: (i64, i64),
}

impl FolderTime {
    /// To be taken before the names are read: what changes meanwhile gets another one.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let meta = folder.symlink_metadata().ok()?;
        let (place, changed) = ((meta.dev(), meta.ino()), (meta.ctime(), meta.ctime_nsec()));
        Some(FolderTime { place, changed })
    }
}

impl WalkMemory {
    pub(super) fn names(&self, folder: &Path, now: FolderTime) -> Option<FolderNames> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(folder).filter(|known| known.stamp == now)?.names.clone()
    }

    /// Nothing was found in it. `read` is when reading its names began.
    pub(super) fn keep(
        &self,
        folder: &Path,
        stamp: FolderTime,
        read: Instant,
        names: impl FnOnce() -> FolderNames,
    ) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = known.get(folder).filter(|known| known.stamp == stamp).map(|known| known.seen);
        if seen.is_none() && known.len() >= MOST_FOLDERS {
            return;
        }
        let is_settled = seen.is_some_and(|seen| read.duration_since(seen) > SETTLED);
        let (seen, names) = (seen.unwrap_or(read), is_settled.then(names));
        known.insert(folder.to_owned(), RememberedFolder { stamp, seen, names });
    }

    /// Something was found in it, or it is gone: it is read every time.
    pub(super) fn forget(&self, folder: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }
}

#[cfg(test)]
impl WalkMemory {
    /// As if everything had been seen long ago.
    pub(super) fn age(&self) {
        let mut known = self.0.lock().unwrap();
        known.values_mut().for_each(|known| known.seen -= 2 * SETTLED);
    }

    pub(super) fn trusted(&self) -> usize {
        self.0.lock().unwrap().values().filter(|known| known.names.is_some()).count()
    }
}
