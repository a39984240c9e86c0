//! Every write to the store goes through here, so that a test can stop it at each of them.

use crate::error::Error;
use crate::item::{Hash, Stamp};
use rustix::fd::AsFd;
use rustix::fs::{FlockOperation, Mode, OFlags, Stat, flock, fstat, openat};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long another process may hold the store before we give up.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(2);

pub(crate) struct StoreDisk {
    pub dir: PathBuf,
    /// Writes left until all of them fail, as if the process were gone. Only for tests.
    left: AtomicU64,
    names: AtomicU64,
    /// Begins the names of our temporary files in the directories: no other store uses it.
    tag: String,
    /// As if the file system knew no smaller unit. Only for tests.
    whole_seconds: AtomicBool,
}

/// How often a name that is taken is tried with another.
const NAMES: usize = 16;

impl StoreDisk {
    pub(crate) fn open(dir: &Path) -> Result<Self, Error> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir.join("objects"));
        made.map_err(|error| Error::io("create", dir, error))?;
        let dir = dir.canonicalize().map_err(|error| Error::io("open", dir, error))?;
        let name = Hash::of(dir.as_os_str().as_bytes()).hex();
        let tag = format!(".ostler-{}", name.get(..8).unwrap_or_default());
        let (left, names) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        Ok(StoreDisk { dir, left, names, tag, whole_seconds: AtomicBool::new(false) })
    }

    pub(crate) fn use_whole_seconds(&self) {
        self.whole_seconds.store(true, Ordering::SeqCst);
    }

    pub(crate) fn stamp(&self, stat: &Stat) -> Stamp {
        let stamp = Stamp::of(stat);
        if !self.whole_seconds.load(Ordering::Relaxed) {
            return stamp;
        }
        let whole = |time: i64| time - time.rem_euclid(1_000_000_000);
        Stamp { mtime: whole(stamp.mtime), ctime: whole(stamp.ctime), ..stamp }
    }

    pub(crate) fn stop_after(&self, writes: u64) {
        self.left.store(writes, Ordering::SeqCst);
    }

    /// Called before each write.
    pub(crate) fn point(&self) -> io::Result<()> {
        let left = self.left.load(Ordering::SeqCst);
        match left {
            u64::MAX => Ok(()),
            0 => Err(io::Error::other("stopped for a test")),
            _ => {
                self.left.store(left - 1, Ordering::SeqCst);
                Ok(())
            }
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A new file of a name that nobody uses.
    pub(crate) fn temporary(&self) -> io::Result<(File, PathBuf)> {
        self.point()?;
        loop {
            let n = self.names.fetch_add(1, Ordering::Relaxed);
            let path = self.path(&format!("tmp-{}-{n}", std::process::id()));
            let mut new = OpenOptions::new();
            match new.read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return Ok((other?, path)),
            }
        }
    }

    /// A name for a temporary file beside one of the person's.
    pub(crate) fn beside_name(&self) -> String {
        let n = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{}{:08x}.tmp", self.tag, n & 0xffff_ffff)
    }

    pub(crate) fn is_beside_name(&self, name: &[u8]) -> bool {
        name.starts_with(self.tag.as_bytes()) && name.ends_with(b".tmp")
    }

    /// A temporary file beside one of the person's. It is locked while we have it: one that nobody holds was left behind.
    pub(crate) fn beside(&self, folder: impl AsFd) -> Result<(File, String), Errno> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..NAMES {
            let name = self.beside_name();
            let file = match openat(folder.as_fd(), &name, flags, Mode::from_raw_mode(0o600)) {
                Err(Errno::EXIST) => continue,
                other => other?,
            };
            // Where locks do not work, nobody takes it for left behind either.
            let taken =
                flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
            if !taken && fstat(&file).is_ok_and(|stat| stat.st_nlink > 0) {
                return Ok((file.into(), name));
            }
        }
        Err(Errno::EXIST)
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.point()?;
        fs::rename(from, to)
    }

    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.point()?;
        fs::remove_file(path)
    }

    /// A file in one piece, or not at all.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let to = self.path(name);
        let fail = |error| Error::io("write", &to, error);
        let (mut file, path) = self.temporary().map_err(fail)?;
        let written = self.write(&mut file, bytes).and_then(|()| self.rename(&path, &to));
        written.map_err(|error| {
            let _ = self.remove(&path);
            fail(error)
        })
    }

    /// In two halves, so that a torn write can be tried.
    pub(crate) fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        let torn = self.left.load(Ordering::SeqCst) != u64::MAX;
        let (head, tail) = bytes.split_at(if torn { bytes.len() / 2 } else { 0 });
        self.point()?;
        file.write_all(head)?;
        if torn {
            self.point()?;
        }
        file.write_all(tail)
    }

    pub(crate) fn append(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path(name);
        let open = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let appended = open.and_then(|mut file| {
            let before = file.metadata()?.len();
            self.write(&mut file, bytes).inspect_err(|_| {
                // Half a record is cut off at once where that is possible, else by the next reader.
                if self.point().is_ok() {
                    let _ = file.set_len(before);
                }
            })
        });
        appended.map_err(|error| Error::io("write", &path, error))
    }

    /// One process at a time. Released when it is dropped, however the process ends.
    pub(crate) fn lock(&self) -> Result<FileLock, Error> {
        let lock = flocked(&self.path("lock"), FlockOperation::NonBlockingLockExclusive, PATIENCE)?;
        lock.ok_or_else(|| Error::Busy(self.dir.clone()))
    }

    /// None: another process has it.
    pub(crate) fn try_lock(&self, name: &str) -> Result<Option<FileLock>, Error> {
        flocked(&self.path(name), FlockOperation::NonBlockingLockExclusive, Duration::ZERO)
    }

    /// What a process that died left half written. Only while the lock is held.
    pub(crate) fn sweep(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with("tmp-")) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A file with the kernel's lock on it.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl Drop for FileLock {
    /// Closing it would not do: a child that another thread starts at this moment holds the file until it runs its
    /// program.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// None if others hold the lock for longer than `patience`.
pub(crate) fn flocked(
    path: &Path,
    how: FlockOperation,
    patience: Duration,
) -> Result<Option<FileLock>, Error> {
    let mut new = OpenOptions::new();
    let open = new.write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = open.map_err(|error| Error::io("open", path, error))?;
    let since = Instant::now();
    loop {
        match flock(&file, how) {
            Ok(()) => return Ok(Some(FileLock(file))),
            Err(Errno::WOULDBLOCK) if since.elapsed() >= patience => return Ok(None),
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(PAUSE),
            Err(errno) => return Err(Error::io("lock", path, errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a child holds that has not run its program yet is a copy of the open file.
    #[test]
    fn a_lock_given_back_is_free_though_a_copy_of_its_file_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let take =
            || flocked(&path, FlockOperation::NonBlockingLockExclusive, Duration::ZERO).unwrap();
        let lock = take().unwrap();
        let _copy = lock.0.try_clone().unwrap();
        assert!(take().is_none());
        drop(lock);
        assert!(take().is_some());
    }
}
