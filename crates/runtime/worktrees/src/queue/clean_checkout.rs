//! A commit as it is, with nothing of whoever made it: for a check that must see what was committed and nothing else.

use super::queue_tree::{FOLDER, QueueTree};
use crate::error::WorktreeError;
use crate::files;
use crate::include;
use crate::object_id::ObjectId;
use crate::repository::TreeWarning;
use crate::worktrees::Worktrees;
use std::path::Path;

/// More than anybody checks at the same time.
const MOST: usize = 1_000;

/// Made for one check, and to be removed after it; what a killed process leaves goes with the next prune.
pub struct CleanCheckout {
    tree: QueueTree,
    /// What could not be copied.
    pub warnings: Vec<TreeWarning>,
}

impl CleanCheckout {
    pub fn path(&self) -> &Path {
        &self.tree.path
    }

    /// # Errors
    /// If something of it cannot be removed.
    pub async fn remove(self, trees: &Worktrees) -> Result<(), WorktreeError> {
        self.tree.remove(trees).await
    }
}

impl Worktrees {
    /// Checks out a commit of a branch of ours; without a commit, what the branch is at. `include`: the content of
    /// `.worktreeinclude`, if the caller trusts it.
    ///
    /// # Errors
    /// If there is no such branch, or the files cannot be checked out as they are stored.
    pub async fn check_out(
        &self,
        branch: &str,
        commit: Option<&str>,
        include: Option<&str>,
    ) -> Result<CleanCheckout, WorktreeError> {
        let commit = match commit {
            Some(commit) => ObjectId::printed(commit, "read the name of a commit")?,
            None => {
                let missing = || WorktreeError::NoBranch(branch.to_owned());
                self.tip(branch).await?.ok_or_else(missing)?
            }
        };
        let folder = self.registry.project.join(FOLDER);
        files::make_private_directory(&folder)?;
        let mut free = None;
        for number in 0..MOST {
            free = QueueTree::at(&folder, &format!("check-{number}"))?;
            if free.is_some() {
                break;
            }
        }
        let busy = || WorktreeError::QueueBusy { target: "check".to_owned() };
        let tree = free.ok_or_else(busy)?;
        tree.remove(self).await?;
        let git = self.safe_git().await?;
        let path = tree.check_out(self, &git, &commit).await?;
        let mut warnings = Vec::new();
        if let Some(patterns) = include {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            warnings = include::copy(self, &git, (&name, &path), patterns).await?.warnings;
        }
        Ok(CleanCheckout { tree, warnings })
    }
}
