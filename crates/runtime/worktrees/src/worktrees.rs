//! The trees of one repository.

use crate::error::WorktreeError;
use crate::files;
use crate::git::Git;
use crate::object_id::ObjectId;
use crate::owner::{Owner, ProcessMark};
use crate::private_view;
use crate::registry::{LOCK_WORDS, Registry, Stage, TreeRecord};
use crate::repository::{Repository, TreeWarning};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// The namespace of our branches. Nothing else is ever moved or deleted, except the target of a merge.
pub const BRANCH_PREFIX: &str = "ostler/";

/// Bounds on what is copied into a tree and committed from it.
#[derive(Debug, Clone, Copy)]
pub struct TreeLimits {
    /// Files that `.worktreeinclude` may name.
    pub included_files: usize,
    /// Bytes of them.
    pub included_bytes: u64,
    /// Bytes of new and changed files in one commit.
    pub commit_bytes: u64,
}

impl Default for TreeLimits {
    fn default() -> Self {
        TreeLimits { included_files: 1_000, included_bytes: 64 << 20, commit_bytes: 1 << 30 }
    }
}

/// Where trees are kept, and which git to use.
#[derive(Debug, Clone)]
pub struct WorktreeSetup {
    pub git: Git,
    /// Where the trees of all projects are, such as `~/.ostler/worktrees`.
    pub state: PathBuf,
    /// A name for the project that no other project has, usable as a directory.
    pub project: String,
    pub limits: TreeLimits,
}

#[derive(Debug, Clone)]
pub struct Worktrees {
    pub(crate) git: Git,
    pub(crate) repository: Repository,
    pub(crate) registry: Registry,
    pub(crate) limits: TreeLimits,
}

/// Commands of the project. The caller runs them, because only it knows whether they are trusted and in which sandbox
/// they run.
pub trait TreeCommands: Sync {
    /// Makes a new tree usable, for example by installing dependencies.
    fn set_up<'a>(&'a self, tree: &'a Worktree) -> CommandFuture<'a>;

    /// Undoes what `set_up` did outside the tree.
    fn tear_down<'a>(&'a self, record: &'a TreeRecord) -> CommandFuture<'a>;
}

/// Why a command failed, in one line.
pub type CommandFuture<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// A tree that this process owns. When it is dropped, the tree stays, and others may take it over.
#[derive(Debug)]
pub struct Worktree {
    pub(crate) record: TreeRecord,
    pub(crate) _lock: File,
    pub warnings: Vec<TreeWarning>,
    /// What was copied because `.worktreeinclude` names it.
    pub included: Vec<PathBuf>,
}

impl Worktree {
    pub fn name(&self) -> &str {
        &self.record.name
    }

    pub fn path(&self) -> &Path {
        &self.record.path
    }

    /// Without `refs/heads/`.
    pub fn branch(&self) -> &str {
        &self.record.branch
    }

    pub fn record(&self) -> &TreeRecord {
        &self.record
    }

    /// For the environment of commands in it. The ports from `OSTLER_PORT_BASE` on, ten of them, belong to no other
    /// tree.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        self.record.variables()
    }
}

/// A worktree that git knows, ours or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Registration {
    pub path: PathBuf,
    /// With `refs/heads/`.
    pub branch: Option<String>,
    /// Why it is locked.
    pub locked: Option<String>,
}

impl Registration {
    /// Locked by somebody else.
    pub fn foreign_lock(&self) -> Option<&str> {
        self.locked.as_deref().filter(|reason| !reason.starts_with(LOCK_WORDS))
    }
}

