//! Does what a plan says: every write from the root's descriptor, beside its place and renamed, never through a link.

use crate::door::{Root, root_of};
use crate::error::Error;
use crate::item::{Stamp, kind, mode};
use crate::plan::{Action, Fate, Outcome, Plan, State};
use crate::store::Snapshots;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

struct Restorer<'a> {
    snapshots: &'a Snapshots,
    roots: Vec<Root>,
    /// Folders that were opened up for the work, with the mode they had.
    opened: BTreeMap<PathBuf, u32>,
    names: u64,
    outcomes: BTreeMap<PathBuf, Fate>,
}

impl Snapshots {
    /// What became of each path: as the plan says, or why not.
    pub fn restore(&self, plan: &Plan) -> Result<Vec<Outcome>, Error> {
        let roots = self.config.roots.iter().filter_map(|path| Root::open(path)).collect();
        let outcomes =
            plan.outcomes.iter().map(|said| (said.path.clone(), said.fate.clone())).collect();
        let mut work =
            Restorer { snapshots: self, roots, opened: BTreeMap::new(), names: 0, outcomes };
        work.open_up(&plan.actions);
        let mut left = Vec::new();
        for action in plan.actions.iter().rev() {
            let goes =
                !matches!(action.from, State::Absent) && action.from.kind() != action.to.kind();
            if goes && let Err(error) = work.remove(action) {
                work.failed(&action.path, error)?;
                left.push(&action.path);
            }
        }
        for action in plan.actions.iter().filter(|action| !left.contains(&&action.path)) {
            if !matches!(action.to, State::Absent)
                && let Err(error) = work.make(action)
            {
                work.failed(&action.path, error)?;
            }
        }
        work.close(&plan.actions);
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
    fn open_up(&mut self, actions: &[Action]) {
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
            if let Some(old) = self.chmod(path, |old| old | 0o700) {
                self.opened.insert(path.to_path_buf(), old);
            }
        }
    }

    /// Changes the mode of a folder; gives the old one if it was another.
    fn chmod(&self, path: &Path, to: impl Fn(u32) -> u32) -> Option<u32> {
        let root = self.root(path).ok()?;
        let set = |folder: &OwnedFd, name: &OsStr| {
            let stat = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let (old, new) = (mode(&stat), to(mode(&stat)));
            if kind(&stat) != FileType::Directory || old == new {
                return None;
            }
            let bits = Mode::from_raw_mode(new);
            fs::chmodat(folder, name, bits, AtFlags::empty()).ok().map(|()| old)
        };
        if path == root.path {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let parent = fs::open(path.parent()?, flags, Mode::empty()).ok()?;
            return set(&parent, path.file_name()?);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        set(&root.open_at(path.parent()?, flags).ok()?, path.file_name()?)
    }

    /// The last thing: modes as they were, from the inside out.
    fn close(&mut self, actions: &[Action]) {
        let mut modes = std::mem::take(&mut self.opened);
        for action in actions {
            if let State::Folder { mode } = action.to {
                modes.insert(action.path.clone(), mode);
            }
        }
        for (path, mode) in modes.iter().rev() {
            self.chmod(path, |_| *mode);
        }
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
                let now = Stamp::of(&stat);
                let same = (now.size, now.mtime) == (item.stamp.size, item.stamp.mtime);
                if same && now.ino == item.stamp.ino { Ok(()) } else { Err(Failed::Changed) }
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
        self.names += 1;
        let temporary = format!(".ostler-{}-{}.tmp", std::process::id(), self.names);
        let written = self.write(&folder, &temporary, &action.to).and_then(|()| {
            let flags = if replaced { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
            match fs::renameat_with(&folder, &temporary, &folder, name, flags) {
                // Some file systems cannot; it was looked at a moment ago.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    Ok(fs::renameat(&folder, &temporary, &folder, name)?)
                }
                other => Ok(other?),
            }
        });
        if written.is_err() {
            let _ = fs::unlinkat(&folder, &temporary, AtFlags::empty());
        }
        written
    }

    fn make_parents(&self, path: &Path) -> Result<(), Failed> {
        let (root, Some(parent)) = (self.root(path)?, path.parent()) else { return Ok(()) };
        if parent == root.path || root.folder(parent).is_ok() {
            return Ok(());
        }
        self.make_parents(parent)?;
        let (folder, name) = self.place(parent)?;
        match fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn write(&self, folder: &OwnedFd, name: &str, to: &State) -> Result<(), Failed> {
        let objects = self.snapshots.objects();
        match to {
            State::Link(target) => Ok(fs::symlinkat(target.as_slice(), folder.as_fd(), name)?),
            State::Pinned { hash, mode } => {
                let place = objects.pinned(hash).map_err(Failed::Store)?;
                if fs::linkat(CWD, &place, folder, name, AtFlags::empty()).is_err() {
                    std::io::copy(&mut File::open(&place)?, &mut create(folder, name)?)?;
                }
                Ok(fs::chmodat(folder, name, Mode::from_raw_mode(*mode), AtFlags::empty())?)
            }
            State::File { hash, mode, bytes } => {
                let mut file = create(folder, name)?;
                match bytes {
                    Some(bytes) => file.write_all(bytes)?,
                    None => objects.copy_to(hash, &mut file).map_err(Failed::Store)?,
                }
                Ok(fs::fchmod(&file, Mode::from_raw_mode(*mode))?)
            }
            State::Absent | State::Folder { .. } | State::Unknown(_) => Ok(()),
        }
    }
}

fn create(folder: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(folder, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
}
