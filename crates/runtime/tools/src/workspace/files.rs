//! The only way from a file tool to the file system: where a path leads, and what stands there.

use super::atomic_write::FileStamp;
use super::door::{Door, PathSight};
use super::error::{FileError, FileErrorKind};
use super::seen_contents::SeenContents;
use super::seen_files::SeenFiles;
use super::snapshots::UndoLevels;
use super::{path_suggestion, resolve};
use crate::text::{sha256, show};
use ostler_core::permission::{Live, PathScope, Workspace};
use ostler_core::ports::ToolContext;
use ostler_core::session::Snapshot;
use ostler_core::tool::Seen;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The largest file the tools change: its content is held in memory and kept as a blob.
pub const MAX_CHANGE: u64 = 16 << 20;

/// One session's view of the disk: where paths lead, what the model has seen, and how to go back.
///
/// A path is judged in the form that [`Files::resolve`] gives it: absolute and free of links. It is used through the
/// descriptors of the roots, and then a link on it is an error, so what was judged is what is used.
pub struct Files {
    /// It stays the same, whatever directories are added.
    cwd: PathBuf,
    workspace: Live<Workspace>,
    pub(super) door: Door,
    pub(super) ledger: SeenFiles,
    pub(super) kept: SeenContents,
    pub(super) snapshots: UndoLevels,
    // A path always meets the same lock. Two paths may share one, which costs a moment and nothing else.
    pub(super) locks: [Mutex<()>; 64],
}

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    pub mode: u32,
    pub hash: String,
    pub(crate) stamp: FileStamp,
}

impl Files {
    /// Opens the roots. `seen` and `snapshots` are what the session's log knows, oldest first.
    pub fn new(
        workspace: impl Into<Live<Workspace>>,
        seen: Vec<Seen>,
        snapshots: Vec<Snapshot>,
    ) -> Self {
        let workspace = workspace.into();
        let now = workspace.now();
        Files {
            door: Door::new(&now.roots),
            cwd: now.cwd.clone(),
            workspace,
            ledger: SeenFiles::new(seen),
            kept: SeenContents::default(),
            snapshots: UndoLevels::new(snapshots),
            locks: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    #[cfg(test)]
    pub fn by_hand(self) -> Self {
        Files { door: self.door.by_hand(), ..self }
    }

    /// The conversation went back: the model has seen this, and nothing else.
    pub fn go_back(&self, seen: Vec<Seen>) {
        self.ledger.go_back(seen);
    }

    /// As it is now: directories can be added.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.workspace.now()
    }

    pub fn live_workspace(&self) -> &Live<Workspace> {
        &self.workspace
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Holds one more root, before the workspace has it.
    pub fn add_root(&self, root: &Path) {
        self.door.add_root(root);
    }

    /// Where the text leads, relative to the working directory, with links resolved as far as they exist.
    pub fn resolve(&self, text: &str) -> Result<PathBuf, FileError> {
        self.resolve_from(&self.cwd, text)
    }

    /// The same, relative to another directory, which is absolute.
    pub fn resolve_from(&self, folder: &Path, text: &str) -> Result<PathBuf, FileError> {
        resolve::resolve(&self.door, folder, text)
    }

    /// Where the text leads for a file that is to be written. Whether it may be is not asked here, except that an agent
    /// with a worktree of its own changes nothing else; a root never is a file.
    pub fn resolve_for_writing(&self, text: &str) -> Result<PathBuf, FileError> {
        let path = self.resolve(text)?;
        let workspace = self.workspace();
        if workspace.isolated && !workspace.contains(&path) {
            return Err(FileError::Outside { path, tree: workspace.cwd.clone() });
        }
        match path.parent().is_none() || workspace.roots.contains(&path) {
            true => Err(FileError::NotAFile { path, kind: FileErrorKind::Folder }),
            false => Ok(path),
        }
    }

    /// Where the text leads now, if that is what the call was judged to read.
    pub(crate) fn judged(&self, text: &str, cx: &ToolContext) -> Result<PathBuf, FileError> {
        let path = self.resolve(text)?;
        is_among(&cx.judged.reads, cx.judged.known, path)
    }

    /// The same for a place that was looked up already.
    pub(crate) fn still_judged(&self, path: &Path, cx: &ToolContext) -> Result<(), FileError> {
        is_among(&cx.judged.reads, cx.judged.known, path.to_path_buf()).map(drop)
    }

    /// Where the text leads now, if that is what the call was judged to write.
    pub(crate) fn judged_for_writing(
        &self,
        text: &str,
        cx: &ToolContext,
    ) -> Result<PathBuf, FileError> {
        let path = self.resolve_for_writing(text)?;
        is_among(&cx.judged.writes, cx.judged.known, path)
    }

    /// The path as a reader knows it: relative to the working directory where that is shorter.
    pub fn name(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
            Ok(inside) => show(inside),
            Err(_) => show(path),
        }
    }

    /// The same in a sentence about a directory.
    pub fn place(&self, folder: &Path) -> String {
        if folder == self.cwd { "the workspace folder".into() } else { self.name(folder) }
    }

    /// How a path that does not exist was most likely meant.
    pub fn hint(&self, path: &Path) -> String {
        path_suggestion::hint(&self.door, path)
    }

    /// What stands at a path, links not followed; what to say if it is missing.
    pub(crate) fn look(&self, doing: &'static str, path: &Path) -> Result<PathSight, FileError> {
        self.door.look(path).map_err(|errno| match FileError::raced(doing, path, errno) {
            FileError::Missing { path, .. } => FileError::Missing { hint: self.hint(&path), path },
            other => other,
        })
    }

    pub(crate) fn is_file(&self, path: &Path) -> bool {
        self.door.look(path).is_ok_and(|sight| sight.kind() == FileType::RegularFile)
    }

    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        self.door.look(path).is_ok_and(|sight| sight.is_folder())
    }

