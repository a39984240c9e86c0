//! Looks at every directory of the roots, on two threads, and tells what differs from the index.
//!
//! A directory whose stamp is unchanged is not listed again, only its known entries are looked at; where git keeps
//! files that never change, not even those.

use crate::clock::{Clocks, StampClock};
use crate::door::{SnapshotRoot, root_of};
use crate::error::Error;
use crate::index::{Dir, EntryName, FileIndex};
use crate::item::{SnapshotItem, Stamp, What, Why, kind, mode};
use crate::objects::{KeptObject, Objects};
use crate::special_names::{self, Area};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, RawDir, Stat, fstat, readlinkat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// More is not walked: a snapshot of it would cost too much before every command.
const MOST: u64 = 500_000;
const THREADS: usize = 2;

/// Says whether a deny rule covers a path.
pub(crate) type Denies = dyn Fn(&Path) -> bool + Send + Sync;

pub(crate) struct FolderWalk<'a> {
    pub index: &'a FileIndex,
    pub objects: &'a Objects<'a>,
    pub roots: &'a [SnapshotRoot],
    /// Directories of our own.
    pub hidden: &'a [PathBuf],
    /// Deny rules cover it; none: there are no such rules.
    pub denies: Option<&'a Denies>,
    /// Whether deny rules cover it is asked of unchanged files, too: the rules may be others than at the last look.
    pub compares: bool,
    pub clocks: Clocks<'a>,
    /// Nobody else restores anything: temporary files of an undo were left behind by one that was killed.
    pub sweeps: bool,
    files: AtomicU64,
    queue: Mutex<WalkQueue>,
    more: Condvar,
}

/// A directory to look at.
struct WalkJob {
    path: PathBuf,
    area: Area,
    /// The file system of the directory it was found in; none for a root.
    above: Option<u64>,
}

#[derive(Default)]
struct WalkQueue {
    waiting: Vec<WalkJob>,
    busy: usize,
    failed: Option<Error>,
}

/// What one thread found.
#[derive(Default)]
pub(crate) struct WalkResult {
    /// Directories that are not as the index has them.
    pub dirs: Vec<(PathBuf, Dir)>,
    /// Directories that cannot be read; what is known of them stays.
    pub closed: Vec<PathBuf>,
    /// Where a file system begins, the roots among them.
    pub mounts: Vec<PathBuf>,
    pub files: u64,
}

impl WalkResult {
    /// A directory that could not be looked into. One that is gone is told by the next look; of any other what is known
    /// stays: a snapshot that lacks files which are there would take them for a command's work later.
    fn unseen(&mut self, path: &Path, errno: Errno) {
        if !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
            self.closed.push(path.to_path_buf());
        }
    }
}

impl<'a> FolderWalk<'a> {
    pub(crate) fn new(
        index: &'a FileIndex,
        objects: &'a Objects<'a>,
        roots: &'a [SnapshotRoot],
        hidden: &'a [PathBuf],
        clocks: Clocks<'a>,
    ) -> Self {
        let job = |root: &SnapshotRoot| {
            let path = root.path.clone();
            WalkJob { area: Area::of(&path), path, above: None }
        };
        let queue = WalkQueue { waiting: roots.iter().map(job).collect(), ..WalkQueue::default() };
        let (files, queue, more) = (AtomicU64::new(0), Mutex::new(queue), Condvar::new());
        let (denies, compares, sweeps) = (None, true, false);
        FolderWalk {
            index,
            objects,
            roots,
            hidden,
            denies,
            compares,
            clocks,
            sweeps,
            files,
            queue,
            more,
        }
    }

