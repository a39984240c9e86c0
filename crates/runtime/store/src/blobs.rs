//! Content by its hash: a file is whole under its name, or it is not there.

use crate::files::{self, RefusedFile, io_error};
use crate::layout::{hex, is_file_name, project_name};
use ostler_core::ids::{BlobRef, SessionId};
use ostler_core::ports::{Blobs, StoreError};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Larger content is neither stored nor read.
pub(crate) const MAX_BLOB: u64 = 1 << 30;

/// How often a temporary name that a dead process left behind is passed over.
const TRIES: usize = 100;

pub struct FileBlobs {
    home: PathBuf,
    root: PathBuf,
    spills: Option<PathBuf>,
}

/// Where a session's long outputs stand, made by the first of them; none for a name that cannot be a file's.
pub fn spill_folder(home: &Path, session: &SessionId) -> Option<PathBuf> {
    is_file_name(session).then(|| home.join("spills").join(session.as_str()))
}

/// Where the snapshots of a workspace stand.
pub fn snapshot_folder(home: &Path, workspace: &Path) -> PathBuf {
    home.join("snapshots").join(project_name(workspace))
}

impl FileBlobs {
    /// Blobs of this home directory, which is made if it is missing.
    pub fn new(home: impl AsRef<Path>) -> Result<Self, StoreError> {
        files::home(home.as_ref())?;
        let home = home.as_ref().to_owned();
        Ok(FileBlobs { root: home.join("blobs"), home, spills: None })
    }

    pub(crate) fn spilling(&self, session: &SessionId) -> FileBlobs {
        let spills = spill_folder(&self.home, session);
        FileBlobs { home: self.home.clone(), root: self.root.clone(), spills }
    }

    fn place(&self, blob: &BlobRef) -> Option<PathBuf> {
        let name = valid(blob)?;
        Some(self.root.join(name.get(..2)?).join(name))
    }

    fn store(&self, path: &Path, bytes: &[u8], sync: bool) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.root);
        let fresh = !folder.exists();
        files::private_folder(&self.root)?;
        files::private_folder(folder)?;
        let (mut file, temporary) = temporary_in(folder)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| if sync { file.sync_all() } else { Ok(()) })
            .and_then(|()| fs::rename(&temporary, path))
            .and_then(|()| if sync { files::sync_folder(folder) } else { Ok(()) })
            .and_then(|()| if sync && fresh { files::sync_folder(&self.root) } else { Ok(()) });
        written.map_err(|error| {
            fs::remove_file(&temporary).ok();
            io_error("store the blob", path, error)
        })
    }

    /// As [`Blobs::put`], without waiting for the disk: [`FileBlobs::sync`] has to follow.
    pub(crate) fn put_unsynced(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        self.put_as(bytes, false)
    }

    /// What is stored survives a loss of power. Also for one that was there already: whoever put it there may not have
    /// waited for the disk yet.
    pub(crate) fn sync(&self, blob: &BlobRef) -> Result<(), StoreError> {
        let Some(path) = self.place(blob) else { return Ok(()) };
        let folder = path.parent().unwrap_or(&self.root);
        let synced = File::open(&path)
            .and_then(|file| file.sync_all())
            .and_then(|()| files::sync_folder(folder))
            .and_then(|()| files::sync_folder(&self.root));
        match synced {
            // Somebody removed it. Whoever reads the log says so; no further sync would bring it back.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced.map_err(|error| io_error("write to disk", &path, error)),
        }
    }

    fn put_as(&self, bytes: &[u8], sync: bool) -> Result<BlobRef, StoreError> {
        check_size(bytes, &self.root)?;
        let blob = name_of(bytes);
        let path = self.place(&blob).ok_or_else(|| StoreError::BlobLost(blob.to_string()))?;
        if !is_there(&path, bytes) {
            self.store(&path, bytes, sync)?;
        }
        Ok(blob)
    }
}

impl Blobs for FileBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        self.put_as(bytes, true)
    }

    fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError> {
        let lost = || StoreError::BlobLost(blob.to_string());
        let path = self.place(blob).ok_or_else(lost)?;
        let file = files::open_file(&path, OFlags::RDONLY).map_err(|refused| match refused {
            RefusedFile::Io(error) => io_error("read the blob", &path, error),
            RefusedFile::Missing | RefusedFile::NotAFile(_) => lost(),
        })?;
        let bytes = read(file).map_err(|error| io_error("read the blob", &path, error))?;
        if name_of(&bytes) == *blob { Ok(bytes) } else { Err(lost()) }
    }

    fn spill(&self, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        let Some(folder) = &self.spills else { return Ok(None) };
        check_size(bytes, folder)?;
        let path = folder.join(format!("{}.txt", name_of(bytes)));
        if !is_there(&path, bytes) {
            files::private_folder(folder.parent().unwrap_or(&self.home))?;
            files::private_folder(folder)?;
            // Not synced: after a loss of power the ends that were shown are enough.
            let (mut file, temporary) = temporary_in(folder)?;
            file.write_all(bytes).and_then(|()| fs::rename(&temporary, &path)).map_err(
                |error| {
                    fs::remove_file(&temporary).ok();
                    io_error("keep the output in", &path, error)
                },
            )?;
        }
        Ok(Some(path))
    }
}

fn check_size(bytes: &[u8], folder: &Path) -> Result<(), StoreError> {
    let size = bytes.len() as u64;
    if size <= MAX_BLOB {
        return Ok(());
    }
    let why = format!("it has {size} bytes; the limit is {MAX_BLOB}");
    Err(io_error("store a blob in", folder, why))
}

fn is_there(path: &Path, bytes: &[u8]) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|there| there.is_file() && there.len() == bytes.len() as u64)
}

fn read(file: File) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len().min(MAX_BLOB);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn name_of(bytes: &[u8]) -> BlobRef {
    BlobRef::new(hex(&Sha256::digest(bytes)))
}

/// References come out of logs: anything but a hash could lead elsewhere.
fn valid(blob: &BlobRef) -> Option<&str> {
    let name = blob.as_str();
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (name.len() == 64 && name.bytes().all(digit)).then_some(name)
}

fn temporary_in(folder: &Path) -> Result<(File, PathBuf), StoreError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..TRIES {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".new-{}-{n}", std::process::id()));
        match files::create_new(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(io_error("store a blob in", folder, error)),
        }
    }
    Err(io_error("store a blob in", folder, last))
}
