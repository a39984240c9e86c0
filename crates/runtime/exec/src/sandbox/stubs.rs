//! Names that must not come to be: while a command runs that may not create them, an empty file or
//! directory stands in their place, and is taken away afterwards.
//!
//! A stub that is taken away frees its place in every other sandbox too, so it stays while any
//! command uses it: ours are counted, those of other supervisors hold a lock on it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, ResolveFlags, flock, openat};
use rustix::io::Errno;

/// Names of directories; a stub for one of them is a directory.
const FOLDERS: [&str; 2] = ["hooks", "modules"];

/// The stubs that this supervisor has made.
#[derive(Debug, Default)]
pub(crate) struct Stubs {
    made: HashMap<PathBuf, Stub>,
}

#[derive(Debug)]
struct Stub {
    users: usize,
    /// The directory it lies in, held so that no link can lead us elsewhere.
    parent: OwnedFd,
    name: OsString,
    is_dir: bool,
}

/// What one command needs to stay.
#[derive(Debug, Default)]
pub(crate) struct HeldStubs {
    /// The topmost first.
    paths: Vec<PathBuf>,
    /// Shared locks on empty names that may be another supervisor's stubs.
    locks: Vec<OwnedFd>,
}

impl Stubs {
    /// Sees to it that `path` below `root` exists while `held` is kept. False if a part of it is a
    /// link or a file, or the directory is not ours to write, so that the name cannot be created
    /// either way.
    ///
    /// # Errors
    /// If the name is missing and cannot be created now, but a command could do so later, for
    /// example after a change of permissions.
    pub(crate) fn hold(
        &mut self,
        root: &Path,
        path: &Path,
        held: &mut HeldStubs,
    ) -> Result<bool, Errno> {
        let Ok(below) = path.strip_prefix(root) else { return Ok(false) };
        let mut parent = open_folder(CWD, root)?;
        let parts: Vec<_> = below.components().collect();
        let mut here = root.to_path_buf();
        for (index, part) in parts.iter().enumerate() {
            here.push(part);
            let is_last = index + 1 == parts.len();
            let is_dir = !is_last || is_folder(path);
            let name = part.as_os_str();
            match make(&parent, name, is_dir) {
                Ok(()) => {
                    let handle = rustix::io::fcntl_dupfd_cloexec(&parent, 0)?;
                    let stub = Stub { users: 0, parent: handle, name: name.into(), is_dir };
                    self.made.insert(here.clone(), stub);
                }
                Err(Errno::EXIST) => {}
                Err(error) if is_lasting(error, &parent) => return Ok(false),
                Err(error) => return Err(error),
            }
            if let Some(stub) = self.made.get_mut(&here) {
                stub.users += 1;
                held.paths.push(here.clone());
            }
            if is_last {
                held.locks.extend(lock_if_empty(&parent, name));
                return Ok(true);
            }
            match open_folder(&parent, Path::new(name)) {
                Ok(folder) => parent = folder,
                Err(Errno::NOTDIR | Errno::LOOP) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    pub(crate) fn release(&mut self, held: HeldStubs) {
        drop(held.locks);
        for path in held.paths.into_iter().rev() {
            let Some(stub) = self.made.get_mut(&path) else { continue };
            stub.users = stub.users.saturating_sub(1);
            if stub.users == 0
                && let Some(stub) = self.made.remove(&path)
            {
                stub.take_away();
            }
        }
    }
}

impl Stub {
    /// Only if it is still empty and nobody else relies on it.
    fn take_away(&self) {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let Ok(file) = openat(&self.parent, &self.name, flags, Mode::empty()) else { return };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let empty = rustix::fs::fstat(&file).is_ok_and(|stat| stat.st_size == 0);
        if self.is_dir {
            let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        } else if empty {
            let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty());
        }
    }
}

fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
        || path.file_name().is_some_and(|name| FOLDERS.iter().any(|folder| name == *folder))
}

fn make(parent: &OwnedFd, name: &std::ffi::OsStr, is_dir: bool) -> Result<(), Errno> {
    if is_dir {
        return rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755));
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::from_raw_mode(0o644)).map(drop)
}

/// A command cannot create the name either: it can change permissions only of what is its own.
fn is_lasting(error: Errno, parent: &OwnedFd) -> bool {
    let is_ours = || {
        let owner = rustix::fs::fstat(parent).map(|stat| stat.st_uid);
        owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
    };
    match error {
        Errno::NOTDIR | Errno::ROFS | Errno::NAMETOOLONG | Errno::PERM => true,
        Errno::ACCESS => !is_ours(),
        _ => false,
    }
}

fn open_folder(parent: impl std::os::fd::AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(parent, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn lock_if_empty(parent: &OwnedFd, name: &std::ffi::OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = openat(parent, name, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let is_dir = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
    (is_dir || stat.st_size == 0)
        .then(|| flock(&file, FlockOperation::NonBlockingLockShared).ok())
        .flatten()
        .map(|()| file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_stands_while_it_is_used_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (hooks, config) = (root.join(".git/hooks"), root.join(".git/config"));
        let mut stubs = Stubs::default();
        let (mut one, mut two) = (HeldStubs::default(), HeldStubs::default());
        assert_eq!(stubs.hold(&root, &hooks, &mut one), Ok(true));
        assert_eq!(stubs.hold(&root, &config, &mut one), Ok(true));
        assert_eq!(stubs.hold(&root, &hooks, &mut two), Ok(true));
        assert!(hooks.is_dir() && config.is_file());
        stubs.release(one);
        assert!(hooks.is_dir() && !config.exists(), "the second still uses one of them");
        stubs.release(two);
        assert!(!root.join(".git").exists());
    }

    #[test]
    fn what_was_there_or_is_no_longer_empty_or_is_used_by_another_stays() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::write(root.join("mine"), "").unwrap();
        let hold = |stubs: &mut Stubs, name: &str| {
            let mut held = HeldStubs::default();
            assert_eq!(stubs.hold(&root, &root.join(name), &mut held), Ok(true));
            held
        };
        let (mut stubs, mut other) = (Stubs::default(), Stubs::default());
        let held = [hold(&mut stubs, "mine"), hold(&mut stubs, "filled"), hold(&mut stubs, "used")];
        std::fs::write(root.join("filled"), "x").unwrap();
        let theirs = hold(&mut other, "used");
        held.into_iter().for_each(|held| stubs.release(held));
        for name in ["mine", "filled", "used"] {
            assert!(root.join(name).exists(), "{name}");
        }
        other.release(theirs);
    }

    #[test]
    fn no_stub_is_made_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let outside = root.join("outside");
        std::fs::create_dir(&outside).unwrap();
        let work = root.join("work");
        std::fs::create_dir(&work).unwrap();
        std::os::unix::fs::symlink(&outside, work.join(".git")).unwrap();
        let (mut stubs, mut held) = (Stubs::default(), HeldStubs::default());
        assert_eq!(stubs.hold(&work, &work.join(".git/config"), &mut held), Ok(false));
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        stubs.release(held);
    }
}