    pub(crate) fn run(self) -> Result<WalkResult, Error> {
        let mut all = WalkResult::default();
        std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..THREADS).map(|_| scope.spawn(|| self.work(WalkResult::default()))).collect();
            all = self.work(WalkResult::default());
            for other in others {
                // A thread that panicked has not said what it found: that is a failure below.
                match other.join() {
                    Ok(found) => {
                        all.dirs.extend(found.dirs);
                        all.closed.extend(found.closed);
                        all.mounts.extend(found.mounts);
                    }
                    Err(_) => self.fail(Error::Lost("of a walk".into())),
                }
            }
        });
        all.files = self.files.load(Ordering::Relaxed);
        match self.lock().failed.take() {
            Some(error) => Err(error),
            None => Ok(all),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WalkQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: Error) {
        let mut queue = self.lock();
        queue.waiting.clear();
        queue.failed.get_or_insert(error);
        self.more.notify_all();
    }

    fn work(&self, mut found: WalkResult) -> WalkResult {
        let mut buffer = Vec::with_capacity(32 << 10);
        let mut below = Vec::new();
        loop {
            let mut queue = self.lock();
            let job = loop {
                if queue.failed.is_some() {
                    return found;
                }
                if let Some(job) = queue.waiting.pop() {
                    break job;
                }
                if queue.busy == 0 {
                    self.more.notify_all();
                    return found;
                }
                queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            queue.busy += 1;
            drop(queue);
            let visited = self.visit(&job, &mut found, &mut below, &mut buffer);
            let mut queue = self.lock();
            queue.busy -= 1;
            queue.waiting.append(&mut below);
            if !queue.waiting.is_empty() || queue.busy == 0 {
                self.more.notify_all();
            }
            drop(queue);
            if let Err(error) = visited {
                self.fail(error);
            }
        }
    }

    fn visit(
        &self,
        job: &WalkJob,
        found: &mut WalkResult,
        below: &mut Vec<WalkJob>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (path, area) = (job.path.as_path(), job.area);
        let Some(root) = root_of(self.roots, path) else { return Ok(()) };
        let opened = root.folder(path).inspect_err(|errno| found.unseen(path, *errno));
        let Ok(folder) = opened else { return Ok(()) };
        let Some((stat, clock)) = self.timed(&folder) else { return Ok(()) };
        if job.above != Some(stat.st_dev) {
            found.mounts.push(path.to_path_buf());
        }
        let stamp = self.objects.disk.stamp(&stat);
        let old = self.index.dirs.get(path);
        let listed = old.filter(|old| old.stamp == stamp && !old.racy);
        let count = listed.map_or(0, |old| old.entries.len());
        if let Some(old) = listed {
            if area == Area::Fixed || self.is_as_known(&folder, job, stat.st_dev, old, below) {
                return self.count(count as u64);
            }
            below.clear();
        }
        let racy = clock.is_racy(&stamp);
        let names = listed.map_or_else(|| list(&folder, buffer), |old| Ok(old.names()));
        let names = names.inspect_err(|errno| found.unseen(path, *errno));
        let Ok(names) = names else { return Ok(()) };
        let mut dir = Dir { stamp, racy, entries: Vec::with_capacity(names.len()) };
        self.count(names.len() as u64)?;
        for name in names {
            if area.is_passing(&name) {
                dir.racy |= self.is_leftover(&folder, &name);
                continue;
            }
            let stat = match statat(&folder, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                // It can be listed and not entered.
                Err(errno) => {
                    below.clear();
                    found.unseen(path, errno);
                    return Ok(());
                }
            };
            let before = old.and_then(|old| old.get(&name));
            let place = WalkSpot { folder: folder.as_fd(), path, area, name: &name, clock: &clock };
            if let Some(item) = self.item(&place, &stat, before)? {
                if item.what == What::Folder {
                    below.push(job.inside(&name, stat.st_dev));
                }
                dir.entries.push((name, item));
            }
        }
        if old != Some(&dir) {
            found.dirs.push((path.to_path_buf(), dir));
        }
        Ok(())
    }

    /// What is known of a directory, and the clock that was read before it was looked at.
    fn timed(&self, folder: impl AsFd) -> Option<(Stat, StampClock)> {
        let stat = fstat(folder.as_fd()).ok()?;
        let (clock, is_new) = self.clocks.of(stat.st_dev, folder.as_fd());
        let stat = if is_new { fstat(folder).ok()? } else { stat };
        Some((stat, clock))
    }

    /// Removes what an undo left behind that was killed. True if one may still be at work: it is looked for again.
    fn is_leftover(&self, folder: impl AsFd, name: &[u8]) -> bool {
        let is_ours = self.objects.disk.is_beside_name(name);
        is_ours && !(self.sweeps && unlinkat(folder, name, AtFlags::empty()).is_ok())
    }

    fn count(&self, files: u64) -> Result<(), Error> {
        match self.files.fetch_add(files, Ordering::Relaxed) + files > MOST {
            true => Err(Error::TooMany(MOST)),
            false => Ok(()),
        }
    }

    fn is_denied(&self, folder: &Path, name: &[u8]) -> bool {
        self.denies.is_some_and(|denies| denies(&folder.join(OsStr::from_bytes(name))))
    }

    /// The common case, without making anything again.
    fn is_as_known(
        &self,
        folder: impl AsFd,
        job: &WalkJob,
        device: u64,
        old: &Dir,
        below: &mut Vec<WalkJob>,
    ) -> bool {
        let disk = self.objects.disk;
        for (name, item) in &old.entries {
            let Ok(stat) = statat(folder.as_fd(), &**name, AtFlags::SYMLINK_NOFOLLOW) else {
                return false;
            };
            let is_denied = item.what == What::LeftOut(Why::Denied);
            if !is_unchanged(item, &disk.stamp(&stat), &stat)
                || self.compares && self.is_denied(&job.path, name) != is_denied
            {
                return false;
            }
            if item.what == What::Folder {
                if job.area == Area::Plain
                    && special_names::is_build(&job.path, name)
                    && special_names::is_over(folder.as_fd(), name)
                {
                    return false;
                }
                below.push(job.inside(name, device));
            }
        }
        true
    }

    /// What stands at a name now. None if nothing does any more, or nothing that counts.
    fn item(
        &self,
        place: &WalkSpot<'_>,
        stat: &Stat,
        before: Option<&SnapshotItem>,
    ) -> Result<Option<SnapshotItem>, Error> {
        let (stamp, mode) = (self.objects.disk.stamp(stat), mode(stat));
        if self.is_denied(place.path, place.name) {
            let (what, stamp) = (What::LeftOut(Why::Denied), Stamp::default());
            return Ok(Some(SnapshotItem { what, mode, stamp, racy: false }));
        }
        let before = before.filter(|before| before.what != What::LeftOut(Why::Denied));
        if kind(stat) == FileType::Directory {
            return Ok(self.folder(place, before, stamp, mode));
        }
        if let Some(before) = before.filter(|before| is_unchanged(before, &stamp, stat)) {
            return Ok(Some(before.clone()));
        }
        let plain = |what, racy| Ok(Some(SnapshotItem { what, mode, stamp, racy }));
        let kept = match kind(stat) {
            FileType::Symlink => {
                return match readlinkat(place.folder, place.name, Vec::new()) {
                    Ok(target) => {
                        plain(What::Link(target.into_bytes()), place.clock.is_racy(&stamp))
                    }
                    Err(_) => Ok(None),
                };
            }
            FileType::RegularFile if place.area.is_fixed(place.name) => {
                self.objects.pin(place.folder, place.name, &place.inner(), stamp)?
            }
            FileType::RegularFile => self.objects.keep(place.folder, place.name, place.clock)?,
            _ => return plain(What::LeftOut(Why::Special), false),
        };
        Ok(match kept {
            KeptObject::Is { hash, stamp, racy } => {
                let fixed = place.area.is_fixed(place.name);
                let what = if fixed { What::Pinned(hash) } else { What::File(hash) };
                Some(SnapshotItem { what, mode, stamp, racy })
            }
            // Closed, but not changed: only its mode is new.
            KeptObject::LeftOut(why) => Some(match before {
                Some(old) if old.hash().is_some() && old.stamp.is_same_content(&stamp) => {
                    SnapshotItem { mode, stamp, racy: true, ..old.clone() }
                }
                _ => SnapshotItem { what: What::LeftOut(why), mode, stamp, racy: false },
            }),
            KeptObject::Gone => None,
        })
    }

    fn folder(
        &self,
        place: &WalkSpot<'_>,
        before: Option<&SnapshotItem>,
        stamp: Stamp,
        mode: u32,
    ) -> Option<SnapshotItem> {
        let path = place.path.join(OsStr::from_bytes(place.name));
        if self.hidden.contains(&path) {
            return None;
        }
        // The stamp of a directory is kept with its entries; here only which directory it is.
        let stamp = Stamp { ino: stamp.ino, ..Stamp::default() };
        let is_left_out = |item: &SnapshotItem| item.what == What::LeftOut(Why::Build);
        let build = place.area == Area::Plain && special_names::is_build(place.path, place.name);
        let known = before.is_some_and(|item| is_left_out(item) && item.stamp.ino == stamp.ino);
        let what = match build && (known || special_names::is_over(place.folder, place.name)) {
            true => What::LeftOut(Why::Build),
            false => What::Folder,
        };
        Some(SnapshotItem { what, mode, stamp, racy: false })
    }
}

