//! Does what a plan says: every write from the root's descriptor, beside its place and renamed, never through a link.

use crate::door::{SnapshotRoot, root_of};
use crate::error::Error;
use crate::item::{Hash, What, Why, kind, mode};
use crate::plan::{
    Fate, PathState, PlanOutcome, RestoreAction, RestorePlan, UndoUnit, WantedState,
};
use crate::store::Snapshots;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

struct Restorer<'a> {
    snapshots: &'a Snapshots,
    roots: Vec<SnapshotRoot>,
    /// Directories that were opened up for the work, with the mode they had.
    opened: BTreeMap<PathBuf, u32>,
    outcomes: BTreeMap<PathBuf, Fate>,
}

impl Snapshots {
    /// Does what the plan says and keeps the state after it. Where that lets us look into directories that were closed,
    /// what is found to have changed in them since the snapshot `before` goes back, too. Gives what became of each
    /// path, and the number of the new state.
    pub fn follow(
        &self,
        plan: &RestorePlan,
        before: u64,
        reason: &str,
    ) -> Result<(Vec<PlanOutcome>, u64), Error> {
        let mut outcomes = self.restore(plan)?;
        let after = self.take(reason)?.id;
        if plan.reopened.is_empty() {
            return Ok((outcomes, after));
        }
        let known: HashSet<&PathBuf> = outcomes.iter().map(|outcome| &outcome.path).collect();
        let is_found = |path: &PathBuf| {
            let holds = |folder: &PathBuf| path != folder && path.starts_with(folder);
            !known.contains(path) && plan.reopened.iter().any(holds)
        };
        let mut changes = self.diff(before, after)?;
        changes.retain(|change| is_found(&change.path));
        let wanted = changes.into_iter().map(WantedState::from).collect();
        let inside = self.plan(&[UndoUnit { wanted, ..UndoUnit::default() }])?;
        outcomes.extend(self.restore(&inside)?);
        Ok((outcomes, self.take(reason)?.id))
    }

    /// What became of each path: as the plan says, or why not.
    pub fn restore(&self, plan: &RestorePlan) -> Result<Vec<PlanOutcome>, Error> {
        let roots = self.roots().iter().filter_map(|path| SnapshotRoot::open(path)).collect();
        let outcomes =
            plan.outcomes.iter().map(|said| (said.path.clone(), said.fate.clone())).collect();
        let opened = plan.modes.iter().cloned().collect();
        let mut work = Restorer { snapshots: self, roots, opened, outcomes };
        let worked = work.run(&plan.actions);
        // Also when the disk is full: what was opened up is closed again.
        work.close(&plan.actions)?;
        worked?;
        Ok(work.outcomes.into_iter().map(|(path, fate)| PlanOutcome { path, fate }).collect())
    }
}

/// Why one path was not done. Only a full disk ends everything.
enum FailedChange {
    Errno(Errno),
    Store(Error),
    Changed,
}

impl From<Errno> for FailedChange {
    fn from(errno: Errno) -> Self {
        FailedChange::Errno(errno)
    }
}

impl From<std::io::Error> for FailedChange {
    fn from(error: std::io::Error) -> Self {
        FailedChange::Errno(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

impl Restorer<'_> {
    fn run(&mut self, actions: &[RestoreAction]) -> Result<(), Error> {
        self.open_up(actions)?;
        let mut left = HashSet::new();
        for action in actions.iter().rev() {
            let goes =
                !matches!(action.from, PathState::Absent) && action.from.kind() != action.to.kind();
            if goes && let Err(error) = self.remove(action) {
                self.failed(&action.path, error)?;
                left.insert(&action.path);
            }
        }
        for action in actions.iter().filter(|action| !left.contains(&action.path)) {
            if !matches!(action.to, PathState::Absent)
                && let Err(error) = self.make(action)
            {
                self.failed(&action.path, error)?;
            }
        }
        Ok(())
    }

    /// Before each change of the directories, so that a test can stop there.
    fn point(&self) -> Result<(), FailedChange> {
        self.snapshots.disk.point().map_err(|error| self.io(error))
    }

    /// What did not come from the kernel came from a test, and ends everything.
    fn io(&self, error: std::io::Error) -> FailedChange {
        match Errno::from_io_error(&error) {
            Some(errno) => FailedChange::Errno(errno),
            None => FailedChange::Store(Error::io("restore from", &self.snapshots.disk.dir, error)),
        }
    }

    fn failed(&mut self, path: &Path, failed: FailedChange) -> Result<(), Error> {
        let fate = match failed {
            FailedChange::Errno(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::ROFS)) => {
                return Err(Error::io("restore", path, errno));
            }
            FailedChange::Errno(Errno::NOTEMPTY | Errno::EXIST) => {
                Fate::Kept("contains something that the undone calls did not create")
            }
            FailedChange::Store(error @ Error::Io { .. }) => return Err(error),
            FailedChange::Changed => Fate::Kept("was changed just now"),
            FailedChange::Errno(_) => Fate::Lost("it could not be written"),
            FailedChange::Store(_) => Fate::Lost("its content is no longer stored"),
        };
        self.outcomes.insert(path.to_path_buf(), fate);
        Ok(())
    }

    fn root(&self, path: &Path) -> Result<&SnapshotRoot, Errno> {
        root_of(&self.roots, path).ok_or(Errno::XDEV)
    }

    fn place<'p>(&self, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), Errno> {
        let (parent, name) = (path.parent().ok_or(Errno::ISDIR)?, path.file_name());
        Ok((self.root(path)?.folder(parent)?, name.ok_or(Errno::ISDIR)?))
    }

