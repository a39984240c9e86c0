//! One writer per session: the kernel's lock on a file next to the log.
//!
//! The kernel drops the lock with the process, so a lock file left by a dead one means nothing, whatever process
//! has its number now. The content of the file is used only in messages.

use crate::files::{self, RefusedFile, io_error};
use ostler_core::ports::StoreError;
use rustix::fs::OFlags;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Each retry means that another process gave the session back in between.
const TRIES: usize = 100;
/// A child that the dead owner was starting has a copy of the locked file until it becomes its program.
const CHILD_STARTS: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

#[derive(Debug)]
pub(crate) enum NotTaken {
    Held { owner: String },
    Failed(StoreError),
}

/// What became of one try to lock a file.
enum Try {
    Locked(Lock),
    /// The last owner removed the file meanwhile; a lock on it would exclude nobody.
    Removed,
    /// The process that signed the file is gone, but a child of it still has it open.
    Inherited {
        owner: String,
    },
}

impl Lock {
    pub fn take(path: &Path) -> Result<Lock, NotTaken> {
        let deadline = Instant::now() + CHILD_STARTS;
        Lock::take_after(path, || {
            std::thread::sleep(PAUSE);
            Instant::now() < deadline
        })
    }

    /// `pause` waits for the child of a dead owner, or says that the wait is over.
    fn take_after(path: &Path, mut pause: impl FnMut() -> bool) -> Result<Lock, NotTaken> {
        let mut tries = 0;
        while tries < TRIES {
            let why = match files::open_file(path, OFlags::RDWR | OFlags::CREATE) {
                Ok(file) => match Lock::on(file, path)? {
                    Try::Locked(lock) => return Ok(lock),
                    Try::Inherited { .. } if pause() => continue,
                    Try::Inherited { owner } => return Err(NotTaken::Held { owner }),
                    Try::Removed => {
                        tries += 1;
                        continue;
                    }
                },
                Err(RefusedFile::NotAFile(what)) => format!("it is {what}. Remove it"),
                Err(RefusedFile::Missing) => "its directory no longer exists".into(),
                Err(RefusedFile::Io(error)) => error.to_string(),
            };
            return Err(failed(path, why));
        }
        Err(failed(path, "other processes open and close the session all the time. Try again"))
    }

    fn on(file: File, path: &Path) -> Result<Try, NotTaken> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let is_inherited = has_dead_owner(&file);
                let owner = owner(file);
                return if is_inherited {
                    Ok(Try::Inherited { owner })
                } else {
                    Err(NotTaken::Held { owner })
                };
            }
            Err(TryLockError::Error(error)) => return Err(failed(path, error)),
        }
        if !stands_at(&file, path) {
            return Ok(Try::Removed);
        }
        // The kernel gave us the lock although a live process has signed it: locks do not work on this file system.
        if let Some(owner) = living_owner(&file) {
            return Err(NotTaken::Held { owner });
        }
        files::make_private(&file).map_err(|error| failed(path, error))?;
        let lock = Lock { path: path.to_owned(), file };
        lock.sign();
        Ok(Try::Locked(lock))
    }

    /// Failing is fine: on a full disk the lock still works, it only does not name its owner.
    fn sign(&self) {
        let text =
            format!("{} {} {}\n", std::process::id(), start_time("self").unwrap_or(0), host());
        self.file.set_len(0).and_then(|()| (&self.file).write_all(text.as_bytes())).ok();
    }
}

/// Whether a living process holds the lock here. A file that its signer does not hold is not touched, because whoever takes
/// it at this moment must not meet us.
pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(file) = files::open_file(path, OFlags::RDONLY) else { return false };
    let may_be_held = match signature(&file) {
        Some((_, _, at)) if at != host() => true,
        _ => living_owner(&file).is_some(),
    };
    may_be_held && matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn failed(path: &Path, why: impl std::fmt::Display) -> NotTaken {
    NotTaken::Failed(io_error("lock", path, why))
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still locked, so that nobody locks it in between.
        if stands_at(&self.file, &self.path) && fs::remove_file(&self.path).is_err() {
            // A signature of ours that stays would keep ourselves out.
            self.file.set_len(0).ok();
        }
    }
}

fn stands_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

fn owner(file: File) -> String {
    match signature(&file) {
        Some((pid, _, host)) => format!("pid {pid} on {}", host.escape_debug()),
        None => "pid unknown".into(),
    }
}

