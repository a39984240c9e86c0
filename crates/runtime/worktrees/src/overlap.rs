//! Which branches change the same places, and whether git could merge them. Nothing is changed to find out.

use crate::error::WorktreeError;
use crate::git::Git;
use crate::object_id::ObjectId;
use crate::registry::Stage;
use crate::worktrees::Worktrees;
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Files of a pair whose lines are compared; for more of them, only the names are reported.
const MOST_FILES: usize = 100;

/// What a trial merge of two commits gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TrialMerge {
    Clean {
        tree: ObjectId,
    },
    Conflict {
        #[serde(serialize_with = "crate::lossy_paths::all")]
        files: Vec<PathBuf>,
    },
    /// They have no commit in common.
    Unrelated,
}

/// What git makes of two commits.
pub(crate) struct MergedTree {
    pub tree: ObjectId,
    /// These files have conflict markers in the tree, or the version of one side.
    pub conflicts: Vec<PathBuf>,
}

/// Lines of the common ancestor, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LineRange {
    pub first: u64,
    pub last: u64,
}

/// A file that both branches change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedFile {
    #[serde(serialize_with = "crate::lossy_paths::one")]
    pub path: PathBuf,
    /// The lines that both change; empty if they change different places, or if it is not a text file.
    pub lines: Vec<LineRange>,
}

/// Two branches that change the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overlap {
    pub one: String,
    pub other: String,
    pub files: Vec<SharedFile>,
    pub merge: TrialMerge,
}

impl Worktrees {
    /// Looks at every pair of trees, with what is not committed in them yet. Pairs that share no file are left out.
    ///
    /// # Errors
    /// If there is no such tree, or git fails.
    pub async fn overlaps(&self, names: &[String]) -> Result<Vec<Overlap>, WorktreeError> {
        let mut newest = Vec::new();
        for name in names {
            let entry = self.find(name).await?;
            newest.push((entry.name.clone(), self.newest(&entry).await?));
        }
        self.overlaps_at(&newest).await
    }

    /// The same for commits with names, such as those of branches of other hosts.
    ///
    /// # Errors
    /// If git fails.
    pub async fn overlaps_at(
        &self,
        commits: &[(String, ObjectId)],
    ) -> Result<Vec<Overlap>, WorktreeError> {
        let mut found = Vec::new();
        for (at, one) in commits.iter().enumerate() {
            for other in commits.iter().skip(at + 1) {
                found.extend(self.overlap(one, other).await?);
            }
        }
        Ok(found)
    }

    /// Those of the trees that git cannot merge into the branch, as if each were the first.
    ///
    /// # Errors
    /// If there is no such tree or branch, or git fails.
    pub async fn conflicts_with(
        &self,
        branch: &str,
        names: &[String],
    ) -> Result<Vec<Overlap>, WorktreeError> {
        let mut newest = Vec::new();
        for name in names {
            let entry = self.find(name).await?;
            newest.push((entry.name.clone(), self.newest(&entry).await?));
        }
        self.conflicts_at(branch, &newest).await
    }

    /// The same for commits with names.
    ///
    /// # Errors
    /// If there is no such branch, or git fails.
    pub async fn conflicts_at(
        &self,
        branch: &str,
        commits: &[(String, ObjectId)],
    ) -> Result<Vec<Overlap>, WorktreeError> {
        let tip = self.tip(branch).await?;
        let tip = tip.ok_or_else(|| WorktreeError::NoBranch(branch.to_owned()))?;
        let target = (branch.to_owned(), tip);
        let mut found = Vec::new();
        for commit in commits {
            found.extend(self.overlap(commit, &target).await?);
        }
        found.retain(|overlap| !matches!(overlap.merge, TrialMerge::Clean { .. }));
        Ok(found)
    }

    /// Compares a tree with those that others work in at this moment, the newest of them. A tree that goes meanwhile is left
    /// out.
    ///
    /// # Errors
    /// If there is no such tree, or git fails.
    pub async fn overlaps_with_live(
        &self,
        name: &str,
        most: usize,
    ) -> Result<Vec<Overlap>, WorktreeError> {
        let mut live = Vec::new();
        {
            let lock = self.registry.lock().await?;
            for record in self.registry.all()?.into_iter().rev() {
                let is_other = record.name != name && record.stage == Stage::Ready;
                if is_other && live.len() < most && self.registry.is_owned(&lock, &record)? {
                    live.push(record);
                }
            }
        }
        if live.is_empty() {
            return Ok(Vec::new());
        }
        let unknown = || WorktreeError::Unknown { name: name.to_owned() };
        let own = self.registry.read(name)?.ok_or_else(unknown)?;
        let own = (own.name.clone(), self.draft(&own).await?);
        let mut found = Vec::new();
        for record in live {
            let Ok(at) = self.draft(&record).await else { continue };
            found.extend(self.overlap(&own, &(record.name, at)).await?);
        }
        Ok(found)
    }

