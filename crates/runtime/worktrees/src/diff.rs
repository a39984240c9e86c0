//! What a tree changes, committed or not.

use crate::error::WorktreeError;
use crate::git::Git;
use crate::list::TreeEntry;
use crate::object_id::ObjectId;
use crate::worktrees::Worktrees;
use serde::Serialize;
use std::path::PathBuf;

/// A file that differs from where the branch began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    #[serde(serialize_with = "crate::lossy_paths::one")]
    pub path: PathBuf,
    /// None for files that are not text.
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

/// The changes of a tree since its branch began.
#[derive(Debug, Clone, Serialize)]
pub struct TreeDiff {
    pub name: String,
    /// The last commit that the branch has in common with the branch it is to be merged into.
    pub from: ObjectId,
    /// The content: the branch's commit, or one that no branch names if there is more.
    pub to: ObjectId,
    pub files: Vec<ChangedFile>,
}

impl Worktrees {
    /// # Errors
    /// If there is no such tree or branch.
    pub async fn diff(&self, name: &str) -> Result<TreeDiff, WorktreeError> {
        let entry = self.find(name).await?;
        let to = self.newest(&entry).await?;
        let target = match &entry.record {
            Some(record) => record.base_branch.clone(),
            None => self.current_branch().await?,
        };
        let base = self.tip(&target).await?;
        let base = base.or_else(|| entry.record.as_ref().map(|record| record.base.clone()));
        let base = base.ok_or(WorktreeError::NoBranch(target))?;
        let from = self.merge_base(&base, &to).await?.unwrap_or(base);
        let files = self.changed_files(&from, &to).await?;
        Ok(TreeDiff { name: entry.name, from, to, files })
    }

    /// The diff as git prints it. No program of the repository formats it.
    ///
    /// # Errors
    /// If it is too long.
    pub async fn diff_text(&self, diff: &TreeDiff) -> Result<Vec<u8>, WorktreeError> {
        let call = self.git.at(&self.repository.top, "compare two commits").slow();
        let call = call.args(["diff", "--no-ext-diff", "--no-textconv", "--no-color"]);
        Ok(call.args([diff.from.as_str(), diff.to.as_str()]).success().await?.stdout)
    }

    /// The content of a tree if it can be read, else the commit of its branch.
    pub(crate) async fn newest(&self, entry: &TreeEntry) -> Result<ObjectId, WorktreeError> {
        let has_changes = entry.uncommitted.as_ref().is_some_and(|found| found.has_changes());
        if let Some(record) = entry.record.as_ref().filter(|_| has_changes) {
            return self.draft(record).await;
        }
        entry.tip.clone().ok_or_else(|| WorktreeError::NoBranch(entry.branch()))
    }

    pub(crate) async fn merge_base(
        &self,
        one: &ObjectId,
        other: &ObjectId,
    ) -> Result<Option<ObjectId>, WorktreeError> {
        let call = self.git.at(&self.repository.top, "look for the common ancestor");
        let output = call.args(["merge-base", one.as_str(), other.as_str()]).run().await?;
        if output.code > 1 {
            return Err(output.failure());
        }
        Ok(ObjectId::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    pub(crate) async fn changed_files(
        &self,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<Vec<ChangedFile>, WorktreeError> {
        changed_files(&self.git, &self.repository.top, from, to).await
    }
}

async fn changed_files(
    git: &Git,
    top: &std::path::Path,
    from: &ObjectId,
    to: &ObjectId,
) -> Result<Vec<ChangedFile>, WorktreeError> {
    let mut files = Vec::new();
    let call = git.at(top, "compare two commits").slow();
    let call = call.args(["diff-tree", "-r", "-z", "--no-renames", "--numstat"]);
    call.args([from.as_str(), to.as_str()])
        .each(|line| {
            files.extend(changed_file(line));
            true
        })
        .await?;
    Ok(files)
}

fn changed_file(line: &[u8]) -> Option<ChangedFile> {
    use std::os::unix::ffi::OsStringExt;
    let mut parts = line.splitn(3, |byte| *byte == b'\t');
    let mut number = || Some(String::from_utf8_lossy(parts.next()?).parse().ok());
    let (added, removed) = (number()?, number()?);
    let path = std::ffi::OsString::from_vec(parts.next()?.to_vec()).into();
    Some(ChangedFile { path, added, removed })
}
