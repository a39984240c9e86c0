//! What commands of an agent may touch, in the words of the sandbox.

use crate::error::WorktreeError;
use crate::registry::TreeRecord;
use crate::worktrees::Worktrees;
use ostler_exec::Sandbox;
use std::path::{Path, PathBuf};

/// Everything that is not named here is as it is for other commands. The most specific path decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeAccess {
    /// The tree, and nothing else.
    pub writable: Vec<PathBuf>,
    /// The repository that all worktrees share, the main checkout, and every other worktree.
    pub readable: Vec<PathBuf>,
    /// The file that says where the repository of the tree is. Only bubblewrap enforces this; the harness does not read
    /// the file when it commits.
    pub frozen: Vec<PathBuf>,
}

impl TreeAccess {
    /// Narrows a sandbox to this: other paths inside the repository that it lets be written become readable.
    pub fn apply(&self, sandbox: &mut Sandbox) {
        let is_ours = |path: &PathBuf| {
            self.readable.iter().any(|only| path.starts_with(only) || only.starts_with(path))
        };
        sandbox.writable.retain(|path| !is_ours(path) && !self.writable.contains(path));
        sandbox.writable.extend(self.writable.iter().cloned());
        // What is read-only anyway needs no mount of its own.
        let is_inside =
            |path: &PathBuf, lists: &[PathBuf]| lists.iter().any(|list| path.starts_with(list));
        sandbox
            .frozen
            .retain(|path| !is_inside(path, &self.readable) || is_inside(path, &self.writable));
        for (list, more) in
            [(&mut sandbox.readable, &self.readable), (&mut sandbox.frozen, &self.frozen)]
        {
            list.retain(|path| !more.contains(path));
            list.extend(more.iter().cloned());
        }
    }
}

impl Worktrees {
    /// # Errors
    /// If git cannot say which other worktrees there are.
    pub async fn access(&self, record: &TreeRecord) -> Result<TreeAccess, WorktreeError> {
        self.access_of(&record.path).await
    }

    /// The same for any worktree of the repository, such as that of a merge queue.
    ///
    /// # Errors
    /// If git cannot say which other worktrees there are.
    pub async fn access_of(&self, tree: &Path) -> Result<TreeAccess, WorktreeError> {
        let mut readable = vec![self.repository.common_dir.clone(), self.repository.top.clone()];
        let others = self.registrations().await?.into_iter().map(|found| found.path);
        readable.extend(others.filter_map(|path| path.canonicalize().ok()));
        readable.retain(|path| path != tree);
        readable.sort();
        readable.dedup();
        Ok(TreeAccess {
            writable: vec![tree.to_path_buf()],
            readable,
            frozen: vec![tree.join(".git")],
        })
    }
}
