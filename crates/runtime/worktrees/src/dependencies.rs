//! Where a tree starts that needs the work of others which is not merged yet.

use crate::commit::Author;
use crate::error::WorktreeError;
use crate::object_id::ObjectId;
use crate::overlap::TrialMerge;
use crate::registry::TreeRecord;
use crate::worktrees::{BRANCH_PREFIX, Worktrees};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of a file that are searched for conflict markers.
const MOST_SEARCHED: u64 = 64 << 20;

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

    /// # Errors
    /// If git fails.
    pub async fn has_commit(&self, commit: &ObjectId) -> Result<bool, WorktreeError> {
        let found = ObjectId::resolve(&self.git, &self.repository.top, &commit.to_string()).await?;
        Ok(found.is_some())
    }

    /// Merges branches on top of each other in memory: only objects are written, and no ref is moved. What the commit has
    /// already is left out. Without a commit, the one that is checked out here. Instead of a branch, a whole commit id can be
    /// named.
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
            let name = reference(branch);
            let Some(tip) = ObjectId::resolve(&self.git, &self.repository.top, &name).await? else {
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

    /// A merge of a branch that conflicts, for whoever resolves it: a commit with both histories, in whose files the
    /// conflicts are marked. Only objects are written. None: they do not conflict, have no history in common, or there is no
    /// such branch. Without a commit, the one that is checked out here.
    ///
    /// # Errors
    /// If git fails.
    pub async fn start_in_conflict(
        &self,
        commit: Option<ObjectId>,
        branch: &str,
        author: &Author,
    ) -> Result<Option<(ObjectId, Vec<PathBuf>)>, WorktreeError> {
        let at = match commit {
            Some(commit) => commit,
            None => self.repository.start_point(&self.git).await?.commit,
        };
        let name = reference(branch);
        let tip = ObjectId::resolve(&self.git, &self.repository.top, &name).await?;
        let Some(tip) = tip else { return Ok(None) };
        let git = self.safe_git().await?;
        let merged = self.merged_tree(&git, &at, &tip).await?;
        let Some(merged) = merged.filter(|merged| !merged.conflicts.is_empty()) else {
            return Ok(None);
        };
        let message = format!("Merge branch '{branch}', with its conflicts marked\n");
        let commit = self.write_commit(&git, &merged.tree, &[at, tip], &message, author).await?;
        Ok(Some((commit, merged.conflicts)))
    }

    /// Those of the files in which conflicts are still marked. What is no regular file has none.
    pub fn still_marked(&self, record: &TreeRecord, files: &[PathBuf]) -> Vec<PathBuf> {
        files.iter().filter(|file| is_marked(&record.path.join(file))).cloned().collect()
    }
}

fn reference(branch: &str) -> String {
    match branch.starts_with("refs/") || ObjectId::parse(branch).is_some() {
        true => branch.to_owned(),
        false => format!("refs/heads/{branch}"),
    }
}

/// A file that cannot be read counts as marked: nobody knows.
fn is_marked(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() => {}
        Ok(_) => return false,
        Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
    }
    // A link that took its place in the meantime is not followed.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return true };
    let file = File::from(file);
    let (mut begins, mut ends) = (false, false);
    for line in BufReader::new(file.take(MOST_SEARCHED)).split(b'\n') {
        let Ok(line) = line else { return true };
        begins |= line.starts_with(b"<<<<<<< ");
        ends |= begins && line.starts_with(b">>>>>>> ");
    }
    begins && ends
}
