//! The store of one project: takes snapshots, compares them, lists them, drops old ones.

use crate::apply::{apply, part};
use crate::clock::{Clocks, Moment};
use crate::disk::{FileLock, StoreDisk};
use crate::door::{SnapshotRoot, outermost};
use crate::error::Error;
use crate::index::FileIndex;
use crate::item::{Hash, SnapshotItem, Stamp, What, Why, mode};
use crate::journal::JOURNAL;
use crate::label::Label;
use crate::objects::Objects;
use crate::record::{RecordBody, SnapshotRecord};
use crate::walk::{Denies, FolderWalk, WalkResult};
use ostler_core::permission::Live;
use rustix::fs::{AtFlags, CWD, statat};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const INDEX: &str = "index";

/// The reason of a snapshot that shows what a command did.
pub const AFTER_COMMAND: &str = "after a command";

/// So many entries of the index may be newer than the file it was read from.
const UNSAVED: usize = 2_000;
/// When the store is closed, fewer are not worth writing.
const UNSAVED_AT_END: usize = 32;

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where snapshots are kept; made if it is missing, closed to others.
    pub dir: PathBuf,
    /// The directories that are kept; absolute and free of links.
    pub roots: Vec<PathBuf>,
    /// Directories inside them that are never looked at: our own.
    pub hidden: Vec<PathBuf>,
    /// Nanoseconds since 1970.
    pub now: fn() -> u64,
}

pub struct Snapshots {
    pub(crate) disk: StoreDisk,
    pub(crate) config: Config,
    /// None lies in another one.
    roots: Live<Vec<PathBuf>>,
    /// For whom snapshots are taken.
    pub(crate) session: Option<String>,
    state: Mutex<StoreState>,
    /// We restore files, and nobody else does.
    pub(crate) alone: Mutex<Option<FileLock>>,
    denies: Option<Arc<Denies>>,
    /// The first snapshot of an empty store has a higher number.
    numbers_after: u64,
}

#[derive(Default)]
pub(crate) struct StoreState {
    pub index: Option<FileIndex>,
    seq: u64,
    unsaved: usize,
    /// The index was compared with our deny rules.
    compared: bool,
    /// Where the file systems of the last look begin.
    mounts: Vec<PathBuf>,
    /// The files as this state knows them.
    seen: [Option<(u64, u64, i64)>; 2],
}

impl StoreState {
    /// The number of the newest snapshot.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }
}

/// A snapshot that was taken, or the one before if nothing has changed.
#[derive(Clone, Debug)]
pub struct Taken {
    pub id: u64,
    /// The snapshot that holds what was changed before the moment given to [`Snapshots::take_since`], if anything
    /// was.
    pub older: Option<u64>,
    pub changed: usize,
    pub bytes_kept: u64,
    pub files: u64,
    pub took: Duration,
    pub left_out: Vec<(PathBuf, Why)>,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSnapshot {
    pub id: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub label: Label,
    /// Without paths of git; of the first snapshot, all that it holds.
    pub changed: usize,
    /// Paths in a `.git` that changed.
    pub of_git: usize,
    /// The first after a gap: nothing older can be compared with it.
    pub base: bool,
}

impl Snapshots {
    /// Opens the store; the directories are looked at when the first snapshot is taken.
    pub fn open(mut config: Config) -> Result<Self, Error> {
        let roots = outermost(std::mem::take(&mut config.roots))?.into();
        let disk = StoreDisk::open(&config.dir)?;
        let (state, alone, denies, numbers_after) = Default::default();
        Ok(Snapshots { disk, config, roots, session: None, state, alone, denies, numbers_after })
    }

    /// Nothing is kept of files that deny rules cover.
    pub fn denying(mut self, denies: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.denies = Some(Arc::new(denies));
        self
    }

    /// A store that was removed does not give its numbers once more: `last` is the highest one that is known.
    pub fn numbering_after(mut self, last: u64) -> Self {
        self.numbers_after = last;
        self
    }

    /// Nanoseconds since 1970: the earliest clock of the directories; ours where none can be read.
    pub fn time(&self) -> u64 {
        self.moment().earliest().unwrap_or_else(self.config.now)
    }

