//! The clock by which a file system stamps its files. It is not ours: it may run behind or ahead, know only whole
//! seconds, or belong to another machine. So it is read from a file that is made there.

use crate::disk::StoreDisk;
use crate::door::FOLDER;
use crate::item::Stamp;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fstat, futimens, open, openat,
    unlinkat,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Whoever changes a file within this time may leave its stamp as it was.
const GRAIN: i64 = 50_000_000;
/// The same where stamps are whole seconds, or even ones.
const COARSE: i64 = 2_100_000_000;
/// The same where nothing can be written, so that only our own clock is known.
const UNKNOWN: i64 = 60_000_000_000;
/// How far a file's time of modification is set back, in seconds, to see what becomes of its time of change.
const BACK: i64 = 1_000_000;
/// More file systems than this in the directories are not followed one by one.
const MOST_MOUNTS: usize = 32;

/// Read at one moment. Times are in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StampClock {
    pub now: i64,
    pub grain: i64,
    /// The time of change cannot be set back. Where it is only another name for that of modification, it proves
    /// nothing about when a file was changed.
    pub tells_changes: bool,
}

impl StampClock {
    /// None if no file can be made in the directory.
    pub(crate) fn read(folder: impl AsFd, disk: &StoreDisk) -> Option<Self> {
        let file = unnamed(folder.as_fd()).or_else(|| named(folder.as_fd(), disk))?;
        let Stamp { mtime, ctime, .. } = disk.stamp(&fstat(&file).ok()?);
        let now = mtime.max(ctime);
        let old = Timespec { tv_sec: now / 1_000_000_000 - BACK, tv_nsec: 0 };
        let same = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let set = futimens(&file, &Timestamps { last_access: same, last_modification: old });
        let tells_changes = set.is_ok() && disk.stamp(&fstat(&file).ok()?).ctime >= now;
        let grain = if now % 1_000_000_000 == 0 { COARSE } else { GRAIN };
        Some(StampClock { now, grain, tells_changes })
    }

    pub(crate) fn is_fine(&self) -> bool {
        self.grain <= GRAIN
    }

    /// Another change could leave the same stamp: the last one was too close to the moment of this clock, or after it.
    pub(crate) fn is_racy(&self, stamp: &Stamp) -> bool {
        let newest = match self.tells_changes {
            true => stamp.ctime,
            false => stamp.ctime.max(stamp.mtime),
        };
        self.now.saturating_sub(newest) < self.grain
    }
}

/// Leaves no trace in the directory. Not every file system can.
fn unnamed(folder: impl AsFd) -> Option<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    openat(folder, ".", flags, Mode::from_raw_mode(0o600)).ok()
}

fn named(folder: impl AsFd, disk: &StoreDisk) -> Option<OwnedFd> {
    let (file, name) = disk.beside(folder.as_fd()).ok()?;
    let _ = unlinkat(folder, &name, AtFlags::empty());
    Some(file.into())
}

/// The clocks of the file systems that a walk meets, each read before anything else is looked at there.
pub(crate) struct Clocks<'a> {
    disk: &'a StoreDisk,
    ours: fn() -> u64,
    known: Mutex<HashMap<u64, StampClock>>,
}

impl<'a> Clocks<'a> {
    pub(crate) fn new(disk: &'a StoreDisk, ours: fn() -> u64) -> Self {
        Clocks { disk, ours, known: Mutex::default() }
    }

    /// True with the clock if it was read just now: what was looked at before must be looked at again.
    pub(crate) fn of(&self, device: u64, folder: impl AsFd) -> (StampClock, bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(clock) = known.get(&device) {
            return (*clock, false);
        }
        let unknown = || StampClock {
            now: i64::try_from((self.ours)()).unwrap_or(i64::MAX),
            grain: UNKNOWN,
            tells_changes: false,
        };
        let clock = StampClock::read(folder, self.disk).unwrap_or_else(unknown);
        known.insert(device, clock);
        (clock, true)
    }
}

/// A moment, by the clock of every file system in the directories.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The clocks were read between these two.
    from: Instant,
    to: Instant,
    /// Where each of them begins, innermost first; none: it could not be read.
    clocks: Vec<(PathBuf, Option<StampClock>)>,
}

impl Moment {
    pub(crate) fn read(disk: &StoreDisk, mounts: &[PathBuf]) -> Self {
        let from = Instant::now();
        let clock = |path: &PathBuf| {
            let folder = open(path, FOLDER, Mode::empty()).ok();
            (path.clone(), folder.and_then(|folder| StampClock::read(folder, disk)))
        };
        let mut clocks: Vec<_> = mounts.iter().take(MOST_MOUNTS + 1).map(clock).collect();
        if clocks.len() > MOST_MOUNTS {
            clocks.clear();
        }
        clocks.sort_by_key(|(path, _)| std::cmp::Reverse(path.as_os_str().len()));
        Moment { from, to: Instant::now(), clocks }
    }

    /// By the clock that stamps the files at this path.
    pub(crate) fn clock(&self, path: &Path) -> Option<&StampClock> {
        self.clocks.iter().find(|(mount, _)| path.starts_with(mount))?.1.as_ref()
    }

    /// How long ago it was, in nanoseconds.
    pub(crate) fn age(&self) -> i64 {
        i64::try_from(self.from.elapsed().as_nanos()).unwrap_or(i64::MAX / 2)
    }

    pub(crate) fn clocks(&self) -> impl Iterator<Item = (&Path, &StampClock)> {
        self.clocks.iter().filter_map(|(path, clock)| Some((path.as_path(), clock.as_ref()?)))
    }

    /// What was changed at this path before this time was changed before the moment. None where times do not tell: a
    /// clock that cannot be read, that goes by modification, or that was set back between the moment and `later`.
    pub(crate) fn bound(&self, path: &Path, later: &Moment) -> Option<i64> {
        let (clock, then) = (self.clock(path)?, later.clock(path)?);
        let passed = later.from.saturating_duration_since(self.to);
        let passed = i64::try_from(passed.as_nanos()).unwrap_or(i64::MAX);
        let expected = clock.now.saturating_add(passed);
        let is_steady = then.now.saturating_add(then.grain) >= expected;
        (clock.tells_changes && is_steady).then_some(clock.now)
    }

    /// The earliest of the clocks that could be read, in nanoseconds since 1970.
    pub fn earliest(&self) -> Option<u64> {
        let times = self.clocks().map(|(_, clock)| clock.now);
        times.min().and_then(|time| u64::try_from(time).ok())
    }
}
