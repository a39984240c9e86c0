//! What there is: trees with their records, and leftovers without.

use crate::error::WorktreeError;
use crate::object_id::ObjectId;
use crate::registry::{RegistryLock, Stage, TreeRecord};
use crate::status::Uncommitted;
use crate::worktrees::{BRANCH_PREFIX, Registration, Worktrees, check_place};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeState {
    /// Its owner lives.
    InUse,
    /// Nobody works in it.
    Idle,
    /// Its owner died before anybody worked in it.
    Incomplete,
    /// Its owner died while it was removed.
    HalfRemoved,
    /// The directory was moved or deleted.
    DirectoryMissing,
    /// Something else is in its place.
    Replaced,
    /// Git no longer knows it.
    Unregistered,
    /// A branch `ostler/…` without a record.
    BranchOnly,
    /// A directory among the trees without a record.
    DirectoryOnly,
}

/// A tree or a leftover.
#[derive(Debug, Clone, Serialize)]
pub struct TreeEntry {
    pub name: String,
    pub state: TreeState,
    #[serde(serialize_with = "crate::lossy_paths::one")]
    pub path: PathBuf,
    /// The commit of its branch; none if it has no branch.
    pub tip: Option<ObjectId>,
    /// Commits that are on no other branch, remote branch or tag.
    pub unmerged: u64,
    /// None: it cannot be said, or there is no directory.
    pub uncommitted: Option<Uncommitted>,
    /// The reason of a lock that somebody else set.
    pub locked: Option<String>,
    pub record: Option<TreeRecord>,
}

impl TreeEntry {
    /// Without `refs/heads/`.
    pub fn branch(&self) -> String {
        format!("{BRANCH_PREFIX}{}", self.name)
    }
}

impl Worktrees {
    /// Everything below the project's directory and every branch `ostler/…`.
    ///
    /// # Errors
    /// If a record cannot be read, or git fails.
    pub async fn list(&self) -> Result<Vec<TreeEntry>, WorktreeError> {
        let (records, states) = {
            let lock = self.registry.lock().await?;
            let records = self.registry.all()?;
            let states: Result<Vec<TreeState>, WorktreeError> =
                records.iter().map(|record| self.state(&lock, record)).collect();
            (records, states?)
        };
        let known = self.registrations().await?;
        let mut found = Vec::new();
        for (record, state) in records.into_iter().zip(states) {
            found.push(self.entry(record, state, &known).await?);
        }
        let has_record =
            |found: &[TreeEntry], name: &str| found.iter().any(|entry| entry.name == name);
        for name in self.registry.directories()? {
            if !has_record(&found, &name) {
                found.push(self.leftover(name, TreeState::DirectoryOnly, &known).await?);
            }
        }
        for name in self.our_branches().await? {
            if !has_record(&found, &name) {
                found.push(self.leftover(name, TreeState::BranchOnly, &known).await?);
            }
        }
        Ok(found)
    }

    /// One of them.
    ///
    /// # Errors
    /// If there is no tree, branch or directory with this name.
    pub async fn find(&self, name: &str) -> Result<TreeEntry, WorktreeError> {
        let name = name.strip_prefix(BRANCH_PREFIX).unwrap_or(name);
        let found = self.list().await?.into_iter().find(|entry| entry.name == name);
        found.ok_or_else(|| WorktreeError::Unknown { name: name.to_owned() })
    }

    pub(crate) fn state(
        &self,
        lock: &RegistryLock,
        record: &TreeRecord,
    ) -> Result<TreeState, WorktreeError> {
        if self.registry.is_owned(lock, record)? {
            return Ok(TreeState::InUse);
        }
        Ok(match record.stage {
            Stage::Creating => TreeState::Incomplete,
            Stage::Removing => TreeState::HalfRemoved,
            Stage::Ready => match check_place(record) {
                Ok(()) => TreeState::Idle,
                Err(WorktreeError::TreeReplaced { .. }) => TreeState::Replaced,
                Err(WorktreeError::Unregistered { .. }) => TreeState::Unregistered,
                Err(_) => TreeState::DirectoryMissing,
            },
        })
    }

    async fn entry(
        &self,
        record: TreeRecord,
        state: TreeState,
        known: &[Registration],
    ) -> Result<TreeEntry, WorktreeError> {
        let mut entry = self.leftover(record.name.clone(), state, known).await?;
        let has_files =
            matches!(state, TreeState::InUse | TreeState::Idle) && check_place(&record).is_ok();
        if has_files && record.stage == Stage::Ready {
            // Without an answer nothing is deleted, so that is no reason to show no list at all.
            entry.uncommitted = self.uncommitted(&record).await.ok();
        }
        entry.record = Some(record);
        Ok(entry)
    }

    async fn leftover(
        &self,
        name: String,
        state: TreeState,
        known: &[Registration],
    ) -> Result<TreeEntry, WorktreeError> {
        let path = self.registry.tree_path(&name);
        let branch = format!("{BRANCH_PREFIX}{name}");
        let tip = self.tip(&branch).await?;
        let unmerged = if tip.is_some() { self.unmerged(&branch).await? } else { 0 };
        let registered = known.iter().find(|found| found.path == path);
        let locked = registered.and_then(|found| found.foreign_lock()).map(str::to_owned);
        Ok(TreeEntry { name, state, path, tip, unmerged, uncommitted: None, locked, record: None })
    }

    async fn our_branches(&self) -> Result<Vec<String>, WorktreeError> {
        let call = self.git.at(&self.repository.top, "list the branches");
        let pattern = format!("refs/heads/{BRANCH_PREFIX}");
        let text = call.args(["for-each-ref", "--format=%(refname)", &pattern]).text().await?;
        let names = text.lines().filter_map(|line| line.strip_prefix(&pattern));
        Ok(names.map(str::to_owned).collect())
    }
}
