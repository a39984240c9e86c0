//! Where a tree starts that needs the work of others which is not merged yet.

use crate::commit::Author;
use crate::error::WorktreeError;
use crate::object_id::ObjectId;
use crate::overlap::TrialMerge;
use crate::worktrees::{BRANCH_PREFIX, Worktrees};
use std::path::PathBuf;

/// A commit that has everything, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    At(ObjectId),
    Conflict {
        branch: String,
        /// Empty if they have no history in common.
        files: Vec<PathBuf>,
    },
}

impl Worktrees {
    /// Branches of ours whose name is this one or begins with it and `-`; without `refs/heads/`.
    ///
    /// # Errors
    /// If git cannot list them.
    pub async fn branches_named(&self, name: &str) -> Result<Vec<String>, WorktreeError> {
        let whole = format!("{BRANCH_PREFIX}{name}");
        let call = self.git.at(&self.repository.top, "list the branches");
        let call = call.args(["for-each-ref", "--format=%(refname:lstrip=2)"]);
        let text = call.arg(format!("refs/heads/{whole}*")).text().await?;
        let rest = |branch: &str| branch.strip_prefix(&whole).map(str::to_owned);
        let fits =
            |branch: &&str| rest(branch).is_some_and(|it| it.is_empty() || it.starts_with('-'));
        Ok(text.lines().filter(fits).map(str::to_owned).collect())
    }

    /// Merges branches on top of each other in memory: only objects are written, and no ref is moved. What the commit has
    /// already is left out. Without a commit, the one that is checked out here.
    ///
    /// # Errors
    /// If git fails. A branch that does not exist has nothing to add.
    pub async fn start_with(
        &self,
        commit: Option<ObjectId>,
        branches: &[String],
        author: &Author,
    ) -> Result<Start, WorktreeError> {
        let mut at = match commit {
            Some(commit) => commit,
            None => self.repository.start_point(&self.git).await?.commit,
        };
        let git = self.safe_git().await?;
        for branch in branches {
            let name =
                if branch.starts_with("refs/") { branch } else { &format!("refs/heads/{branch}") };
            let Some(tip) = ObjectId::resolve(&self.git, &self.repository.top, name).await? else {
                continue;
            };
            if self.is_ancestor(&tip, &at).await? {
                continue;
            }
            if self.is_ancestor(&at, &tip).await? {
                at = tip;
                continue;
            }
            let conflict = |files| Ok(Start::Conflict { branch: branch.clone(), files });
            let tree = match self.trial_merge(&git, &at, &tip).await? {
                TrialMerge::Clean { tree } => tree,
                TrialMerge::Conflict { files } => return conflict(files),
                TrialMerge::Unrelated => return conflict(Vec::new()),
            };
            let message = format!("Merge branch '{branch}', which this work depends on\n");
            at = self.write_commit(&git, &tree, &[at, tip], &message, author).await?;
        }
        Ok(Start::At(at))
    }
}
