//! Files of our own state, and small files that others wrote.

use crate::error::WorktreeError;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

pub(crate) fn make_private_directory(path: &Path) -> Result<(), WorktreeError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(WorktreeError::io("create", path))
}

/// The text of a regular file; none if there is no such file. Links are not followed, pipes not waited for.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<Option<String>, WorktreeError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(WorktreeError::io("read", path)(error.into())),
    };
    let refuse = |why: &str| WorktreeError::io("read", path)(io::Error::other(why.to_owned()));
    let meta = file.metadata().map_err(WorktreeError::io("read", path))?;
    if !meta.is_file() {
        return Err(refuse("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(WorktreeError::io("read", path))?;
    if bytes.len() as u64 > most {
        return Err(refuse("it is too large"));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Replaces a file as a whole and syncs it: after a crash it has the old content or the new one.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WorktreeError> {
    let new = path.with_extension("new");
    let write = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&new);
        WorktreeError::io("write", path)(error)
    })
}

/// It is fine if it is gone already.
pub(crate) fn remove_file(path: &Path) -> Result<(), WorktreeError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WorktreeError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes a directory with everything below it, also what its owner took permissions from. Links are not followed.
pub(crate) fn remove_directory(path: &Path) -> Result<(), WorktreeError> {
    let first = match fs::remove_dir_all(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => error,
    };
    if first.kind() != io::ErrorKind::PermissionDenied {
        return Err(WorktreeError::io("remove", path)(first));
    }
    make_removable(path);
    fs::remove_dir_all(path).map_err(WorktreeError::io("remove", path))
}

fn make_removable(path: &Path) {
    let mut open = vec![path.to_path_buf()];
    while let Some(folder) = open.pop() {
        let is_folder = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        if !is_folder {
            continue;
        }
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = folder.read_dir().into_iter().flatten().flatten();
        open.extend(entries.map(|entry| entry.path()));
    }
}

/// There is something with this name, be it a link that leads nowhere.
pub(crate) fn exists(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