    /// Directories on the way that their owner may not enter.
    fn open_up(&mut self, actions: &[RestoreAction]) -> Result<(), Error> {
        let mut folders: Vec<&Path> = actions
            .iter()
            .flat_map(|action| {
                let own = matches!(action.from, PathState::Folder { .. }).then_some(&*action.path);
                own.into_iter().chain(action.path.ancestors().skip(1))
            })
            .filter(|path| root_of(&self.roots, path).is_some())
            .collect();
        folders.sort_unstable();
        folders.dedup();
        for path in folders {
            match self.chmod(path, |old| old | 0o700) {
                Ok(Some(old)) => {
                    self.opened.entry(path.to_path_buf()).or_insert(old);
                }
                Err(FailedChange::Store(error)) => return Err(error),
                // What cannot be entered, or is not there, is said where something is to be done in it.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Changes the mode of a directory; gives the old one if it was another.
    fn chmod(&self, path: &Path, to: impl Fn(u32) -> u32) -> Result<Option<u32>, FailedChange> {
        let root = self.root(path)?;
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = match path == root.path {
            true => fs::open(above, flags, Mode::empty())?,
            false => root.open_at(above, flags | OFlags::NOFOLLOW)?,
        };
        let stat = fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let (old, new) = (mode(&stat), to(mode(&stat)));
        if kind(&stat) != FileType::Directory || old == new {
            return Ok(None);
        }
        self.point()?;
        fs::chmodat(&folder, name, Mode::from_raw_mode(new), AtFlags::empty())?;
        Ok(Some(old))
    }

    /// The last thing: modes as they were, from the inside out.
    fn close(&mut self, actions: &[RestoreAction]) -> Result<(), Error> {
        let mut modes = std::mem::take(&mut self.opened);
        for action in actions {
            if let PathState::Folder { mode } = action.to {
                modes.insert(action.path.clone(), mode);
            }
        }
        for (path, mode) in modes.iter().rev() {
            match self.chmod(path, |_| *mode) {
                // It was removed, or was never made, and that is said.
                Ok(_) | Err(FailedChange::Errno(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {}
                Err(error) => self.failed(path, error)?,
            }
        }
        Ok(())
    }

    /// What stands there is still what the plan was made for.
    fn check(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        action: &RestoreAction,
    ) -> Result<(), FailedChange> {
        let known = self.snapshots.known(&action.path);
        match (fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW), known) {
            (Err(Errno::NOENT), _) if matches!(action.from, PathState::Absent) => Ok(()),
            (Ok(stat), Some(item)) if kind(&stat) == FileType::Directory => {
                let same = item.what == What::Folder;
                if same { Ok(()) } else { Err(FailedChange::Changed) }
            }
            (Ok(stat), Some(item)) => {
                let now = self.snapshots.disk.stamp(&stat);
                let special = item.what == What::LeftOut(Why::Special);
                let same = special || now.is_same_content(&item.stamp);
                // Where the times prove nothing, the content does.
                let hash = item.hash().filter(|_| item.racy);
                let objects = self.snapshots.objects();
                let holds = || hash.is_none_or(|hash| objects.is_content(folder, name, &hash));
                let same = same && now.ino == item.stamp.ino && holds();
                if same { Ok(()) } else { Err(FailedChange::Changed) }
            }
            (Err(errno), _) if errno != Errno::NOENT => Err(errno.into()),
            _ => Err(FailedChange::Changed),
        }
    }

    fn remove(&mut self, action: &RestoreAction) -> Result<(), FailedChange> {
        let (folder, name) = self.place(&action.path)?;
        self.check(&folder, name, action)?;
        let flags = match action.from {
            PathState::Folder { .. } => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        self.point()?;
        Ok(fs::unlinkat(&folder, name, flags)?)
    }

    fn make(&mut self, action: &RestoreAction) -> Result<(), FailedChange> {
        let root = self.root(&action.path)?;
        if action.path == root.path {
            // Only its mode, which comes last.
            return Ok(());
        }
        self.make_parents(&action.path)?;
        let (folder, name) = self.place(&action.path)?;
        let replaced = action.from.kind() == action.to.kind();
        if replaced {
            self.check(&folder, name, action)?;
        }
        self.point()?;
        if let PathState::Folder { .. } = action.to {
            return match fs::mkdirat(&folder, name, Mode::from_raw_mode(0o700)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(errno.into()),
            };
        }
        if let Some(mode) = action.from.only_mode(&action.to) {
            let bits = Mode::from_raw_mode(mode);
            return Ok(fs::chmodat(&folder, name, bits, AtFlags::empty())?);
        }
        if let PathState::Pinned { hash, mode } = &action.to
            && !replaced
            && self.link(&folder, name, hash, *mode)?
        {
            return Ok(());
        }
        let temporary = self.write(&folder, &action.to)?;
        let placed = self.point().and_then(|()| {
            let flags = if replaced { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
            match fs::renameat_with(&folder, &temporary.name, &folder, name, flags) {
                // Some file systems cannot; it was looked at a moment ago.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    Ok(fs::renameat(&folder, &temporary.name, &folder, name)?)
                }
                other => Ok(other?),
            }
        });
        if placed.is_err() {
            self.discard(&folder, &temporary.name);
        }
        placed
    }

    fn discard(&self, folder: &OwnedFd, temporary: &str) {
        if self.point().is_ok() {
            let _ = fs::unlinkat(folder, temporary, AtFlags::empty());
        }
    }

    fn make_parents(&self, path: &Path) -> Result<(), FailedChange> {
        let (root, Some(parent)) = (self.root(path)?, path.parent()) else { return Ok(()) };
        if parent == root.path || root.folder(parent).is_ok() {
            return Ok(());
        }
        self.make_parents(parent)?;
        let (folder, name) = self.place(parent)?;
        self.point()?;
        match fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// An object of git by a further name of the kept one. False where that is not possible.
    fn link(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        hash: &Hash,
        mode: u32,
    ) -> Result<bool, FailedChange> {
        let place = self.snapshots.objects().pinned(hash).map_err(FailedChange::Store)?;
        match fs::linkat(CWD, &place, folder, name, AtFlags::empty()) {
            Ok(()) => {
                self.point()?;
                fs::chmodat(folder, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
                Ok(true)
            }
            Err(Errno::EXIST) => Err(Errno::EXIST.into()),
            Err(_) => Ok(false),
        }
    }

    /// Beside its place.
    fn write(&self, folder: &OwnedFd, to: &PathState) -> Result<RestoreTemporary, FailedChange> {
        let disk = &self.snapshots.disk;
        let PathState::Link(target) = to else {
            let (file, name) = disk.beside(folder)?;
            let mut temporary = RestoreTemporary { name, file: Some(file) };
            let filled = self.point().and_then(|()| self.fill(&mut temporary, to));
            return match filled {
                Ok(()) => Ok(temporary),
                Err(error) => {
                    self.discard(folder, &temporary.name);
                    Err(error)
                }
            };
        };
        loop {
            let name = disk.beside_name();
            match fs::symlinkat(target.as_slice(), folder.as_fd(), &name) {
                Err(Errno::EXIST) => {}
                other => return Ok(other.map(|()| RestoreTemporary { name, file: None })?),
            }
        }
    }

    fn fill(&self, temporary: &mut RestoreTemporary, to: &PathState) -> Result<(), FailedChange> {
        let objects = self.snapshots.objects();
        let Some(file) = &mut temporary.file else { return Ok(()) };
        let mode = match to {
            PathState::Pinned { hash, mode } => {
                let place = objects.pinned(hash).map_err(FailedChange::Store)?;
                std::io::copy(&mut File::open(&place)?, file)?;
                *mode
            }
            PathState::File { mode, bytes: Some(bytes), .. } => {
                file.write_all(bytes)?;
                *mode
            }
            PathState::File { hash, mode, bytes: None } => {
                if !objects.copy_to(hash, file).map_err(|error| self.io(error))? {
                    return Err(FailedChange::Store(Error::Lost(hash.hex())));
                }
                *mode
            }
            PathState::Absent
            | PathState::Folder { .. }
            | PathState::Link(_)
            | PathState::Special { .. }
            | PathState::Unknown(_) => {
                return Err(FailedChange::Errno(Errno::INVAL));
            }
        };
        Ok(fs::fchmod(&*file, Mode::from_raw_mode(mode))?)
    }
}

/// A name that nobody else uses, and the lock that shows it.
struct RestoreTemporary {
    name: String,
    file: Option<File>,
}
