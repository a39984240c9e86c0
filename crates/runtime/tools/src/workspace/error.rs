//! What can be wrong with a path or a file, in words a model can act on.

use crate::text::{show, size};
use ostler_core::tool::ToolOutput;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("The path is empty. Name a file or directory.")]
    Empty,
    #[error("The path contains a NUL character. Remove it.")]
    Nul,
    #[error("The path is too long: {0} bytes; the limit is 4095.")]
    TooLong(usize),
    #[error("A name in the path is too long: {0} bytes; the limit is 255.")]
    NameTooLong(usize),
    #[error("{} does not exist{hint}", show(path))]
    Missing { path: PathBuf, hint: String },
    #[error("{} leads through too many links, probably in a loop.", show(.0))]
    Links(PathBuf),
    #[error("{} is not a directory, so nothing can be below it.", show(.0))]
    NotAFolder(PathBuf),
    #[error("{} is a directory. Use Glob to see what is in it.", show(.0))]
    Folder(PathBuf),
    #[error("{} is {kind}, not a regular file.", show(path))]
    NotAFile { path: PathBuf, kind: FileErrorKind },
    #[error("{} is outside your worktree. Change only files in {}.", show(path), show(tree))]
    Outside { path: PathBuf, tree: PathBuf },
    #[error("Permission denied: this user may not {doing} {}.", show(path))]
    Denied { doing: &'static str, path: PathBuf },
    #[error(
        "{} is {}; this tool handles files up to {}. Use Bash for it.",
        show(path), size(*holds), size(*limit)
    )]
    TooLarge { path: PathBuf, holds: u64, limit: u64 },
    #[error(
        "{} was replaced between the decision and this call. Nothing was done. Look again before you repeat the call.",
        show(.0)
    )]
    Moved(PathBuf),
    #[error("{} is a kernel link to an object of a process. It is not followed.", show(.0))]
    Magic(PathBuf),
    #[error("Cannot {doing} {}: {source}.", show(path))]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileErrorKind {
    Folder,
    Link,
    Device,
    Pipe,
    Socket,
    Unknown,
}

impl From<rustix::fs::FileType> for FileErrorKind {
    fn from(of: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType;
        match of {
            FileType::Directory => FileErrorKind::Folder,
            FileType::Symlink => FileErrorKind::Link,
            FileType::CharacterDevice | FileType::BlockDevice => FileErrorKind::Device,
            FileType::Fifo => FileErrorKind::Pipe,
            FileType::Socket => FileErrorKind::Socket,
            _ => FileErrorKind::Unknown,
        }
    }
}

impl fmt::Display for FileErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileErrorKind::Folder => "a directory",
            FileErrorKind::Link => "a link",
            FileErrorKind::Device => "a device",
            FileErrorKind::Pipe => "a named pipe",
            FileErrorKind::Socket => "a socket",
            FileErrorKind::Unknown => "something special",
        })
    }
}

impl FileError {
    /// What went wrong at a path that was free of links when it was judged.
    pub fn raced(doing: &'static str, path: &Path, errno: Errno) -> Self {
        match errno {
            Errno::LOOP => FileError::Moved(path.to_path_buf()),
            Errno::XDEV => FileError::Magic(path.to_path_buf()),
            _ => FileError::io(doing, path, errno.into()),
        }
    }

    pub fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => FileError::Missing { path, hint: ".".into() },
            io::ErrorKind::PermissionDenied => FileError::Denied { doing, path },
            io::ErrorKind::NotADirectory => FileError::NotAFolder(path),
            io::ErrorKind::IsADirectory => {
                FileError::NotAFile { path, kind: FileErrorKind::Folder }
            }
            _ if source.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                FileError::Links(path)
            }
            _ => FileError::Io { doing, path, source },
        }
    }
}

impl From<FileError> for ToolOutput {
    fn from(error: FileError) -> Self {
        ToolOutput::error(error.to_string())
    }
}