    /// Adds the directories that earlier sessions of the project worked in.
    pub fn with_known_roots(self) -> Result<Self, Error> {
        let mut config = Config { roots: self.roots().to_vec(), ..self.config.clone() };
        let (state, _lock) = self.enter()?;
        let known = state.index.iter().flat_map(|index| &index.roots);
        config.roots.extend(known.map(|(root, _)| root.clone()));
        config.roots.extend(self.known_roots().into_iter().map(|(_, root)| root));
        let mut all = Snapshots::open(config)?;
        all.denies.clone_from(&self.denies);
        all.session.clone_from(&self.session);
        Ok(all)
    }

    /// Snapshots, commands and edits are this session's.
    #[must_use]
    pub fn of_session(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self
    }

    pub fn roots(&self) -> Arc<Vec<PathBuf>> {
        self.roots.now()
    }

    /// Covers further directories from the next snapshot on. What is in them by then was there before.
    pub fn add_roots(&self, more: &[PathBuf]) -> Result<(), Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.roots.set(outermost([self.roots().as_slice(), more].concat())?);
        // They may be on another file system, with a clock of its own.
        state.mounts.clear();
        Ok(())
    }

    /// Makes every write after so many fail, as if the process had been killed there. For tests.
    pub fn stop_after(&self, writes: u64) {
        self.disk.stop_after(writes);
    }

    /// As if the file systems knew no smaller unit of time. For tests.
    pub fn use_whole_seconds(&self) {
        self.disk.use_whole_seconds();
    }

    /// Now, by the clocks of the file systems that hold the roots.
    pub fn moment(&self) -> Moment {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mounts = state.mounts.clone();
        drop(state);
        match mounts.is_empty() {
            true => Moment::read(&self.disk, &self.roots()),
            false => Moment::read(&self.disk, &mounts),
        }
    }

