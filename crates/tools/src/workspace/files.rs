//! The only way from a file tool to the file system.

use super::error::{FileError, Kind};
use super::ledger::{Freshness, Ledger};
use super::snapshots::Snapshots;
use super::{atomic, resolve};
use crate::blocking::Stop;
use crate::text::{sha256, show};
use ostler_core::permission::Workspace;
use ostler_core::ports::ToolContext;
use ostler_core::session::{Entry, Snapshot};
use ostler_core::tool::{Seen, ToolOutput};
use rustix::fs::{Access, OFlags};
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest file the tools change: its content is held in memory and kept as a blob.
pub const MAX_CHANGE: u64 = 16 << 20;

/// One session's view of the disk: where paths lead, what the model has seen, and how to go back.
pub struct Files {
    workspace: Workspace,
    ledger: Ledger,
    pub(super) snapshots: Snapshots,
    // A path always meets the same lock. Two paths may share one, which costs a moment and nothing else.
    locks: [Mutex<()>; 64],
}

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    pub bytes: Vec<u8>,
    pub mode: u32,
    pub hash: String,
}

/// What a change did.
pub(crate) struct Changed {
    /// The file did not exist before.
    pub created: bool,
    /// The content was already what was asked for; nothing was written.
    pub same: bool,
    pub seen: Seen,
}

impl Files {
    /// `seen` and `snapshots` are what the session's log knows, oldest first.
    pub fn new(workspace: Workspace, seen: Vec<Seen>, snapshots: Vec<Snapshot>) -> Self {
        Files {
            workspace,
            ledger: Ledger::new(seen),
            snapshots: Snapshots::new(snapshots),
            locks: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Where the text leads, relative to the working folder, with links resolved as far as they exist.
    pub fn resolve(&self, text: &str) -> Result<PathBuf, FileError> {
        resolve::resolve(&self.workspace.cwd, text)
    }

    /// The same for a file that is to be written.
    pub fn resolve_for_writing(&self, text: &str) -> Result<PathBuf, FileError> {
        let path = self.resolve(text)?;
        let is_git = |part: std::path::Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
        if path.components().any(is_git) { Err(FileError::Protected(path)) } else { Ok(path) }
    }

    /// The path as a reader knows it: relative to the working folder where that is shorter.
    pub fn name(&self, path: &Path) -> String {
        match path.strip_prefix(&self.workspace.cwd) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
            Ok(inside) => show(inside),
            Err(_) => show(path),
        }
    }

    /// The same in a sentence about a folder.
    pub fn place(&self, folder: &Path) -> String {
        if folder == self.workspace.cwd { "the workspace folder".into() } else { self.name(folder) }
    }

    /// Opens a regular file. Never waits: a pipe without a writer is refused, not opened.
    pub fn open(&self, path: &Path) -> Result<(File, Metadata), FileError> {
        let fail = |source| FileError::io("read", path, source);
        // Opening some devices has effects, so look first; and look again at what was opened.
        regular(path, &path.symlink_metadata().map_err(fail)?)?;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(path)
            .map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        regular(path, &meta)?;
        Ok((file, meta))
    }

    /// The whole content; none if there is no such file.
    pub fn load(&self, path: &Path, limit: u64) -> Result<Option<Content>, FileError> {
        let (file, meta) = match self.open(path) {
            Err(FileError::Missing { .. }) => return Ok(None),
            other => other?,
        };
        let too_large = |holds| FileError::TooLarge { path: path.to_path_buf(), holds, limit };
        if meta.len() > limit {
            return Err(too_large(meta.len()));
        }
        let mut bytes = Vec::new();
        file.take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| FileError::io("read", path, source))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(Some(Content { hash: sha256(&bytes), mode: meta.mode(), bytes }))
    }

    /// The model sees what it asked to read.
    pub(crate) fn shown(&self, seen: &[Seen]) {
        for seen in seen {
            self.ledger.saw(seen);
        }
    }

    /// The model has now seen this content, or knows that the file is gone.
    pub(crate) fn saw(&self, path: &Path, hash: Option<String>) -> Seen {
        let seen = Seen { path: path.to_path_buf(), hash };
        self.ledger.saw(&seen);
        seen
    }