impl Worktrees {
    /// # Errors
    /// If there is no repository that can be used, or no directory for trees.
    pub async fn open(setup: WorktreeSetup, directory: &Path) -> Result<Worktrees, WorktreeError> {
        let WorktreeSetup { git, state, project, limits } = setup;
        let repository = Repository::find(&git, directory).await?;
        let registry = Registry::open(&state, &project)?;
        let views = registry.project.join(".views");
        private_view::remove_stale(&views);
        let git = git.of_repository(&repository.common_dir, views);
        Ok(Worktrees { git, repository, registry, limits })
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The branch that is checked out here: what trees start from and are merged into.
    ///
    /// # Errors
    /// If none is.
    pub async fn current_branch(&self) -> Result<String, WorktreeError> {
        self.repository.branch(&self.git).await
    }

    /// Git for calls that read or write files or merge, with today's settings of the repository.
    pub(crate) async fn safe_git(&self) -> Result<Git, WorktreeError> {
        Ok(self.git.with_settings(&self.repository.programs(&self.git).await?))
    }

    /// Takes over a tree whose owner is gone, for example to continue a session.
    ///
    /// # Errors
    /// If there is no such tree, or its owner lives.
    pub async fn adopt(&self, name: &str, owner: Owner) -> Result<Worktree, WorktreeError> {
        let lock = self.registry.lock().await?;
        let unknown = || WorktreeError::Unknown { name: name.to_owned() };
        let mut record = self
            .registry
            .read(name)?
            .filter(|record| record.stage == Stage::Ready)
            .ok_or_else(unknown)?;
        let taken = self.registry.take(&lock, name, record.process.as_ref())?;
        let in_use =
            || WorktreeError::InUse { name: name.to_owned(), owner: record.owner.to_string() };
        let file = taken.ok_or_else(in_use)?;
        check_place(&record)?;
        record.owner = owner;
        record.process = Some(ProcessMark::own());
        self.registry.write(&record)?;
        drop(lock);
        self.lock_in_git(&record).await?;
        Ok(Worktree { record, _lock: file, warnings: Vec::new(), included: Vec::new() })
    }

    /// What the tree's owner was to do is done: from now on it is merged along with all others.
    ///
    /// # Errors
    /// If that cannot be recorded.
    pub async fn mark_finished(&self, name: &str) -> Result<(), WorktreeError> {
        let _lock = self.registry.lock().await?;
        match self.registry.read(name)? {
            Some(record) => self.registry.write(&TreeRecord { is_unfinished: false, ..record }),
            None => Ok(()),
        }
    }

    /// Lets go of a tree on purpose. Its branch and files stay.
    ///
    /// # Errors
    /// If that cannot be recorded.
    pub async fn release(&self, tree: Worktree) -> Result<(), WorktreeError> {
        let lock = self.registry.lock().await?;
        let record = TreeRecord { process: None, ..tree.record.clone() };
        self.unlock_in_git(&record).await?;
        self.registry.write(&record)?;
        drop(lock);
        drop(tree);
        Ok(())
    }

    async fn lock_in_git(&self, record: &TreeRecord) -> Result<(), WorktreeError> {
        let call = self.git.at(&self.repository.top, "lock the worktree");
        let call = call.args(["worktree", "lock", "--reason", &record.lock_reason()]);
        let output = call.arg(&record.path).run().await?;
        let is_locked = output.stderr.contains("already locked");
        if output.code == 0 || is_locked { Ok(()) } else { Err(output.failure()) }
    }

    /// Only our own lock, and only if there is one.
    pub(crate) async fn unlock_in_git(&self, record: &TreeRecord) -> Result<(), WorktreeError> {
        let all = self.registrations().await?;
        let found = all.iter().find(|found| found.path == record.path);
        if !found.is_some_and(|found| found.locked.is_some() && found.foreign_lock().is_none()) {
            return Ok(());
        }
        let call = self.git.at(&self.repository.top, "unlock the worktree");
        call.args(["worktree", "unlock"]).arg(&record.path).success().await.map(drop)
    }

    pub(crate) async fn registrations(&self) -> Result<Vec<Registration>, WorktreeError> {
        let call = || {
            let call = self.git.at(&self.repository.top, "list the worktrees");
            call.args(["worktree", "list", "--porcelain", "-z"])
        };
        let mut output = call().run().await?;
        // Not a git that is busy, but one that was killed.
        if output.met_torn_registration() && self.remove_torn_registrations(None)? {
            output = call().run().await?;
        }
        let mut found: Vec<Registration> = Vec::new();
        let lines = output.success()?.stdout;
        lines.split(|byte| *byte == 0).for_each(|line| add_line(&mut found, line));
        Ok(found)
    }

    /// The commit a branch is at; none if there is no such branch.
    pub(crate) async fn tip(&self, branch: &str) -> Result<Option<ObjectId>, WorktreeError> {
        ObjectId::resolve(&self.git, &self.repository.top, &format!("refs/heads/{branch}")).await
    }

    /// Moves a ref from one commit to another, or fails. None: it must not exist, or is deleted.
    pub(crate) async fn move_ref(
        &self,
        reference: &str,
        new: Option<&ObjectId>,
        old: Option<&ObjectId>,
    ) -> Result<(), WorktreeError> {
        let length = new.or(old).map_or(40, |id| id.as_str().len());
        let zero = "0".repeat(length);
        let word = |id: Option<&ObjectId>| id.map_or(zero.clone(), |id| id.to_string());
        let call = self.git.at(&self.repository.top, "move a ref");
        let call = call.args(["update-ref", "-m", "ostler", "--no-deref", reference]);
        let output = call.args([word(new), word(old)]).run().await?;
        if output.code == 0 {
            return Ok(());
        }
        let now = ObjectId::resolve(&self.git, &self.repository.top, reference).await?;
        if now.as_ref() != old {
            return Err(WorktreeError::RefMoved { reference: reference.to_owned() });
        }
        Err(output.failure())
    }
}

fn add_line(found: &mut Vec<Registration>, line: &[u8]) {
    let after = |word: &str| line.strip_prefix(word.as_bytes());
    if let Some(path) = after("worktree ") {
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        found.push(Registration { path, ..Registration::default() });
    }
    let Some(last) = found.last_mut() else { return };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let Some(branch) = after("branch ") {
        last.branch = Some(text(branch));
    } else if let Some(reason) = after("locked") {
        last.locked = Some(text(reason.trim_ascii()));
    }
}

/// The tree is still where it was made, and still the same directory, and git still knows it.
pub(crate) fn check_place(record: &TreeRecord) -> Result<(), WorktreeError> {
    let (name, path) = (record.name.clone(), record.path.clone());
    let Ok(meta) = record.path.symlink_metadata() else {
        return Err(WorktreeError::TreeGone { name, path });
    };
    if !meta.is_dir() || record.directory.is_some_and(|id| id != (meta.dev(), meta.ino())) {
        return Err(WorktreeError::TreeReplaced { name, path });
    }
    if !record.git_dir.as_deref().is_some_and(files::exists) {
        return Err(WorktreeError::Unregistered { name, path });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_git_is_read_with_any_path_and_reason() {
        let text = "worktree /a b\0HEAD 1\0branch refs/heads/main\0\0worktree /x\ny\0HEAD 1\0detached\0locked\0\0\
            worktree /z\0HEAD 1\0branch refs/heads/ostler/z\0locked in use by Ostler, worktree z\0prunable gone\0\0";
        let mut found = Vec::new();
        text.as_bytes().split(|byte| *byte == 0).for_each(|line| add_line(&mut found, line));
        let [main, locked, ours] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (main.path.to_str().unwrap(), main.branch.as_deref()),
            ("/a b", Some("refs/heads/main"))
        );
        assert_eq!((locked.path.to_str().unwrap(), locked.foreign_lock()), ("/x\ny", Some("")));
        assert_eq!((ours.foreign_lock(), main.foreign_lock()), (None, None));
    }
}