    /// False only if nothing stands there for certain.
    pub(crate) fn may_exist(&self, path: &Path) -> bool {
        !matches!(self.door.look(path), Err(Errno::NOENT | Errno::NOTDIR))
    }

    /// For a walk that goes by paths: the directory's path still leads to it.
    pub(crate) fn may_walk(&self, folder: &Path) -> Result<(), FileError> {
        match self.door.is_same(folder) {
            true => Ok(()),
            false => Err(FileError::Moved(folder.to_path_buf())),
        }
    }

    /// Opens a regular file. Never waits: a pipe without a writer is refused, not opened.
    pub fn open(&self, path: &Path) -> Result<(File, Metadata), FileError> {
        let fail = |errno| FileError::raced("read", path, errno);
        // Opening some devices has effects, so look first; and look again at what was opened.
        regular(path, self.door.look(path).map_err(fail)?.kind())?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.door.open(path, flags).map_err(fail)?);
        let meta = file.metadata().map_err(|source| FileError::io("read", path, source))?;
        regular(path, FileType::from_raw_mode(meta.mode()))?;
        Ok((file, meta))
    }

    /// The whole content; none if there is no such file.
    pub fn load(&self, path: &Path, limit: u64) -> Result<Option<FileContent>, FileError> {
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
        let (hash, stamp) = (sha256(&bytes), FileStamp::of(&meta));
        Ok(Some(FileContent { hash, mode: meta.mode(), bytes, stamp }))
    }
}

/// A call that was judged as one that may touch anything may touch this, too.
fn is_among(scopes: &[PathScope], known: bool, path: PathBuf) -> Result<PathBuf, FileError> {
    let covers = |scope: &PathScope| match scope {
        PathScope::File(file) => *file == path,
        PathScope::Tree(tree) => path.starts_with(tree),
    };
    if !known || scopes.iter().any(covers) { Ok(path) } else { Err(FileError::Moved(path)) }
}

fn regular(path: &Path, kind: FileType) -> Result<(), FileError> {
    match kind {
        FileType::RegularFile => Ok(()),
        other => Err(FileError::NotAFile { path: path.to_path_buf(), kind: other.into() }),
    }
}
