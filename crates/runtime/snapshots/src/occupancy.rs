//! Commands and undo keep out of each other's way: in one project any number of commands may run, or one undo.
//!
//! A lock of the kernel, which ends with the process that holds it.

use crate::disk::{FileLock, flocked};
use crate::error::Error;
use crate::signs_of_life::{PREFIX, Sign};
use crate::store::Snapshots;
use rustix::fs::FlockOperation;
use std::os::unix::ffi::OsStrExt;
use std::sync::PoisonError;
use std::time::Duration;

const COMMANDS: &str = "commands";
/// Held by whoever restores files.
const UNDOING: &str = "undoing";
/// How long a command waits for an undo to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// While it is there a command runs.
#[derive(Debug)]
pub struct Occupied {
    _lock: FileLock,
}

/// While it is there no command begins.
#[derive(Debug)]
pub struct Alone {
    _lock: FileLock,
}

impl Snapshots {
    /// Nobody else restores files of this store until it is dropped.
    ///
    /// # Errors
    /// At once if somebody does.
    pub fn be_alone(&self) -> Result<(), Error> {
        // Whoever looks at the directories decides under this lock whether an undo is at work.
        let _lock = self.disk.lock()?;
        let lock = self.disk.try_lock(UNDOING)?.ok_or(Error::Undoing)?;
        *self.alone.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
        Ok(())
    }

    /// Somebody else; nobody begins while the store is locked.
    pub(crate) fn is_somebody_undoing(&self) -> bool {
        let alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        alone.is_none() && !matches!(self.disk.try_lock(UNDOING), Ok(Some(_)))
    }

    /// A command is about to run: the directories are looked at after this. Waits for an undo to end.
    pub fn occupy(&self) -> Result<Occupied, Error> {
        let lock =
            flocked(&self.disk.path(COMMANDS), FlockOperation::NonBlockingLockShared, PATIENCE)?;
        lock.map(|_lock| Occupied { _lock }).ok_or(Error::Undoing)
    }

    /// Keeps commands from running. An error, at once, if one runs already.
    pub fn alone(&self) -> Result<Alone, Error> {
        let lock = flocked(
            &self.disk.path(COMMANDS),
            FlockOperation::NonBlockingLockExclusive,
            Duration::ZERO,
        )?;
        if let Some(_lock) = lock {
            return Ok(Alone { _lock });
        }
        // Commands share the lock with whoever asks; an undo does not.
        let shared = FlockOperation::NonBlockingLockShared;
        match flocked(&self.disk.path(COMMANDS), shared, Duration::ZERO)? {
            Some(_) => Err(Error::Running(self.running())),
            None => Err(Error::Undoing),
        }
    }

    /// The command that showed a sign of life last, with its session.
    fn running(&self) -> String {
        let files = std::fs::read_dir(&self.disk.dir).into_iter().flatten().flatten();
        let signs = files.filter(|file| file.file_name().as_bytes().starts_with(PREFIX.as_bytes()));
        let newest = signs.max_by_key(|file| file.metadata().and_then(|meta| meta.modified()).ok());
        let bytes = newest.and_then(|file| std::fs::read(file.path()).ok());
        let sign = bytes.and_then(|bytes| Sign::decode(&bytes));
        let label = sign.map(|sign| sign.label).unwrap_or_default();
        match label.session.zip(label.command) {
            Some((session, command)) => {
                let command: String = command.chars().take(80).collect();
                format!(" (\"{}\" of session {session})", command.trim_end())
            }
            None => String::new(),
        }
    }
}