    pub(crate) fn objects(&self) -> Objects<'_> {
        Objects { disk: &self.disk, kept: AtomicU64::new(0), read: AtomicU64::new(0) }
    }

    /// The content of a file by its hash.
    pub fn content(&self, hash: &Hash) -> Result<Vec<u8>, Error> {
        self.objects().read(hash)
    }

    /// Keeps a content that somebody is about to write, so that later changes of it can be told. It stays until the next
    /// pruning.
    pub fn keep(&self, bytes: &[u8]) -> Result<Hash, Error> {
        self.objects().put(bytes)
    }

    /// Keeps the state of the roots as it is now.
    pub fn take(&self, reason: &str) -> Result<Taken, Error> {
        self.look(reason, None, None)
    }

    /// The same; what was changed before a moment becomes a snapshot of its own, as far as times tell.
    pub fn take_since(&self, reason: &str, since: &Moment) -> Result<Taken, Error> {
        self.look(reason, None, Some(since))
    }

    /// The same around a command, which is named in the list.
    pub fn take_around(
        &self,
        reason: &str,
        command: &str,
        since: Option<&Moment>,
    ) -> Result<Taken, Error> {
        self.look(reason, Some(command), since)
    }

    /// Nobody has taken a snapshot since this one.
    pub fn is_newest(&self, id: u64) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seq == id && state.seen == self.files_now()
    }

    fn look(
        &self,
        reason: &str,
        command: Option<&str>,
        since: Option<&Moment>,
    ) -> Result<Taken, Error> {
        let label = &Label::new(reason, self.session.as_deref(), command);
        let begin = Instant::now();
        let since = since.map(|since| (since, self.moment()));
        let (mut state, _lock) = self.enter()?;
        let compares = !state.compared;
        let index = state.index.get_or_insert_default();
        let is_base = index.seq == 0;
        let objects = self.objects();
        let (roots, items) = self.open_roots();
        let clocks = Clocks::new(&self.disk, self.config.now);
        let sweeps = !self.is_somebody_undoing();
        let mut walk = FolderWalk::new(index, &objects, &roots, &self.config.hidden, clocks);
        (walk.denies, walk.compares) = (self.denies.as_deref(), compares);
        walk.sweeps = sweeps;
        let mut found = walk.run()?;
        let closed = found.closed.clone();
        state.mounts = std::mem::take(&mut found.mounts);
        state.compared = true;
        let (older, changed, files) = if is_base {
            self.begin(&mut state, found, items, label)?
        } else {
            let bound =
                |path: &Path| since.as_ref().and_then(|(since, now)| since.bound(path, now));
            self.go_on(&mut state, found, items, label, &bound)?
        };
        self.remember(&mut state);
        let mut left_out = state.index.as_ref().map(FileIndex::left_out).unwrap_or_default();
        left_out.extend(closed.into_iter().map(|path| (path, Why::Unreadable)));
        let bytes_kept = objects.kept.into_inner();
        let (id, took) = (state.seq, begin.elapsed());
        Ok(Taken { id, older, changed, bytes_kept, files, took, left_out })
    }

    fn begin(
        &self,
        state: &mut StoreState,
        found: WalkResult,
        roots: Vec<(PathBuf, SnapshotItem)>,
        label: &Label,
    ) -> Result<(Option<u64>, usize, u64), Error> {
        let mut index = FileIndex::default();
        let files = found.files;
        apply(&mut index, found, roots);
        index.seq = state.seq.max(self.numbers_after) + 1;
        self.append(index.seq, label, RecordBody::Base { files })?;
        state.seq = index.seq;
        self.disk.replace(INDEX, &index.encode())?;
        (state.unsaved, state.index) = (0, Some(index));
        Ok((None, 0, files))
    }

    fn go_on(
        &self,
        state: &mut StoreState,
        found: WalkResult,
        roots: Vec<(PathBuf, SnapshotItem)>,
        label: &Label,
        since: &dyn Fn(&Path) -> Option<i64>,
    ) -> Result<(Option<u64>, usize, u64), Error> {
        let files = found.files;
        // Until everything is on disk the memory is not trusted: an error leaves none.
        let mut index = state.index.take().unwrap_or_default();
        let applied = apply(&mut index, found, roots);
        state.unsaved += applied.stamps + applied.changes.len();
        let revealed = applied.revealed;
        let (older, newer) = part(&index, applied, since);
        let mut before = None;
        if !older.is_empty() {
            let reason = "changed before a command".to_owned();
            self.append(
                state.seq + 1,
                &Label { reason, ..label.clone() },
                RecordBody::Delta(older),
            )?;
            state.seq += 1;
            before = Some(state.seq);
        }
        let changed = newer.len();
        if changed > 0 {
            self.append(state.seq + 1, label, RecordBody::Delta(newer))?;
            state.seq += 1;
        }
        index.seq = state.seq;
        if state.unsaved > UNSAVED || revealed {
            self.disk.replace(INDEX, &index.encode())?;
            state.unsaved = 0;
        }
        state.index = Some(index);
        Ok((before, changed, files))
    }

    /// Alone in the store, with the newest state.
    pub(crate) fn enter(&self) -> Result<(MutexGuard<'_, StoreState>, FileLock), Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = self.disk.lock()?;
        let seen = self.files_now();
        if state.index.is_none() || state.seen != seen {
            self.load(&mut state)?;
        }
        Ok((state, lock))
    }

    fn files_now(&self) -> [Option<(u64, u64, i64)>; 2] {
        [INDEX, JOURNAL].map(|name| {
            let meta = std::fs::metadata(self.disk.path(name)).ok()?;
            Some((meta.ino(), meta.len(), meta.mtime() * 1_000_000_000 + meta.mtime_nsec()))
        })
    }

    pub(crate) fn remember(&self, state: &mut StoreState) {
        state.seen = self.files_now();
    }

    /// Only while the lock is held: what others left half written is removed.
    fn load(&self, state: &mut StoreState) -> Result<(), Error> {
        self.disk.sweep();
        let mut journal = self.read_journal()?;
        self.repair(&mut journal)?;
        let (index, unsaved) = self.replay(&journal.records);
        let newest = journal.records.iter().map(|record| record.seq).max().unwrap_or(0);
        (state.seq, state.unsaved) = (newest.max(index.seq), unsaved);
        state.index = Some(index);
        self.remember(state);
        Ok(())
    }

    /// The index with what was recorded since it was written, and how much that is.
    fn replay(&self, records: &[SnapshotRecord]) -> (FileIndex, usize) {
        let bytes = std::fs::read(self.disk.path(INDEX)).unwrap_or_default();
        let (mut index, mut unsaved) = (FileIndex::decode(&bytes).unwrap_or_default(), 0);
        for record in records {
            if record.seq <= index.seq {
                continue;
            }
            match &record.body {
                RecordBody::Delta(changes) if index.seq > 0 => {
                    changes.iter().for_each(|change| index.apply(change));
                    index.seq = record.seq;
                    unsaved += changes.len();
                }
                RecordBody::Note(_) => {}
                // The state that this base described is lost.
                RecordBody::Base { .. } | RecordBody::Delta(_) => index = FileIndex::default(),
            }
        }
        (index, unsaved)
    }

    /// Looks at the last known state. Without the lock, so nothing is repaired, removed or remembered.
    fn peek<T>(&self, look: impl Fn(&FileIndex) -> T) -> T {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.index {
            Some(index) => look(index),
            None => {
                let records = self.read_journal().map(|journal| journal.records);
                look(&self.replay(&records.unwrap_or_default()).0)
            }
        }
    }

    /// Replaces the journal, with the index up to date first.
    pub(crate) fn rewrite(
        &self,
        state: &mut StoreState,
        records: &[SnapshotRecord],
    ) -> Result<(), Error> {
        if let Some(index) = &state.index {
            self.disk.replace(INDEX, &index.encode())?;
            state.unsaved = 0;
        }
        let bytes: Vec<u8> = records.iter().flat_map(SnapshotRecord::encode).collect();
        self.disk.replace(JOURNAL, &bytes)?;
        self.remember(state);
        Ok(())
    }

    fn open_roots(&self) -> (Vec<SnapshotRoot>, Vec<(PathBuf, SnapshotItem)>) {
        let roots: Vec<SnapshotRoot> =
            self.roots().iter().filter_map(|path| SnapshotRoot::open(path)).collect();
        let item = |root: &SnapshotRoot| {
            let stat = statat(CWD, &root.path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let stamp = Stamp::default();
            Some((
                root.path.clone(),
                SnapshotItem { what: What::Folder, mode: mode(&stat), stamp, racy: false },
            ))
        };
        let items = roots.iter().filter_map(item).collect();
        (roots, items)
    }

    /// All that can be gone back to, oldest first.
    pub fn list(&self) -> Result<Vec<ListedSnapshot>, Error> {
        let records = self.read_journal()?.records;
        let line = |record: SnapshotRecord| {
            let (changed, of_git, base) = match record.body {
                RecordBody::Base { files } => {
                    (usize::try_from(files).unwrap_or(usize::MAX), 0, true)
                }
                RecordBody::Delta(changes) => {
                    let of_git = changes.iter().filter(|change| change.is_of_git()).count();
                    (changes.len() - of_git, of_git, false)
                }
                RecordBody::Note(_) => return None,
            };
            let SnapshotRecord { seq: id, at, reason, .. } = record;
            Some(ListedSnapshot { id, at, label: Label::decode(&reason), changed, of_git, base })
        };
        Ok(records.into_iter().filter_map(line).collect())
    }

    /// What the last snapshot does not hold, without a walk.
    pub fn left_out(&self) -> Vec<PathBuf> {
        // The sandbox protects what is denied.
        self.left_out_for(|why| why != Why::Denied)
    }

    /// Directories that are not followed at all: whether anything was changed in them is not known.
    pub fn not_followed(&self) -> Vec<PathBuf> {
        self.left_out_for(|why| why == Why::Build)
    }

    /// What the last snapshot does not hold because of deny rules, by each of its names.
    pub fn denied(&self) -> Vec<PathBuf> {
        self.left_out_for(|why| why == Why::Denied)
    }

    fn left_out_for(&self, counts: impl Fn(Why) -> bool) -> Vec<PathBuf> {
        let left_out = self.peek(FileIndex::left_out).into_iter();
        left_out.filter(|(_, why)| counts(*why)).map(|(path, _)| path).collect()
    }

    /// Nothing was ever looked at.
    pub fn is_new(&self) -> bool {
        self.peek(|index| index.seq == 0)
    }

    pub(crate) fn paths_below(&self, folder: &Path) -> Vec<PathBuf> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.index.as_ref().map(|index| index.below(folder)).unwrap_or_default()
    }

    /// What the last snapshot holds at a path.
    pub fn known(&self, path: &Path) -> Option<SnapshotItem> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.index.as_ref()?.get(path).cloned()
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(index), true) = (&state.index, state.unsaved > UNSAVED_AT_END) else { return };
        // Only what nobody else has gone on from; without it the next start reads some files again.
        if let Ok(_lock) = self.disk.lock()
            && self.files_now() == state.seen
        {
            let _ = self.disk.replace(INDEX, &index.encode());
        }
    }
}
