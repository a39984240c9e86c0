//! Does what a plan says: every write from the root's descriptor, beside its place and renamed, never through a link.

use crate::door::{Root, root_of};
use crate::error::Error;
use crate::item::{Hash, kind, mode};
use crate::plan::{Action, Fate, Outcome, Plan, State, Unit, Wanted};
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
    roots: Vec<Root>,
    /// Folders that were opened up for the work, with the mode they had.
    opened: BTreeMap<PathBuf, u32>,
    outcomes: BTreeMap<PathBuf, Fate>,
}

impl Snapshots {
    /// Does what the plan says and keeps the state after it. Where that lets us look into folders that were closed, what
    /// is found to have changed in them since the snapshot `before` goes back, too. Gives what became of each path, and
    /// the number of the new state.
    pub fn follow(
        &self,
        plan: &Plan,
        before: u64,
        reason: &str,
    ) -> Result<(Vec<Outcome>, u64), Error> {
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
        let wanted = changes.into_iter().map(Wanted::from).collect();
        let inside = self.plan(&[Unit { wanted, ..Unit::default() }])?;
        outcomes.extend(self.restore(&inside)?);
        Ok((outcomes, self.take(reason)?.id))
    }

    /// What became of each path: as the plan says, or why not.
    pub fn restore(&self, plan: &Plan) -> Result<Vec<Outcome>, Error> {
        let roots = self.config.roots.iter().filter_map(|path| Root::open(path)).collect();
        let outcomes =
            plan.outcomes.iter().map(|said| (said.path.clone(), said.fate.clone())).collect();
        let opened = plan.modes.iter().cloned().collect();
        let mut work = Restorer { snapshots: self, roots, opened, outcomes };
        let worked = work.run(&plan.actions);
        // Also when the disk is full: what was opened up is closed again.
        work.close(&plan.actions)?;
        worked?;
        Ok(work.outcomes.into_iter().map(|(path, fate)| Outcome { path, fate }).collect())
    }
}

/// Why one path was not done. Only a full disk ends everything.
enum Failed {
    Errno(Errno),
    Store(Error),
    Changed,
}

impl From<Errno> for Failed {
    fn from(errno: Errno) -> Self {
        Failed::Errno(errno)
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Failed::Errno(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

impl Restorer<'_> {
    fn run(&mut self, actions: &[Action]) -> Result<(), Error> {
        self.open_up(actions)?;
        let mut left = HashSet::new();
        for action in actions.iter().rev() {
            let goes =
                !matches!(action.from, State::Absent) && action.from.kind() != action.to.kind();
            if goes && let Err(error) = self.remove(action) {
                self.failed(&action.path, error)?;
                left.insert(&action.path);
            }
        }
        for action in actions.iter().filter(|action| !left.contains(&action.path)) {
            if !matches!(action.to, State::Absent)
                && let Err(error) = self.make(action)
            {
                self.failed(&action.path, error)?;
            }
        }
        Ok(())
    }

    /// Before each change of the folders, so that a test can stop there.
    fn point(&self) -> Result<(), Failed> {
        let stopped =
            |error| Failed::Store(Error::io("restore into", &self.snapshots.disk.dir, error));
        self.snapshots.disk.point().map_err(stopped)
    }

    fn failed(&mut self, path: &Path, failed: Failed) -> Result<(), Error> {
        let fate = match failed {
            Failed::Errno(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::ROFS)) => {
                return Err(Error::io("restore", path, errno));
            }
            Failed::Errno(Errno::NOTEMPTY | Errno::EXIST) => {
                Fate::Kept("holds what was not made by what is undone")
            }
            Failed::Store(error @ Error::Io { .. }) => return Err(error),
            Failed::Changed => Fate::Kept("was changed just now"),
            Failed::Errno(_) => Fate::Lost("it could not be written"),
            Failed::Store(_) => Fate::Lost("its content is no longer kept"),
        };
        self.outcomes.insert(path.to_path_buf(), fate);
        Ok(())
    }

    fn root(&self, path: &Path) -> Result<&Root, Errno> {
        root_of(&self.roots, path).ok_or(Errno::XDEV)
    }

    fn place<'p>(&self, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), Errno> {
        let (parent, name) = (path.parent().ok_or(Errno::ISDIR)?, path.file_name());
        Ok((self.root(path)?.folder(parent)?, name.ok_or(Errno::ISDIR)?))
    }

