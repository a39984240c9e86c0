//! Private directories and files: created with the right mode, opened without following links.

use crate::state_directory::check_state_directory;
use ostler_core::ports::StoreError;
use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, FileType, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;

pub(crate) fn io_error(
    doing: &'static str,
    path: &Path,
    why: impl std::fmt::Display,
) -> StoreError {
    StoreError::Io { doing, path: path.to_owned(), why: why.to_string() }
}

/// The directory of all state. An existing one keeps its mode, unless others can write to it.
pub(crate) fn home(path: &Path) -> Result<(), StoreError> {
    if !path.exists() && make_folder(path, true)? {
        sync_folder(path.parent().unwrap_or(path)).ok();
    }
    // A link that leads nowhere is not missing.
    own_folder(path)?;
    check_state_directory(path)
}

/// A directory of ours below the home: created if missing, closed to others.
pub(crate) fn private_folder(path: &Path) -> Result<(), StoreError> {
    // Another process may create it at the same moment, so check the result.
    if !path.exists() {
        make_folder(path, false)?;
    }
    let metadata = own_folder(path)?;
    if mode(&metadata) != FOLDER {
        let closed = fs::Permissions::from_mode(FOLDER);
        fs::set_permissions(path, closed)
            .map_err(|error| io_error("restrict access to", path, error))?;
    }
    Ok(())
}

/// True if it was made here.
fn make_folder(path: &Path, with_parents: bool) -> Result<bool, StoreError> {
    match DirBuilder::new().mode(FOLDER).recursive(with_parents).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(io_error("create the directory", path, error)),
    }
    // The umask may have taken our own rights away.
    let closed = fs::Permissions::from_mode(FOLDER);
    fs::set_permissions(path, closed)
        .map_err(|error| io_error("restrict access to", path, error))?;
    Ok(true)
}

/// A directory that belongs to us.
pub(crate) fn owned_folder(path: &Path) -> Result<Metadata, StoreError> {
    let refuse = |why: &str| io_error("use the directory", path, why);
    let metadata = fs::metadata(path).map_err(|error| match fs::symlink_metadata(path) {
        Ok(link) if link.is_symlink() => {
            refuse("it is a broken link. Remove it or choose another home")
        }
        _ => refuse(&error.to_string()),
    })?;
    if !metadata.is_dir() {
        return Err(refuse("it is not a directory. Move it away or choose another home"));
    }
    let me = rustix::process::geteuid().as_raw();
    if metadata.uid() != me {
        let owner = metadata.uid();
        return Err(refuse(&format!(
            "it belongs to another user ({owner}, not {me}). Choose another home"
        )));
    }
    Ok(metadata)
}

/// The same, and we may write to it.
pub(crate) fn own_folder(path: &Path) -> Result<Metadata, StoreError> {
    let metadata = owned_folder(path)?;
    let refuse = |why: &str| io_error("use the directory", path, why);
    match rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Ok(metadata),
        Err(Errno::ROFS) => Err(refuse("the file system is read-only. Choose another home")),
        Err(_) => {
            Err(refuse("it is not writable. Give yourself write permission or choose another home"))
        }
    }
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o7777
}

/// Makes a file that was not there, readable and writable by its owner only.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let flags = OFlags::CREATE
        | OFlags::EXCL
        | OFlags::RDWR
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(FILE))?);
    make_private(&file).inspect_err(|_| {
        fs::remove_file(path).ok();
    })?;
    Ok(file)
}

pub(crate) fn make_private(file: &File) -> io::Result<()> {
    if mode(&file.metadata()?) != FILE {
        file.set_permissions(fs::Permissions::from_mode(FILE))?;
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) enum RefusedFile {
    Missing,
    /// What is there instead of a file.
    NotAFile(&'static str),
    Io(io::Error),
}

/// Opens a regular file and nothing else: no link is followed, no pipe waited for.
pub(crate) fn open_file(path: &Path, flags: OFlags) -> Result<File, RefusedFile> {
    let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags | careful, Mode::from_raw_mode(FILE)) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Err(RefusedFile::Missing),
        Err(Errno::LOOP) => return Err(RefusedFile::NotAFile("a link")),
        Err(Errno::ISDIR) => return Err(RefusedFile::NotAFile("a directory")),
        Err(Errno::NXIO) => return Err(RefusedFile::NotAFile("a socket or device")),
        Err(error) => return Err(RefusedFile::Io(error.into())),
    };
    let kind = file.metadata().map_err(RefusedFile::Io)?.file_type();
    if kind.is_file() { Ok(file) } else { Err(RefusedFile::NotAFile(describe(kind))) }
}

fn describe(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_symlink() => "a link",
        _ => "a socket or device",
    }
}

/// Makes the names in a directory survive a power failure.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
