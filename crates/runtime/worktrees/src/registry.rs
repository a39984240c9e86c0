//! The records of all trees, below one directory that the caller names.
//!
//! ```text
//! <state>/.lock                        held for a moment while a name is chosen or an owner is looked at
//! <state>/<project>/<name>/            a tree
//! <state>/<project>/.records/<name>.json, .lock, .index
//! <state>/<project>/.queue/<target>/   the tree of a merge queue
//! <state>/<project>/.trash/            trees that are being deleted
//! ```
//!
//! The owner of a tree holds its lock as long as it lives; the kernel drops it with the process. Where locks do nothing
//! (some network file systems), the process in the record decides.

use crate::error::WorktreeError;
use crate::files;
use crate::object_id::ObjectId;
use crate::owner::{Owner, ProcessMark};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const RECORDS: &str = ".records";
const TRASH: &str = ".trash";
const MOST_RECORD: u64 = 256 << 10;
pub(crate) const VERSION: u32 = 1;

/// Ports of trees: `step` of them each, below those that the system hands out by itself.
const FIRST_PORT: u16 = 20_000;
const LAST_PORT: u16 = 32_700;
pub(crate) const PORTS: u16 = 10;

/// How far a tree has got. Whatever happens to its owner, the stage says what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nobody has worked in it.
    Creating,
    Ready,
    /// It was decided that it goes.
    Removing,
}

/// Everything we know of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRecord {
    pub version: u32,
    pub name: String,
    /// Without `refs/heads/`.
    pub branch: String,
    pub path: PathBuf,
    /// The repository.
    pub common_dir: PathBuf,
    /// Git's own directory for this tree; none until it was made.
    pub git_dir: Option<PathBuf>,
    /// Device and inode of the tree, to tell it from another directory in its place.
    pub directory: Option<(u64, u64)>,
    pub base: ObjectId,
    pub base_branch: String,
    pub port_base: u16,
    pub created_ms: u64,
    pub stage: Stage,
    pub owner: Owner,
    /// The process of the owner; none after it has let go.
    pub process: Option<ProcessMark>,
    /// A worker's tree until its task is done.
    #[serde(default)]
    pub is_unfinished: bool,
    /// Copies of files that git does not track. They are never committed.
    #[serde(default)]
    pub included: Vec<String>,
    /// The branch is deleted with the tree if it still is here.
    pub delete_branch_at: Option<ObjectId>,
}

impl TreeRecord {
    /// For the environment of commands in the tree; see [`crate::Worktree::variables`].
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        vec![
            ("OSTLER_WORKTREE".into(), self.name.clone().into()),
            ("OSTLER_PORT_BASE".into(), self.port_base.to_string().into()),
        ]
    }

    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// What we tell git when we lock the tree, so that our own lock is recognized.
    pub(crate) fn lock_reason(&self) -> String {
        format!("{LOCK_WORDS}{}", self.name)
    }
}

pub(crate) const LOCK_WORDS: &str = "in use by Ostler, worktree ";

/// The records of one project.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    state: PathBuf,
    /// The directory of the project.
    pub project: PathBuf,
}

/// Nobody else chooses names or looks at owners while this exists.
#[derive(Debug)]
pub(crate) struct RegistryLock {
    _file: File,
}

impl Registry {
    pub fn open(state: &Path, project: &str) -> Result<Registry, WorktreeError> {
        let bad =
            |why: &str| WorktreeError::Unusable { path: state.to_path_buf(), why: why.to_owned() };
        if !state.is_absolute() {
            return Err(bad("it is not an absolute path"));
        }
        if project.is_empty() || project.starts_with('.') || project.contains('/') {
            return Err(bad("the name of the project cannot be used as a directory"));
        }
        files::make_private_directory(state)?;
        let state = state.canonicalize().map_err(WorktreeError::io("find", state))?;
        if state.to_str().is_none() {
            return Err(bad("its path is not valid UTF-8"));
        }
        let project = state.join(project);
        files::make_private_directory(&project.join(RECORDS))?;
        Ok(Registry { state, project })
    }

    /// Waits for its turn; whoever holds it does so for moments.
    pub async fn lock(&self) -> Result<RegistryLock, WorktreeError> {
        let path = self.state.join(".lock");
        let take = move || {
            let file = lock_file(&path)?;
            file.lock().map_err(WorktreeError::io("lock", &path))?;
            Ok(RegistryLock { _file: file })
        };
        run_blocking(take).await
    }