struct WalkSpot<'a> {
    folder: BorrowedFd<'a>,
    path: &'a Path,
    area: Area,
    name: &'a [u8],
    clock: &'a StampClock,
}

impl WalkJob {
    fn inside(&self, name: &[u8], device: u64) -> WalkJob {
        let path = self.path.join(OsStr::from_bytes(name));
        WalkJob { path, area: self.area.below(name), above: Some(device) }
    }
}

impl WalkSpot<'_> {
    /// The name within git's objects, by which an object is known.
    fn inner(&self) -> Vec<u8> {
        let folder = self.path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        [folder, b"/", self.name].concat()
    }
}

fn is_unchanged(item: &SnapshotItem, stamp: &Stamp, stat: &Stat) -> bool {
    if item.mode != mode(stat) || item.racy {
        return false;
    }
    match (&item.what, kind(stat)) {
        (What::Folder | What::LeftOut(Why::Build), FileType::Directory) => {
            item.stamp.ino == stamp.ino
        }
        // A further name of it changes its stamp.
        (What::Pinned(_), FileType::RegularFile) => item.stamp.is_same_content(stamp),
        (What::File(_) | What::LeftOut(Why::Large | Why::Unreadable), FileType::RegularFile)
        | (What::Link(_), FileType::Symlink) => item.stamp == *stamp,
        (What::LeftOut(Why::Denied), _) => true,
        (What::LeftOut(Why::Special), kind) => {
            let plain = [FileType::RegularFile, FileType::Symlink, FileType::Directory];
            !plain.contains(&kind) && item.stamp.ino == stamp.ino
        }
        _ => false,
    }
}

/// The names in a directory, sorted.
fn list(folder: impl AsFd, buffer: &mut Vec<u8>) -> Result<Vec<EntryName>, Errno> {
    let mut names: Vec<EntryName> = Vec::new();
    let mut dir = RawDir::new(folder, buffer.spare_capacity_mut());
    while let Some(entry) = dir.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.into());
        }
    }
    names.sort_unstable();
    Ok(names)
}
