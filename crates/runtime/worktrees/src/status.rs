//! What is in a tree that exists nowhere else.

use crate::error::WorktreeError;
use crate::registry::TreeRecord;
use crate::worktrees::{BRANCH_PREFIX, Worktrees};
use serde::Serialize;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Names that are kept of each kind; the rest is counted.
const MOST_NAMES: usize = 20;
/// Of a file that is compared with the one it was copied from.
const MOST_COMPARED: u64 = 64 << 20;
/// Names in an ignored directory that are looked at.
const MOST_LOOKED_AT: usize = 500;

/// Names with their number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PathSample {
    pub count: u64,
    /// The first of them.
    #[serde(serialize_with = "crate::lossy_paths::all")]
    pub names: Vec<PathBuf>,
}

impl PathSample {
    fn add(&mut self, name: PathBuf) {
        self.count += 1;
        if self.names.len() < MOST_NAMES {
            self.names.push(name);
        }
    }
}

/// What would be lost with the files of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Uncommitted {
    /// Tracked files that differ from the last commit.
    pub changed: PathSample,
    /// Files that git neither tracks nor ignores.
    pub untracked: PathSample,
    /// Ignored files, such as build output, without copies of files in the main checkout.
    pub ignored: PathSample,
}

impl Uncommitted {
    /// There is something that a commit would take.
    pub fn has_changes(&self) -> bool {
        self.changed.count + self.untracked.count > 0
    }
}

impl Worktrees {
    pub(crate) async fn uncommitted(
        &self,
        record: &TreeRecord,
    ) -> Result<Uncommitted, WorktreeError> {
        let git = self.tree_git(record).await?;
        let look = self.look(&git, record).await?;
        let mut found = Uncommitted::default();
        look.changes.changed.iter().for_each(|name| found.changed.add(name.clone()));
        look.changes.new.iter().for_each(|name| found.untracked.add(name.clone()));
        look.changes.repositories.iter().for_each(|name| found.untracked.add(name.clone()));
        let call = look.on(&git, record, "look for ignored files");
        let top = &self.repository.top;
        call.args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"])
            .each(|name| {
                let name = PathBuf::from(OsString::from_vec(name.to_vec()));
                if !is_copy(&top.join(&name), &record.path.join(&name)) {
                    found.ignored.add(name);
                }
                true
            })
            .await?;
        Ok(found)
    }

    /// The commits of a branch that nothing but our own refs keeps.
    pub(crate) async fn unmerged(&self, branch: &str) -> Result<u64, WorktreeError> {
        let call = self.git.at(&self.repository.top, "look for commits that are not merged");
        let call = call.args(["rev-list", "--count", &format!("refs/heads/{branch}"), "--not"]);
        let call = call.arg(format!("--exclude={BRANCH_PREFIX}*"));
        // Refs of our own, the same on a remote, and stashes are no place that work was merged into.
        let call = call.arg("--branches").arg(format!("--exclude=*/{BRANCH_PREFIX}*"));
        let call = call.args(["--remotes", "--tags"]);
        let text = call.text().await?;
        text.trim().parse().map_err(|_| WorktreeError::Git {
            doing: "look for commits that are not merged",
            why: "git printed no number".into(),
        })
    }
}

/// The same is in the main checkout. A directory counts if every file in it does; large ones are not looked into.
fn is_copy(original: &Path, copy: &Path) -> bool {
    let mut open = vec![(original.to_path_buf(), copy.to_path_buf())];
    let mut looked_at = 0;
    while let Some((original, copy)) = open.pop() {
        looked_at += 1;
        if looked_at > MOST_LOOKED_AT {
            return false;
        }
        if !copy.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            if !is_same_file(&original, &copy) {
                return false;
            }
            continue;
        }
        let Ok(entries) = copy.read_dir() else { return false };
        let names = entries.flatten().map(|entry| entry.file_name());
        open.extend(names.map(|name| (original.join(&name), copy.join(&name))));
    }
    true
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let is_plain = |path: &Path| {
        path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_COMPARED)
    };
    let read = |path: &Path| {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).ok()?;
        file.take(MOST_COMPARED).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    is_plain(one) && is_plain(other) && read(one).is_some_and(|bytes| read(other) == Some(bytes))
}
