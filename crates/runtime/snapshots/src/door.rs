//! Opens directories below a root from the root's descriptor, never through a link.

use crate::error::Error;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(crate) struct SnapshotRoot {
    pub path: PathBuf,
    fd: OwnedFd,
}

impl SnapshotRoot {
    /// None if there is no such directory.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::open(path, flags, Mode::empty()).ok()?;
        Some(SnapshotRoot { path: path.to_path_buf(), fd })
    }

    /// The directory at an absolute path at or below the root.
    pub(crate) fn folder(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.open_at(path, FOLDER)
    }

    pub(crate) fn open_at(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let below = path.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?;
        let here = below.as_os_str().is_empty();
        let below = if here { Path::new(".") } else { below };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match fs::openat2(&self.fd, below, flags, Mode::empty(), resolve) {
            // The last one: the path as a whole is longer than the kernel takes.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => {
                self.by_hand(below, flags)
            }
            other => other,
        }
    }

    fn by_hand(&self, below: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder = fs::openat(&self.fd, ".", step, Mode::empty())?;
        let names: Vec<&OsStr> = below.iter().collect();
        let Some((last, parents)) = names.split_last() else { return Err(Errno::INVAL) };
        for name in parents {
            if name.as_bytes() == b".." {
                return Err(Errno::XDEV);
            }
            folder = fs::openat(folder.as_fd(), *name, step, Mode::empty())?;
        }
        fs::openat(folder.as_fd(), *last, flags, Mode::empty())
    }
}

/// The root that holds the path.
pub(crate) fn root_of<'a>(roots: &'a [SnapshotRoot], path: &Path) -> Option<&'a SnapshotRoot> {
    roots.iter().find(|root| path.starts_with(&root.path))
}

/// Without directories that lie in another one.
pub(crate) fn outermost(mut all: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
    all.sort();
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in all {
        if root.parent().is_none() {
            return Err(Error::WholeDisk);
        }
        if !roots.iter().any(|other| root.starts_with(other)) {
            roots.push(root);
        }
    }
    Ok(roots)
}