/// Process, start time and host of the last owner.
fn signature(file: &File) -> Option<(u32, u64, String)> {
    let mut text = [0; 256];
    let read = file.read_at(&mut text, 0).ok()?;
    let text = String::from_utf8_lossy(text.get(..read)?).into_owned();
    let mut words = text.split_whitespace();
    let (pid, start) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((pid, start, words.next()?.to_owned()))
}

/// The owner, if it is a process of this machine that still runs.
fn living_owner(file: &File) -> Option<String> {
    let (pid, start, at) = signature(file)?;
    let lives = start > 0 && at == host() && start_time(&pid.to_string()) == Some(start);
    lives.then(|| format!("pid {pid} on {}", at.escape_debug()))
}

/// The file is signed by a process of this machine that no longer runs.
fn has_dead_owner(file: &File) -> bool {
    signature(file)
        .is_some_and(|(pid, start, at)| at == host() && start_time(&pid.to_string()) != Some(start))
}

/// Clock ticks between the machine's start and a process's.
fn start_time(process: &str) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "this-host".into() } else { name.replace(char::is_whitespace, "-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a file system whose locks do nothing the signature of a living process has to do.
    #[test]
    fn a_lock_signed_by_a_living_process_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.lock");
        let me = std::process::id();
        let start = start_time("self").unwrap();
        fs::write(&path, format!("{me} {start} {}\n", host())).unwrap();
        let Err(NotTaken::Held { owner }) = Lock::take(&path) else { panic!("taken") };
        assert!(owner.contains(&me.to_string()), "{owner}");
        // Its process id belongs to another process now, or it was on another machine, or nobody signed.
        for text in [
            format!("{me} {} {}\n", start + 1, host()),
            format!("4294967294 {start} {}\n", host()),
            format!("{me} {start} elsewhere\n"),
            "garbage".to_owned(),
            String::new(),
        ] {
            fs::write(&path, &text).unwrap();
            assert!(Lock::take(&path).is_ok(), "{text:?}");
        }
    }

    /// Opened while another owned it, locked after that one removed it: a third may own the new file by then.
    #[test]
    fn a_lock_on_a_removed_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.lock");
        let first = Lock::take(&path).unwrap();
        let late = files::open_file(&path, OFlags::RDWR).unwrap();
        let too_late = files::open_file(&path, OFlags::RDWR).unwrap();
        drop(first);
        assert!(matches!(Lock::on(late, &path).unwrap(), Try::Removed));
        let third = Lock::take(&path).unwrap();
        assert!(matches!(Lock::on(too_late, &path).unwrap(), Try::Removed));
        assert!(path.exists(), "giving up a lock that was none removes nobody's file");
        assert!(matches!(Lock::take(&path), Err(NotTaken::Held { .. })));
        drop(third);
        assert!(!path.exists());
    }

    /// A process that was killed while it started a command: the child has a copy of the locked file for a moment.
    #[test]
    fn the_child_of_a_dead_owner_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.lock");
        let held_by = |text: String| {
            fs::write(&path, text).unwrap();
            let copy = files::open_file(&path, OFlags::RDWR).unwrap();
            copy.try_lock().unwrap();
            Some(copy)
        };
        let start = start_time("self").unwrap();
        let dead = format!("4294967294 {start} {}\n", host());
        let mut copy = held_by(dead.clone());
        let taken = Lock::take_after(&path, || copy.take().is_some());
        assert!(taken.is_ok() && copy.is_none(), "waited for, then taken");
        drop(taken);
        let copy = held_by(dead);
        let mut pauses = 0;
        let refused = Lock::take_after(&path, || {
            pauses += 1;
            pauses < 5
        });
        assert!(matches!(refused, Err(NotTaken::Held { .. })) && pauses == 5, "not for ever");
        drop(copy);
        // Nobody waits for an owner that lives, or may live on another machine.
        for text in [
            format!("{} {start} {}\n", std::process::id(), host()),
            format!("4294967294 {start} elsewhere\n"),
            String::new(),
        ] {
            let copy = held_by(text.clone());
            let refused = Lock::take_after(&path, || panic!("waits: {text:?}"));
            assert!(matches!(refused, Err(NotTaken::Held { .. })), "{text:?}");
            drop(copy);
        }
    }
}
