//! One writer per session: the kernel's lock on a file beside the log.
//!
//! The kernel drops the lock with the process, so a lock file left by a dead one means nothing, whatever process
//! has its number now. What stands in the file is only for the message.

use crate::files::{self, Refused, io_error};
use ostler_core::ports::StoreError;
use rustix::fs::OFlags;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Each retry means that another process gave the session back in between.
const TRIES: usize = 100;

pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

#[derive(Debug)]
pub(crate) enum NotTaken {
    Held { owner: String },
    Failed(StoreError),
}

impl Lock {
    pub fn take(path: &Path) -> Result<Lock, NotTaken> {
        let failed = |why: &dyn std::fmt::Display| NotTaken::Failed(io_error("lock", path, why));
        for _ in 0..TRIES {
            let file = match files::open_file(path, OFlags::RDWR | OFlags::CREATE) {
                Ok(file) => file,
                Err(Refused::NotAFile(what)) => {
                    return Err(failed(&format!("it is {what}. Remove it")));
                }
                Err(Refused::Missing) => return Err(failed(&"its folder is gone")),
                Err(Refused::Io(error)) => return Err(failed(&error)),
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(NotTaken::Held { owner: owner(file) }),
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
            // The last holder removes the file: a lock on a removed one keeps nobody out.
            if stands_at(&file, path) {
                files::make_private(&file).map_err(|error| failed(&error))?;
                let lock = Lock { path: path.to_owned(), file };
                lock.sign();
                return Ok(lock);
            }
        }
        Err(failed(&"other processes open and close the session all the time. Try again"))
    }

    /// Failing is fine: on a full disk the lock holds all the same, it only does not say whose it is.
    fn sign(&self) {
        let text = format!("{} {} {}\n", std::process::id(), start_time().unwrap_or(0), host());
        self.file.set_len(0).and_then(|()| (&self.file).write_all(text.as_bytes())).ok();
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still held, so that nobody locks it between the two.
        if stands_at(&self.file, &self.path) {
            fs::remove_file(&self.path).ok();
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
    let mut text = String::new();
    file.take(256).read_to_string(&mut text).ok();
    let mut words = text.split_whitespace();
    match (words.next().map(str::parse::<u32>), words.next(), words.next()) {
        (Some(Ok(pid)), Some(_), Some(host)) => format!("pid {pid} on {}", host.escape_debug()),
        _ => "pid unknown".into(),
    }
}

/// Clock ticks between the machine's start and ours.
fn start_time() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "this-host".into() } else { name.replace(char::is_whitespace, "-") }
}