    async fn overlap(
        &self,
        (one, one_at): &(String, ObjectId),
        (other, other_at): &(String, ObjectId),
    ) -> Result<Option<Overlap>, WorktreeError> {
        let git = self.safe_git().await?;
        let merge = self.trial_merge(&git, one_at, other_at).await?;
        let (one, other) = (one.clone(), other.clone());
        let Some(base) = self.merge_base(one_at, other_at).await? else {
            return Ok(Some(Overlap { one, other, files: Vec::new(), merge }));
        };
        let mine = self.changed_files(&base, one_at).await?;
        let theirs = self.changed_files(&base, other_at).await?;
        let shared = mine.into_iter().map(|file| file.path);
        let shared = shared.filter(|path| theirs.iter().any(|file| file.path == *path));
        let mut files = Vec::new();
        for (number, path) in shared.enumerate() {
            let lines = match number < MOST_FILES {
                true => shared_lines(
                    &self.hunks(&base, one_at, &path).await?,
                    &self.hunks(&base, other_at, &path).await?,
                ),
                false => Vec::new(),
            };
            files.push(SharedFile { path, lines });
        }
        let is_nothing = files.is_empty() && matches!(merge, TrialMerge::Clean { .. });
        Ok((!is_nothing).then_some(Overlap { one, other, files, merge }))
    }

    /// Merges in memory: only objects are written.
    pub(crate) async fn trial_merge(
        &self,
        git: &Git,
        one: &ObjectId,
        other: &ObjectId,
    ) -> Result<TrialMerge, WorktreeError> {
        Ok(match self.merged_tree(git, one, other).await? {
            None => TrialMerge::Unrelated,
            Some(MergedTree { tree, conflicts }) if conflicts.is_empty() => {
                TrialMerge::Clean { tree }
            }
            Some(MergedTree { conflicts, .. }) => TrialMerge::Conflict { files: conflicts },
        })
    }

    /// None if they have no commit in common.
    pub(crate) async fn merged_tree(
        &self,
        git: &Git,
        one: &ObjectId,
        other: &ObjectId,
    ) -> Result<Option<MergedTree>, WorktreeError> {
        let doing = "try a merge";
        let call = git.on_tree(&self.repository.git_dir, &self.repository.top, doing);
        let call = call.args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        let output = call.args([one.as_str(), other.as_str()]).run().await?;
        let mut parts = output.stdout.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        match output.code {
            0 | 1 => {}
            _ if output.stderr.contains("unrelated histories") => return Ok(None),
            _ => return Err(output.failure()),
        }
        let tree =
            ObjectId::printed(&String::from_utf8_lossy(parts.next().unwrap_or_default()), doing)?;
        if output.code == 0 {
            return Ok(Some(MergedTree { tree, conflicts: Vec::new() }));
        }
        let mut conflicts: Vec<PathBuf> =
            parts.map(|name| PathBuf::from(OsString::from_vec(name.to_vec()))).collect();
        conflicts.sort();
        conflicts.dedup();
        Ok(Some(MergedTree { tree, conflicts }))
    }

    /// The lines of the old version that a file's changes touch.
    async fn hunks(
        &self,
        from: &ObjectId,
        to: &ObjectId,
        path: &Path,
    ) -> Result<Vec<LineRange>, WorktreeError> {
        let call = self.git.at(&self.repository.top, "compare two versions of a file");
        let call = call.variable("GIT_LITERAL_PATHSPECS", "1");
        let call = call.args([
            "diff-tree",
            "-r",
            "-p",
            "-U0",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        ]);
        let output = call.args([from.as_str(), to.as_str(), "--"]).arg(path).success().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(hunk).collect())
    }
}

/// `@@ -7,2 +7,3 @@` touches lines 7 and 8; an insertion after line 7 (`-7,0`) touches the place between 7 and 8.
fn hunk(line: &str) -> Option<LineRange> {
    let old = line.strip_prefix("@@ -")?.split(' ').next()?;
    let (first, count) = old.split_once(',').unwrap_or((old, "1"));
    let (first, count): (u64, u64) = (first.parse().ok()?, count.parse().ok()?);
    let last = if count == 0 { first + 1 } else { first + count - 1 };
    Some(LineRange { first, last })
}

fn shared_lines(mine: &[LineRange], theirs: &[LineRange]) -> Vec<LineRange> {
    let both = |one: &LineRange, other: &LineRange| {
        let (first, last) = (one.first.max(other.first), one.last.min(other.last));
        (first <= last).then_some(LineRange { first, last })
    };
    mine.iter().flat_map(|one| theirs.iter().filter_map(move |other| both(one, other))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shared_if_both_change_them_or_insert_there() {
        let ranges = |text: &str| -> Vec<LineRange> { text.lines().filter_map(hunk).collect() };
        let check = |one: &str, other: &str, expected: &[(u64, u64)]| {
            let found = shared_lines(&ranges(one), &ranges(other));
            let found: Vec<(u64, u64)> =
                found.iter().map(|range| (range.first, range.last)).collect();
            assert_eq!(found, expected, "{one} {other}");
        };
        check("@@ -3,4 +3 @@", "@@ -5,9 +4,2 @@", &[(5, 6)]);
        check("@@ -3 +3 @@ fn x()", "@@ -4 +4 @@", &[]);
        check("@@ -7,0 +8,2 @@", "@@ -7,0 +8 @@", &[(7, 8)]);
        check("@@ -7,0 +8,2 @@", "@@ -8 +8 @@", &[(8, 8)]);
        check("@@ -0,0 +1,2 @@", "@@ -0,0 +1,9 @@", &[(0, 1)]);
        check("+@@ -1 +1 @@", "@@ -1 +1 @@", &[]);
    }
}