    /// Replaces a file's content: `make` gets the old one, which the model must know, and gives the new one.
    /// The old content is kept and recorded first. Changes of one file happen one after the other.
    pub(crate) fn change(
        &self,
        path: &Path,
        cx: &ToolContext,
        stop: &Stop,
        make: impl FnOnce(Option<&Content>) -> Result<Vec<u8>, ToolOutput>,
    ) -> Result<Changed, ToolOutput> {
        let _alone = self.alone(path);
        let old = self.load(path, MAX_CHANGE)?;
        if let Some(old) = &old {
            self.must_be_known(path, old)?;
        }
        let new = make(old.as_ref())?;
        let hash = sha256(&new);
        if old.as_ref().is_some_and(|old| old.hash == hash) {
            return Ok(Changed { created: false, same: true, seen: self.saw(path, Some(hash)) });
        }
        may_write(path, old.as_ref())?;
        stop.check()?;
        let snapshot = Snapshot {
            call: cx.call.clone(),
            path: path.to_path_buf(),
            before: old.as_ref().map(|old| keep(cx, &old.bytes)).transpose()?,
            mode: old.as_ref().map(|old| old.mode),
            after: Some(hash.clone()),
        };
        self.record(cx, snapshot)?;
        atomic::replace(path, &new, old.as_ref().map(|old| old.mode))?;
        Ok(Changed { created: old.is_none(), same: false, seen: self.saw(path, Some(hash)) })
    }

    /// First the log, then our own memory of it, then the disk.
    pub(super) fn record(&self, cx: &ToolContext, snapshot: Snapshot) -> Result<(), ToolOutput> {
        let Snapshot { call, path, before, mode, after } = snapshot.clone();
        let recorded = cx.recorder.record(Entry::Snapshot { call, path, before, mode, after });
        recorded.map_err(|error| unrecorded(&error))?;
        self.snapshots.apply(snapshot);
        Ok(())
    }

    pub(super) fn alone(&self, path: &Path) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % self.locks.len() as u64).unwrap_or(0);
        self.locks[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn must_be_known(&self, path: &Path, old: &Content) -> Result<(), ToolOutput> {
        let name = self.name(path);
        match self.ledger.freshness(path, &old.hash) {
            Freshness::Fresh => Ok(()),
            Freshness::Unread if old.bytes.is_empty() => Ok(()),
            Freshness::Unread => Err(ToolOutput::misuse(format!(
                "{name} exists and you have not read it. Read it first."
            ))),
            Freshness::Changed => Err(ToolOutput::misuse(format!(
                "{name} has changed since you read it. Read it again before you change it."
            ))),
        }
    }
}

/// The bytes as a blob, before anything is done to the file they came from.
pub(super) fn keep(
    cx: &ToolContext,
    bytes: &[u8],
) -> Result<ostler_core::ids::BlobRef, ToolOutput> {
    cx.blobs.put(bytes).map_err(|error| unrecorded(&error))
}

pub(super) fn unrecorded(error: &dyn std::fmt::Display) -> ToolOutput {
    ToolOutput::error(format!(
        "Nothing was changed, because the old content could not be kept: {error}"
    ))
}

/// A rename asks only the folder's permissions; whoever made the file read-only meant the file.
pub(super) fn may_write(path: &Path, old: Option<&Content>) -> Result<(), FileError> {
    match old {
        Some(_) => rustix::fs::access(path, Access::WRITE_OK)
            .map_err(|errno| FileError::io("write", path, errno.into())),
        None => Ok(()),
    }
}

fn regular(path: &Path, meta: &Metadata) -> Result<(), FileError> {
    match meta.is_file() {
        true => Ok(()),
        false => {
            Err(FileError::NotAFile { path: path.to_path_buf(), kind: kind(meta.file_type()) })
        }
    }
}

fn kind(of: FileType) -> Kind {
    match of {
        _ if of.is_dir() => Kind::Folder,
        _ if of.is_symlink() => Kind::Link,
        _ if of.is_char_device() || of.is_block_device() => Kind::Device,
        _ if of.is_fifo() => Kind::Pipe,
        _ if of.is_socket() => Kind::Socket,
        _ => Kind::Unknown,
    }
}
