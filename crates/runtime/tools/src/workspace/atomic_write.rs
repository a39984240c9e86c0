//! A file is replaced whole: written beside its place, synced, renamed. A reader sees the old or the new content.
//! All of it happens in one directory that is held open, so nothing that is moved meanwhile leads elsewhere.

use super::door::{Door, OpenPlace};
use super::error::FileError;
use super::leftovers;
use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Set-user-id and its kin are not carried over to content that somebody else chose.
const KEPT_MODE: u32 = 0o777;

/// How often a name that is taken is tried with another.
const NAMES: u32 = 16;

/// The file that is replaced, as it was when its content was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    object: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl FileStamp {
    pub fn of(meta: &std::fs::Metadata) -> Self {
        FileStamp {
            object: (meta.dev(), meta.ino()),
            length: meta.len(),
            changed: (meta.mtime(), meta.mtime_nsec()),
        }
    }

    fn of_stat(stat: &Stat) -> Self {
        FileStamp {
            object: (stat.st_dev, stat.st_ino),
            length: u64::try_from(stat.st_size).unwrap_or(0),
            changed: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        }
    }
}

/// Puts the bytes at `path` and makes its parent directories. `mode` none: as a new file of this user has it. `over` is
/// the file that is to be there until the end; none if there is to be none.
pub fn replace(
    door: &Door,
    path: &Path,
    bytes: &[u8],
    mode: Option<u32>,
    over: Option<FileStamp>,
) -> Result<(), FileError> {
    let fail = |doing| move |source| FileError::io(doing, path, source);
    let (place, parents) = door.make_place(path)?;
    let temporary = Temporary::create(&place, path, if mode.is_some() { 0o600 } else { 0o666 })?;
    let mut file = &temporary.file;
    file.write_all(bytes).map_err(fail("write"))?;
    if let Some(mode) = mode {
        if let Ok(old) = fs::statat(&place.folder, place.name, AtFlags::SYMLINK_NOFOLLOW) {
            // Only root can give files away; for everybody else it is theirs already.
            let _ = std::os::unix::fs::fchown(file, Some(old.st_uid), Some(old.st_gid));
        }
        file.set_permissions(Permissions::from_mode(mode & KEPT_MODE))
            .map_err(fail("set the mode of"))?;
    }
    file.sync_all().map_err(fail("write"))?;
    temporary.rename(&place, path, over)?;
    parents.keep();
    sync_folder(&place.folder);
    Ok(())
}

pub fn remove(door: &Door, path: &Path) -> Result<(), FileError> {
    let fail = |errno| FileError::raced("remove", path, errno);
    let place = door.place(path).map_err(fail)?;
    fs::unlinkat(&place.folder, place.name, AtFlags::empty()).map_err(fail)?;
    sync_folder(&place.folder);
    Ok(())
}

/// Makes the rename itself survive a loss of power; where a directory cannot be synced, nothing is lost but that.
fn sync_folder(folder: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(folder) = fs::openat(folder, ".", flags, Mode::empty()) {
        let _ = fs::fsync(folder);
    }
}

/// A file nobody else knows, removed again unless it was renamed to its place. Locked while we have it, so that what a
/// dead process left behind can be told from what a living one is writing.
struct Temporary<'a> {
    file: File,
    folder: &'a OwnedFd,
    name: String,
    done: bool,
}

impl<'a> Temporary<'a> {
    fn create(place: &'a OpenPlace<'_>, path: &Path, mode: u32) -> Result<Self, FileError> {
        let folder = &place.folder;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut last = Errno::EXIST;
        for _ in 0..NAMES {
            let name = leftovers::name(RandomState::new().build_hasher().finish());
            match fs::openat(folder, &name, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => {
                    let temporary = Temporary { file: file.into(), folder, name, done: false };
                    if leftovers::claim(&temporary.file) {
                        return Ok(temporary);
                    }
                }
                Err(Errno::EXIST) => {}
                Err(errno) => {
                    last = errno;
                    break;
                }
            }
        }
        let folder = path.parent().unwrap_or(path);
        Err(FileError::io("create a file in", folder, last.into()))
    }

    /// To its place, if that is still as it was.
    fn rename(
        mut self,
        place: &OpenPlace<'_>,
        path: &Path,
        over: Option<FileStamp>,
    ) -> Result<(), FileError> {
        let moved = || FileError::Moved(path.to_path_buf());
        match fs::statat(self.folder, place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                return Err(FileError::raced("replace", path, Errno::ISDIR));
            }
            Ok(stat) if over != Some(FileStamp::of_stat(&stat)) => return Err(moved()),
            Err(Errno::NOENT) if over.is_some() => return Err(moved()),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(FileError::raced("replace", path, errno)),
        }
        let (folder, name) = (self.folder, self.name.as_str());
        let rename = |flags| fs::renameat_with(folder, name, folder, place.name, flags);
        let renamed = match over {
            Some(_) => rename(RenameFlags::empty()),
            None => match rename(RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => return Err(moved()),
                // Some file systems cannot; it was looked at a moment ago.
                Err(Errno::INVAL | Errno::NOSYS) => rename(RenameFlags::empty()),
                other => other,
            },
        };
        renamed.map_err(|errno| FileError::raced("replace", path, errno))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
#[path = "atomic_write_tests.rs"]
mod tests;