    /// Folders on the way that their owner may not enter.
    fn open_up(&mut self, actions: &[Action]) -> Result<(), Error> {
        let mut folders: Vec<&Path> = actions
            .iter()
            .flat_map(|action| {
                let own = matches!(action.from, State::Folder { .. }).then_some(&*action.path);
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
                Err(Failed::Store(error)) => return Err(error),
                // What cannot be entered, or is not there, is said where something is to be done in it.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Changes the mode of a folder; gives the old one if it was another.
    fn chmod(&self, path: &Path, to: impl Fn(u32) -> u32) -> Result<Option<u32>, Failed> {
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
    fn close(&mut self, actions: &[Action]) -> Result<(), Error> {
        let mut modes = std::mem::take(&mut self.opened);
        for action in actions {
            if let State::Folder { mode } = action.to {
                modes.insert(action.path.clone(), mode);
            }
        }
        for (path, mode) in modes.iter().rev() {
            match self.chmod(path, |_| *mode) {
                // It was removed, or was never made, and that is said.
                Ok(_) | Err(Failed::Errno(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {}
                Err(error) => self.failed(path, error)?,
            }
        }
        Ok(())
    }

    /// What stands there is still what the plan was made for.
    fn check(&self, folder: &OwnedFd, name: &OsStr, action: &Action) -> Result<(), Failed> {
        let known = self.snapshots.known(&action.path);
        match (fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW), known) {
            (Err(Errno::NOENT), _) if matches!(action.from, State::Absent) => Ok(()),
            (Ok(stat), Some(item)) if kind(&stat) == FileType::Directory => {
                let same = item.what == crate::What::Folder;
                if same { Ok(()) } else { Err(Failed::Changed) }
            }
            (Ok(stat), Some(item)) => {
                let now = self.snapshots.disk.stamp(&stat);
                let same = (now.size, now.mtime) == (item.stamp.size, item.stamp.mtime);
                // Where the times prove nothing, the content does.
                let hash = item.hash().filter(|_| item.racy);
                let objects = self.snapshots.objects();
                let holds = || hash.is_none_or(|hash| objects.is_content(folder, name, &hash));
                let same = same && now.ino == item.stamp.ino && holds();
                if same { Ok(()) } else { Err(Failed::Changed) }
            }
            (Err(errno), _) if errno != Errno::NOENT => Err(errno.into()),
            _ => Err(Failed::Changed),
        }
    }

    fn remove(&mut self, action: &Action) -> Result<(), Failed> {
        let (folder, name) = self.place(&action.path)?;
        self.check(&folder, name, action)?;
        let flags = match action.from {
            State::Folder { .. } => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        self.point()?;
        Ok(fs::unlinkat(&folder, name, flags)?)
    }

    fn make(&mut self, action: &Action) -> Result<(), Failed> {
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
        if let State::Folder { .. } = action.to {
            return match fs::mkdirat(&folder, name, Mode::from_raw_mode(0o700)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(errno.into()),
            };
        }
        if let Some(mode) = action.from.only_mode(&action.to) {
            let bits = Mode::from_raw_mode(mode);
            return Ok(fs::chmodat(&folder, name, bits, AtFlags::empty())?);
        }
        if let State::Pinned { hash, mode } = &action.to
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

    fn make_parents(&self, path: &Path) -> Result<(), Failed> {
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
    fn link(&self, folder: &OwnedFd, name: &OsStr, hash: &Hash, mode: u32) -> Result<bool, Failed> {
        let place = self.snapshots.objects().pinned(hash).map_err(Failed::Store)?;
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
    fn write(&self, folder: &OwnedFd, to: &State) -> Result<Temporary, Failed> {
        let disk = &self.snapshots.disk;
        let State::Link(target) = to else {
            let (file, name) = disk.beside(folder)?;
            let mut temporary = Temporary { name, file: Some(file) };
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
                other => return Ok(other.map(|()| Temporary { name, file: None })?),
            }
        }
    }

    fn fill(&self, temporary: &mut Temporary, to: &State) -> Result<(), Failed> {
        let objects = self.snapshots.objects();
        let Some(file) = &mut temporary.file else { return Ok(()) };
        let mode = match to {
            State::Pinned { hash, mode } => {
                let place = objects.pinned(hash).map_err(Failed::Store)?;
                std::io::copy(&mut File::open(&place)?, file)?;
                *mode
            }
            State::File { mode, bytes: Some(bytes), .. } => {
                file.write_all(bytes)?;
                *mode
            }
            State::File { hash, mode, bytes: None } => {
                objects.copy_to(hash, file).map_err(Failed::Store)?;
                *mode
            }
            State::Absent | State::Folder { .. } | State::Link(_) | State::Unknown(_) => {
                return Err(Failed::Errno(Errno::INVAL));
            }
        };
        Ok(fs::fchmod(&*file, Mode::from_raw_mode(mode))?)
    }
}

/// A name that nobody else uses, and the lock that shows it.
struct Temporary {
    name: String,
    file: Option<File>,
}
