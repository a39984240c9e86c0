//! Files as they are read and kept: regular ones only, bounded, written whole or not at all, private.

use crate::ConfigError;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a file that a person writes.
pub(crate) const MOST_BYTES: u64 = 1024 * 1024;

/// What exists at a path in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileRead {
    Nothing,
    Bytes(Vec<u8>),
    /// A link leads out of the project, or nowhere.
    Stray,
}

/// Links are followed: these are the user's own files, or the system's.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<Option<String>, ConfigError> {
    match resolve(path)? {
        None if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) => {
            Err(ConfigError::new(path, None, "the link is broken; fix or remove it"))
        }
        None => Ok(None),
        Some(real) => read_regular(path, &real, most)?.map(|bytes| text(path, bytes)).transpose(),
    }
}

/// A file that only Ostler writes: no other user may be able to change it.
pub(crate) fn read_own(path: &Path, most: u64) -> Result<Option<String>, ConfigError> {
    match fs::symlink_metadata(path) {
        Ok(seen) if !seen.is_file() => {
            Err(ConfigError::new(path, None, "it is not a regular file; remove it"))
        }
        Ok(seen) if seen.mode() & 0o022 != 0 => {
            let what = "other users can write to it; review it, then run chmod 600 on it";
            Err(ConfigError::new(path, None, what))
        }
        _ => read_text(path, most),
    }
}

/// A file of a project; `project` is resolved.
pub(crate) fn read_in(project: &Path, path: &Path) -> Result<FileRead, ConfigError> {
    match resolve(path)? {
        None if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) => {
            Ok(FileRead::Stray)
        }
        None => Ok(FileRead::Nothing),
        Some(real) if !real.starts_with(project) => Ok(FileRead::Stray),
        Some(real) => {
            let bytes = read_regular(path, &real, MOST_BYTES)?;
            Ok(bytes.map_or(FileRead::Nothing, FileRead::Bytes))
        }
    }
}

/// # Errors
/// With the line of the first byte that is no text.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let front = error.as_bytes().get(..good).unwrap_or_default();
        let line = front.iter().filter(|byte| **byte == b'\n').count() + 1;
        ConfigError::new(path, line, "the file is not UTF-8; save it as UTF-8")
    })
}

/// Most files are not there, and to see that takes one look instead of one for each directory above.
fn resolve(path: &Path) -> Result<Option<PathBuf>, ConfigError> {
    if fs::symlink_metadata(path).is_err_and(|error| is_absent(error.kind())) {
        return Ok(None);
    }
    match fs::canonicalize(path) {
        Ok(real) => Ok(Some(real)),
        Err(error) if is_absent(error.kind()) => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigError {
    let what = format!("cannot read it ({error}); fix its permissions or delete it");
    ConfigError::new(path, None, what)
}

/// What is opened is what was looked at, so that nothing but a regular file is ever read.
pub(crate) fn read_regular(
    path: &Path,
    real: &Path,
    most: u64,
) -> Result<Option<Vec<u8>>, ConfigError> {
    let seen = match fs::symlink_metadata(real) {
        Ok(seen) => seen,
        Err(error) if is_absent(error.kind()) => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    if !seen.is_file() {
        return Err(ConfigError::new(path, None, "it is not a regular file; remove it"));
    }
    let file = File::open(real).map_err(|error| unreadable(path, &error))?;
    let opened = file.metadata().map_err(|error| unreadable(path, &error))?;
    if (seen.dev(), seen.ino()) != (opened.dev(), opened.ino()) {
        return Err(ConfigError::new(path, None, "it changed while Ostler read it; start again"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > most {
        let what = format!("it is longer than {most} bytes; shorten it");
        return Err(ConfigError::new(path, None, what));
    }
    Ok(Some(bytes))
}

/// Changes a file of ours under a lock. `change` maps the old content to the new.
pub(crate) fn update(
    path: &Path,
    most: u64,
    change: impl FnOnce(Option<String>) -> Result<Option<String>, ConfigError>,
) -> Result<(), ConfigError> {
    let failed = |error: std::io::Error| {
        ConfigError::new(
            path,
            None,
            format!("cannot write it ({error}); fix the permissions of its directory"),
        )
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().mode(0o700).recursive(true).create(folder).map_err(failed)?;
    let lock = lock(path).map_err(failed)?;
    if let Some(text) = change(read_own(path, most)?)? {
        if text.len() as u64 > most {
            let what = format!("it would be longer than {most} bytes; remove old entries");
            return Err(ConfigError::new(path, None, what));
        }
        replace(path, folder, text.as_bytes()).map_err(failed)?;
    }
    drop(lock);
    Ok(())
}

/// Tries for a second.
fn lock(path: &Path) -> std::io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(name)?;
    for _ in 0..100 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(std::io::Error::new(ErrorKind::WouldBlock, "another process has locked it"))
}

fn replace(path: &Path, folder: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let made = PathBuf::from(name);
    // We hold the lock, so an existing temporary file is a leftover.
    match fs::remove_file(&made) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&made)?;
    let written =
        file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&made, path));
    if written.is_err() {
        let _ = fs::remove_file(&made);
        return written;
    }
    File::open(folder)?.sync_all()
}
