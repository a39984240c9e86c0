//! A private directory for temporary files, one a session. What dead processes have left is removed.
//!
//! Whoever uses one holds a shared lock on the directory itself, which the kernel drops with the process; whoever has the
//! only lock may remove it. Process numbers would not do: in another container they mean somebody else. Nor would a file
//! inside, which commands could remove.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PREFIX: &str = "ostler-temp-";
/// In memory or cleaned by the system in most places; the second where the first is full.
const PLACES: [&str; 2] = ["/tmp", "/var/tmp"];
/// Names looked at for old directories.
const MOST_NAMES: usize = 10_000;
/// Each further try means that somebody took the new directory for a leftover before it was locked.
const TRIES: usize = 10;

/// Removed when it is dropped, unless another process uses it, too.
#[derive(Debug)]
pub(super) struct OwnedTemp {
    path: PathBuf,
    lock: File,
}

impl OwnedTemp {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Uses one that another process made and still holds.
    pub(super) fn join(path: &Path) -> std::io::Result<Self> {
        let lock = open(path)?;
        match claim(&lock)? {
            true => Ok(OwnedTemp { path: path.to_owned(), lock }),
            false => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for OwnedTemp {
    fn drop(&mut self) {
        // Ours is given up for it, so of several that end at once the last one gets it.
        if !matches!(self.lock.try_lock(), Err(TryLockError::WouldBlock)) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// # Errors
/// In words, with the place.
pub(super) fn create() -> Result<OwnedTemp, String> {
    let mut last = String::new();
    for place in PLACES.map(Path::new) {
        clean(place);
        match create_in(place) {
            Ok(created) => return Ok(created),
            Err(error) => last = format!("{}: {error}", place.display()),
        }
    }
    Err(last)
}

fn create_in(place: &Path) -> std::io::Result<OwnedTemp> {
    for _ in 0..TRIES {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).permissions(fs::Permissions::from_mode(0o700));
        let directory = builder.tempdir_in(place)?;
        let lock = match open(directory.path()) {
            Ok(lock) => lock,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if claim(&lock)? {
            return Ok(OwnedTemp { path: directory.keep(), lock });
        }
    }
    Err(std::io::Error::other("new directories are removed by another program all the time"))
}

fn open(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::DIRECTORY;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// False: somebody takes it for a leftover, or has removed it already. Where locks do not work it stays unlocked, and is
/// never taken for a leftover either.
fn claim(directory: &File) -> std::io::Result<bool> {
    match directory.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Ok(false),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(directory.metadata()?.nlink() > 0),
    }
}

/// Removes directories of this user that nobody holds.
fn clean(place: &Path) {
    let entries = place.read_dir().into_iter().flatten().take(MOST_NAMES).flatten();
    let is_ours = |name: &std::ffi::OsStr| name.to_str().is_some_and(|it| it.starts_with(PREFIX));
    for entry in entries.filter(|entry| is_ours(&entry.file_name())) {
        let Ok(directory) = open(&entry.path()) else { continue };
        let own = rustix::process::geteuid().as_raw();
        let is_own = directory.metadata().is_ok_and(|meta| meta.uid() == own);
        if is_own && directory.try_lock().is_ok() {
            // Still locked, so that nobody claims it meanwhile. Links in it are removed, not followed.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_goes_and_the_rest_stays() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let left = at("ostler-temp-left");
        // Named as if by a process, or by a person: it is not ours to remove.
        let others = ["ostler-4194304-x", "ostler-notes", "temp"].map(at);
        for folder in others.iter().chain([&left]) {
            fs::create_dir_all(folder.join("deep")).unwrap();
        }
        std::os::unix::fs::symlink(&others[1], at("ostler-temp-link")).unwrap();
        let held = create_in(place.path()).unwrap();
        fs::write(held.path().join("file"), "x").unwrap();
        clean(place.path());
        assert!(!left.exists() && held.path().join("file").exists());
        assert!(others.iter().all(|folder| folder.join("deep").exists()));
        // As after a process that was killed: its lock is gone, its directory is not.
        let path = held.path().to_owned();
        held.lock.unlock().unwrap();
        std::mem::forget(held);
        clean(place.path());
        assert!(!path.exists());
    }

    #[test]
    fn the_last_of_several_users_removes_it() {
        let place = tempfile::tempdir().unwrap();
        let first = create_in(place.path()).unwrap();
        let path = first.path().to_owned();
        let second = OwnedTemp::join(&path).unwrap();
        drop(first);
        clean(place.path());
        assert!(path.exists(), "it is still used");
        drop(second);
        assert!(!path.exists());
        assert!(OwnedTemp::join(&path).is_err());
    }

    #[test]
    fn a_directory_that_was_taken_for_a_leftover_is_not_claimed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ostler-temp-new");
        fs::create_dir(&path).unwrap();
        let ours = open(&path).unwrap();
        let cleaner = open(&path).unwrap();
        cleaner.try_lock().unwrap();
        assert!(!claim(&ours).unwrap());
        drop(cleaner);
        fs::remove_dir(&path).unwrap();
        assert!(!claim(&ours).unwrap());
    }

    #[test]
    fn only_its_user_may_enter_it() {
        let folder = create().unwrap();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o777, 0o700);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