    pub fn tree_path(&self, name: &str) -> PathBuf {
        self.project.join(name)
    }

    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.project.join(RECORDS).join(format!("{name}.{ending}"))
    }

    pub fn index_path(&self, name: &str) -> PathBuf {
        self.file(name, "index")
    }

    pub fn include_path(&self, name: &str) -> PathBuf {
        self.file(name, "include")
    }

    pub fn write(&self, record: &TreeRecord) -> Result<(), WorktreeError> {
        let path = self.file(&record.name, "json");
        let text = serde_json::to_vec_pretty(record).map_err(|error| WorktreeError::Unusable {
            path: record.path.clone(),
            why: error.to_string(),
        })?;
        files::write_whole(&path, &text)
    }

    pub fn read(&self, name: &str) -> Result<Option<TreeRecord>, WorktreeError> {
        read_record(&self.file(name, "json"))
    }

    /// Forgets a tree. The lock file goes last, and only under the lock of the registry.
    pub fn forget(&self, _lock: &RegistryLock, name: &str) -> Result<(), WorktreeError> {
        // What a killed process left of its looks at the tree.
        let entries = self.project.join(RECORDS).read_dir().into_iter().flatten().flatten();
        for entry in entries {
            let file = entry.file_name().to_string_lossy().into_owned();
            let of_tree = file.split_once('.').is_some_and(|(tree, _)| tree == name);
            if of_tree && (file.ends_with(".index") || file.ends_with(".index.lock")) {
                files::remove_file(&entry.path())?;
            }
        }
        for ending in ["json", "include", "lock"] {
            files::remove_file(&self.file(name, ending))?;
        }
        Ok(())
    }

    /// Where a tree is moved before it is deleted.
    pub fn trash(&self, name: &str) -> Result<PathBuf, WorktreeError> {
        let folder = self.project.join(TRASH);
        files::make_private_directory(&folder)?;
        Ok(folder.join(name))
    }

    /// Deletes what killed processes left there.
    pub fn empty_trash(&self, _lock: &RegistryLock) -> Result<(), WorktreeError> {
        files::remove_directory(&self.project.join(TRASH))
    }

    /// Directories that are named as trees are.
    pub fn directories(&self) -> Result<Vec<String>, WorktreeError> {
        let entries = self.project.read_dir().map_err(WorktreeError::io("list", &self.project))?;
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        Ok(names)
    }

    pub fn all(&self) -> Result<Vec<TreeRecord>, WorktreeError> {
        let mut found = Vec::new();
        for path in record_files(&self.project)? {
            found.extend(read_record(&path)?);
        }
        found.sort_by(|one, other| {
            (one.created_ms, &one.name).cmp(&(other.created_ms, &other.name))
        });
        Ok(found)
    }

    /// Becomes the owner of a tree; none if another owner lives.
    pub fn take(
        &self,
        _lock: &RegistryLock,
        name: &str,
        process: Option<&ProcessMark>,
    ) -> Result<Option<File>, WorktreeError> {
        let path = self.file(name, "lock");
        let file = lock_file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(WorktreeError::io("lock", &path)(error)),
        }
        // The kernel gave us the lock although the owner lives: locks do nothing here.
        let is_other = |mark: &ProcessMark| mark.lives() && *mark != ProcessMark::own();
        Ok((!process.is_some_and(is_other)).then_some(file))
    }

    pub fn is_owned(
        &self,
        lock: &RegistryLock,
        record: &TreeRecord,
    ) -> Result<bool, WorktreeError> {
        Ok(self.take(lock, &record.name, record.process.as_ref())?.is_none())
    }

    /// Ports that no tree of any project has.
    pub fn free_ports(&self, _lock: &RegistryLock) -> Result<u16, WorktreeError> {
        let mut used = Vec::new();
        let folders = self.state.read_dir().map_err(WorktreeError::io("list", &self.state))?;
        for folder in folders.flatten().filter(|entry| entry.file_name() != ".lock") {
            for path in record_files(&folder.path())? {
                // The record of another project may be damaged; that is no reason to stop here.
                used.extend(read_record(&path).ok().flatten().map(|record| record.port_base));
            }
        }
        let mut all = (FIRST_PORT..=LAST_PORT).step_by(usize::from(PORTS));
        all.find(|port| !used.contains(port)).ok_or(WorktreeError::NoFreePorts)
    }
}

fn record_files(project: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
    let folder = project.join(RECORDS);
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(WorktreeError::io("list", &folder)(error)),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect())
}

fn read_record(path: &Path) -> Result<Option<TreeRecord>, WorktreeError> {
    let Some(text) = files::read_text(path, MOST_RECORD)? else { return Ok(None) };
    let wrong = |why: String| WorktreeError::Record { path: path.to_path_buf(), why };
    let record: TreeRecord =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if record.version != VERSION {
        return Err(wrong(format!(
            "it was written by another version of Ostler ({})",
            record.version
        )));
    }
    Ok(Some(record))
}

fn lock_file(path: &Path) -> Result<File, WorktreeError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path);
    file.map_err(WorktreeError::io("open", path))
}

/// Runs something that blocks on a thread that may.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, WorktreeError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|error| {
        let why = format!("an internal error occurred: {error}");
        Err(WorktreeError::Git { doing: "finish the work on a worktree", why })
    })
}
