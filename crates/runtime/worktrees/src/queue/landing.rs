//! Moving the target. If it is checked out somewhere, the files there move with it, or nothing moves.

use super::MergeQueue;
use crate::error::WorktreeError;
use crate::files;
use crate::git::{Backoff, Git};
use crate::git_settings::ProgramSettings;
use crate::object_id::ObjectId;
use crate::repository::{LOOK, count_changes, operation_in_progress};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const MOST_JOURNAL: u64 = 64 << 10;

pub(super) enum Landed {
    Done {
        checkout: Option<PathBuf>,
    },
    /// Somebody else moved the target; nothing happened.
    TargetMoved,
    /// The checkout must stay as it is, and so must the target: otherwise its files would look like a reversal of what
    /// was merged.
    Held {
        why: String,
    },
}

/// Written before files of a checkout are changed.
#[derive(Debug, Serialize, Deserialize)]
struct LandingJournal {
    checkout: PathBuf,
    old: ObjectId,
    new: ObjectId,
}

impl MergeQueue<'_> {
    pub(super) async fn move_target(
        &self,
        old: &ObjectId,
        new: &ObjectId,
    ) -> Result<Landed, WorktreeError> {
        let reference = self.reference();
        let known = self.trees.registrations().await?;
        let checkout = known.into_iter().find(|found| found.branch.as_deref() == Some(&*reference));
        if let Some(checkout) = checkout.filter(|checkout| checkout.path.is_dir()) {
            return self.update_checkout(&checkout.path, old, new).await;
        }
        match self.trees.move_ref(&reference, Some(new), Some(old)).await {
            Ok(()) => Ok(Landed::Done { checkout: None }),
            Err(WorktreeError::RefMoved { .. }) => Ok(Landed::TargetMoved),
            Err(error) => Err(error),
        }
    }

    async fn update_checkout(
        &self,
        checkout: &Path,
        old: &ObjectId,
        new: &ObjectId,
    ) -> Result<Landed, WorktreeError> {
        if let Some(why) = self.unsafe_to_update(checkout).await? {
            return Ok(Landed::Held { why });
        }
        let journal =
            LandingJournal { checkout: checkout.to_path_buf(), old: old.clone(), new: new.clone() };
        let bytes = serde_json::to_vec(&journal).unwrap_or_default();
        files::write_whole(&self.tree.journal, &bytes)?;
        let landed = self.fast_forward(checkout, old, new).await?;
        files::remove_file(&self.tree.journal)?;
        Ok(landed)
    }

    /// Why the files of a checkout must stay as they are.
    async fn unsafe_to_update(&self, checkout: &Path) -> Result<Option<String>, WorktreeError> {
        let place = checkout.display();
        let git_dir = self.git_dir_of(checkout).await?;
        if operation_in_progress(&git_dir).is_some() {
            return Ok(Some(format!(
                "{place} is in the middle of a merge, rebase or the like; finish it and merge again"
            )));
        }
        let git = self.git_for(&git_dir, checkout).await?;
        let (changed, _) = count_changes(git.on_tree(&git_dir, checkout, LOOK), "no").await?;
        Ok((changed > 0).then(|| {
            let files = if changed == 1 { "1 file".to_owned() } else { format!("{changed} files") };
            format!("{place} has changes in {files}; commit or stash them and merge again")
        }))
    }

    /// The settings of git can differ between two checkouts (`includeIf`), and so can the programs that they name.
    async fn git_for(&self, git_dir: &Path, checkout: &Path) -> Result<Git, WorktreeError> {
        let call = self.trees.git.on_tree(git_dir, checkout, "read the settings of git");
        Ok(self.trees.git.with_settings(&ProgramSettings::read(call).await?))
    }

    async fn git_dir_of(&self, checkout: &Path) -> Result<PathBuf, WorktreeError> {
        let call = self.git.at(checkout, "look up the checkout of the target");
        call.args(["rev-parse", "--absolute-git-dir"]).path().await
    }

    /// Git itself updates files, index and branch, refuses to overwrite anything that is not committed, and moves the
    /// branch only from the commit it started at.
    async fn fast_forward(
        &self,
        checkout: &Path,
        old: &ObjectId,
        new: &ObjectId,
    ) -> Result<Landed, WorktreeError> {
        let mut waits = Backoff::new(self.git.limits.patience);
        let git_dir = self.git_dir_of(checkout).await?;
        let git = self.git_for(&git_dir, checkout).await?;
        loop {
            if self.target_tip().await? != *old {
                return Ok(Landed::TargetMoved);
            }
            let call = git.on_tree(&git_dir, checkout, "update the checkout of the target");
            let words = ["merge", "--ff-only", "--no-autostash", "--no-stat", "--quiet"];
            let output = call.args(words).arg(new.as_str()).run().await?;
            if output.code == 0 {
                return Ok(Landed::Done { checkout: Some(checkout.to_path_buf()) });
            }
            if self.target_tip().await? != *old {
                return Ok(Landed::TargetMoved);
            }
            let is_locked = output.stderr.contains("index.lock");
            if is_locked && waits.wait().await {
                continue;
            }
            let why = match is_locked {
                true => locked_index(checkout, &output.stderr).to_string(),
                false => output.failure().to_string(),
            };
            return Ok(Landed::Held { why });
        }
    }

    /// What a killed process has left half done, in words. Nothing is changed: what is in the checkout now may be the
    /// user's.
    pub(super) async fn look_for_interruption(&self) -> Result<Option<String>, WorktreeError> {
        let Some(text) = files::read_text(&self.tree.journal, MOST_JOURNAL)? else {
            return Ok(None);
        };
        let journal: Option<LandingJournal> = serde_json::from_str(&text).ok();
        let Some(LandingJournal { checkout, old, new }) = journal else {
            files::remove_file(&self.tree.journal)?;
            return Ok(None);
        };
        let is_there = checkout.is_dir();
        let changed = if is_there {
            let git_dir = self.git_dir_of(&checkout).await?;
            let git = self.git_for(&git_dir, &checkout).await?;
            count_changes(git.on_tree(&git_dir, &checkout, LOOK), "no").await?.0
        } else {
            0
        };
        if changed == 0 {
            files::remove_file(&self.tree.journal)?;
            return Ok(None);
        }
        Ok(Some(format!(
            "a merge was interrupted while it updated {}; look at `git status` there, and compare with `git diff {} {}`",
            checkout.display(),
            old.short(),
            new.short()
        )))
    }
}

/// Git names the lock file in quotes.
fn locked_index(checkout: &Path, stderr: &str) -> WorktreeError {
    let named = stderr.split('\'').find(|part| part.ends_with("index.lock"));
    let lock = named.map_or_else(|| checkout.join(".git/index.lock"), PathBuf::from);
    WorktreeError::IndexLocked { directory: checkout.to_path_buf(), lock }
}
