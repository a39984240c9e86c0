//! The worktree in which merged files are checked. No branch is checked out in it.

use crate::error::WorktreeError;
use crate::files;
use crate::git::Git;
use crate::git_settings::ProgramSettings;
use crate::object_id::ObjectId;
use crate::registry::{LOCK_WORDS, run_blocking};
use crate::repository::{LOOK, count_changes};
use crate::worktrees::Worktrees;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(super) const FOLDER: &str = ".queue";
const LOCK: &str = "lock";

/// Held by one process at a time for each target.
pub(super) struct QueueTree {
    pub(super) path: PathBuf,
    pub(super) journal: PathBuf,
    _lock: File,
}

impl QueueTree {
    pub fn open(trees: &Worktrees, target: &str) -> Result<QueueTree, WorktreeError> {
        let folder = trees.registry.project.join(FOLDER);
        files::make_private_directory(&folder)?;
        let name = file_name(target);
        let taken = QueueTree::at(&folder, &name)?;
        taken.ok_or_else(|| WorktreeError::QueueBusy { target: target.to_owned() })
    }

    /// None: another process has it.
    pub(super) fn at(folder: &Path, name: &str) -> Result<Option<QueueTree>, WorktreeError> {
        let lock = folder.join(format!("{name}.{LOCK}"));
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock);
        let file = file.map_err(WorktreeError::io("open", &lock))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(WorktreeError::io("lock", &lock)(error)),
        }
        let journal = folder.join(format!("{name}.json"));
        Ok(Some(QueueTree { path: folder.join(name), journal, _lock: file }))
    }

    /// Brings the files to a commit. Ignored files stay, so that builds are quick.
    pub async fn check_out(
        &self,
        trees: &Worktrees,
        git: &Git,
        commit: &ObjectId,
    ) -> Result<PathBuf, WorktreeError> {
        if let Some(git_dir) = self.git_dir(trees)
            && self.move_to(trees, &git_dir, commit).await.is_ok()
        {
            return Ok(self.path.clone());
        }
        self.remove(trees).await?;
        let call = git.at(&trees.repository.top, "create the worktree of the merge queue").slow();
        let reason = format!("{LOCK_WORDS}of the merge queue");
        let call = call.args(["worktree", "add", "--quiet", "--no-checkout", "--detach"]);
        let call = call.args(["--lock", "--reason", &reason]);
        call.arg(&self.path).arg(commit.as_str()).success().await?;
        let unknown = || WorktreeError::NotARepository(self.path.clone());
        let git_dir = self.git_dir(trees).ok_or_else(unknown)?;
        self.move_to(trees, &git_dir, commit).await?;
        Ok(self.path.clone())
    }

    async fn move_to(
        &self,
        trees: &Worktrees,
        git_dir: &Path,
        commit: &ObjectId,
    ) -> Result<(), WorktreeError> {
        let settings = trees.git.on_tree(git_dir, &self.path, "read the settings of git");
        let git = trees.git.with_settings(&ProgramSettings::read(settings).await?);
        // Nobody but us uses this index, and we are the only one of us: the process that locked it was killed.
        files::remove_file(&git_dir.join("index.lock"))?;
        let on = || git.on_tree(git_dir, &self.path, "bring the merge queue to a commit");
        on().args(["checkout", "--quiet", "--force", "--detach", commit.as_str()])
            .success()
            .await?;
        on().args(["clean", "-ffdq"]).success().await?;
        // Git has written that into a view of our own, if there is one.
        let call = git.at(&trees.repository.top, "bring the merge queue to a commit");
        let call = call.variable("GIT_DIR", git_dir);
        call.args(["update-ref", "--no-deref", "HEAD", commit.as_str()]).success().await?;
        let (changed, new) =
            count_changes(git.on_tree(git_dir, &self.path, LOOK), "normal").await?;
        let why = format!("{} files differ", changed + new);
        let wrong = WorktreeError::Git { doing: "bring the merge queue to a commit", why };
        if changed + new > 0 { Err(wrong) } else { Ok(()) }
    }

    /// Git's directory for this worktree; none if the two do not belong together any more.
    fn git_dir(&self, trees: &Worktrees) -> Option<PathBuf> {
        let text = files::read_text(&self.path.join(".git"), 4 << 10).ok().flatten()?;
        let named = PathBuf::from(text.strip_prefix("gitdir: ")?.trim_end_matches('\n'));
        let all = trees.repository.common_dir.join("worktrees").read_dir().ok()?;
        let mut all = all.flatten().map(|entry| entry.path());
        all.find(|git_dir| {
            let back = files::read_text(&git_dir.join("gitdir"), 4 << 10).ok().flatten();
            let is_ours = back.is_some_and(|back| {
                Path::new(back.trim_end_matches('\n')) == self.path.join(".git")
            });
            is_ours && *git_dir == named
        })
    }

    pub async fn remove(&self, trees: &Worktrees) -> Result<(), WorktreeError> {
        let path = self.path.clone();
        run_blocking(move || files::remove_directory(&path)).await?;
        let known = trees.registrations().await?;
        if known.iter().any(|found| found.path == self.path) {
            let call =
                trees.git.at(&trees.repository.top, "remove the worktree of the merge queue");
            call.args(["worktree", "remove", "--force", "--force"])
                .arg(&self.path)
                .success()
                .await?;
        }
        Ok(())
    }
}

impl Worktrees {
    /// Removes the worktrees of queues that no process uses. Those of interrupted merges keep their journal.
    pub(crate) async fn remove_idle_queues(&self) -> Result<(), WorktreeError> {
        let folder = self.registry.project.join(FOLDER);
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter_map(|name| name.strip_suffix(".lock").map(str::to_owned)) {
            if let Some(tree) = QueueTree::at(&folder, &name)? {
                tree.remove(self).await?;
            }
        }
        Ok(())
    }
}

/// Names of branches have slashes.
fn file_name(target: &str) -> String {
    let mut name = String::new();
    for byte in target.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    name
}
