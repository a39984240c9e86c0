//! A file is replaced whole: written beside its place, synced, renamed. A reader sees the old or the new content.

use super::error::FileError;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Set-user-id and its kin are not carried over to content that somebody else chose.
const KEPT_MODE: u32 = 0o777;

/// How often a name that is taken is tried with another.
const NAMES: u32 = 16;

/// Puts the bytes at `path` and makes its parent folders. `mode` none: as a new file of this user has it.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), FileError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let fail = |doing| move |source| FileError::io(doing, path, source);
    let parents = Parents::make(folder)?;
    let temporary = Temporary::create(folder, if mode.is_some() { 0o600 } else { 0o666 })?;
    let mut file = &temporary.file;
    file.write_all(bytes).map_err(fail("write"))?;
    if let Some(mode) = mode {
        if let Ok(old) = path.symlink_metadata() {
            // Only root can give files away; for everybody else it is theirs already.
            let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(Permissions::from_mode(mode & KEPT_MODE))
            .map_err(fail("set the mode of"))?;
    }
    file.sync_all().map_err(fail("write"))?;
    std::fs::rename(&temporary.path, path).map_err(fail("replace"))?;
    temporary.keep();
    parents.keep();
    sync_folder(folder);
    Ok(())
}

pub fn remove(path: &Path) -> Result<(), FileError> {
    std::fs::remove_file(path).map_err(|source| FileError::io("remove", path, source))?;
    sync_folder(path.parent().unwrap_or(Path::new("/")));
    Ok(())
}

/// Makes the rename itself survive a loss of power; where a folder cannot be synced, nothing is lost but that.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// A file nobody else knows, removed again unless it was renamed to its place.
struct Temporary {
    file: File,
    path: PathBuf,
    done: bool,
}

impl Temporary {
    fn create(folder: &Path, mode: u32) -> Result<Self, FileError> {
        let mut last = None;
        for _ in 0..NAMES {
            let path = folder
                .join(format!(".ostler-{:016x}.tmp", RandomState::new().build_hasher().finish()));
            let opened = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .custom_flags(OFlags::NOFOLLOW.bits() as i32)
                .open(&path);
            match opened {
                Ok(file) => return Ok(Temporary { file, path, done: false }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => last = Some(error),
                Err(error) => return Err(FileError::io("create a file in", folder, error)),
            }
        }
        let source = last.unwrap_or_else(|| ErrorKind::AlreadyExists.into());
        Err(FileError::io("create a file in", folder, source))
    }

    fn keep(mut self) {
        self.done = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.done {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Folders made for a file, removed again if the file did not come to be.
struct Parents {
    made: Vec<PathBuf>,
}

impl Parents {
    fn make(folder: &Path) -> Result<Self, FileError> {
        let mut missing = Vec::new();
        for ancestor in folder.ancestors() {
            match ancestor.symlink_metadata() {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    missing.push(ancestor.to_path_buf())
                }
                Err(error) => return Err(FileError::io("look at", ancestor, error)),
            }
        }
        let mut parents = Parents { made: Vec::new() };
        while let Some(next) = missing.pop() {
            match std::fs::create_dir(&next) {
                Ok(()) => parents.made.push(next),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FileError::io("create the folder", &next, error)),
            }
        }
        Ok(parents)
    }

    fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn content_and_mode_arrive_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace(&path, b"one", None).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        replace(&path, b"two", Some(0o104751)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn a_hard_link_elsewhere_keeps_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        fs::write(&there, "old").unwrap();
        fs::hard_link(&there, &here).unwrap();
        replace(&here, b"new", Some(0o644)).unwrap();
        assert_eq!(fs::read(&there).unwrap(), b"old");
    }

    #[test]
    fn a_failure_leaves_no_trace() {
        let dir = tempfile::tempdir().unwrap();
        // A folder cannot be replaced by a file: everything up to the rename succeeds.
        let target = dir.path().join("new/deep/target");
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("inside"), "").unwrap();
        assert!(replace(&target, b"x", None).is_err());
        assert_eq!(names(&dir.path().join("new/deep")), ["target"]);

        let long = dir.path().join("made/for").join("n".repeat(300));
        assert!(replace(&long, b"x", None).is_err());
        assert_eq!(names(dir.path()), ["new"]);
    }

    #[test]
    fn parents_are_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c");
        replace(&path, b"x", None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
        remove(&path).unwrap();
        assert!(names(&dir.path().join("a/b")).is_empty());
    }
}
