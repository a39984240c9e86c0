//! Removing a tree: the decision is recorded first, so that whoever finds it half done can finish it.

use crate::error::WorktreeError;
use crate::files;
use crate::object_id::ObjectId;
use crate::registry::{LOCK_WORDS, RegistryLock, Stage, TreeRecord, run_blocking};
use crate::worktrees::{Worktrees, check_place};
use std::fs;

impl Worktrees {
    /// Removes a tree whose owner is gone or ourselves, and its branch if that is still at the given commit.
    pub(crate) async fn remove_tree(
        &self,
        record: &mut TreeRecord,
        delete_branch_at: Option<ObjectId>,
    ) -> Result<(), WorktreeError> {
        record.stage = Stage::Removing;
        record.delete_branch_at = delete_branch_at;
        self.registry.write(record)?;
        let lock = self.registry.lock().await?;
        self.finish_removal(&lock, record).await
    }

    /// May be done again after it was interrupted anywhere.
    pub(crate) async fn finish_removal(
        &self,
        lock: &RegistryLock,
        record: &TreeRecord,
    ) -> Result<(), WorktreeError> {
        let trash = self.registry.trash(&record.name)?;
        // A directory that is not the tree is somebody else's.
        let is_other = matches!(check_place(record), Err(WorktreeError::TreeReplaced { .. }));
        if files::exists(&record.path) && !is_other {
            remove_on_thread(&trash).await?;
            fs::rename(&record.path, &trash).map_err(WorktreeError::io("remove", &record.path))?;
        }
        if !is_other {
            self.unregister(record).await?;
        }
        self.delete_branch(record).await?;
        remove_on_thread(&trash).await?;
        // Fails if others are being deleted.
        let _ = trash.parent().map(fs::remove_dir);
        self.registry.forget(lock, &record.name)
    }

    async fn unregister(&self, record: &TreeRecord) -> Result<(), WorktreeError> {
        self.unlock_in_git(record).await?;
        let known = self.registrations().await?;
        if let Some(found) = known.iter().find(|found| found.path == record.path) {
            if let Some(reason) = found.foreign_lock() {
                return Err(locked(record, reason));
            }
            let call = self.git.at(&self.repository.top, "remove the worktree").slow();
            call.args(["worktree", "remove", "--force"]).arg(&record.path).success().await?;
        }
        self.remove_torn_registrations(Some(&record.name)).map(drop)
    }

    /// A process that was killed while git registered a tree leaves a directory that git does not list, or that keeps git
    /// from listing any. Only those that we have locked are removed: that of a tree which is being removed, or else those
    /// of dead owners.
    pub(crate) fn remove_torn_registrations(
        &self,
        removed: Option<&str>,
    ) -> Result<bool, WorktreeError> {
        let folder = self.repository.common_dir.join("worktrees");
        let mut any = false;
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            let read = |name: &str| files::read_text(&path.join(name), 4 << 10).ok().flatten();
            let is_torn = ["gitdir", "commondir"]
                .iter()
                .any(|name| read(name).is_none_or(|text| text.is_empty()));
            let reason = read("locked").unwrap_or_default();
            let Some(name) = reason.trim().strip_prefix(LOCK_WORDS).filter(|_| is_torn) else {
                continue;
            };
            let is_dead = || {
                let record = self.registry.read(name)?;
                let owner = record.and_then(|record| record.process);
                Ok::<bool, WorktreeError>(!owner.is_some_and(|owner| owner.lives()))
            };
            let may_go = match removed {
                Some(removed) => removed == name,
                None => is_dead()?,
            };
            if may_go {
                files::remove_directory(&path)?;
                any = true;
            }
        }
        Ok(any)
    }

    async fn delete_branch(&self, record: &TreeRecord) -> Result<(), WorktreeError> {
        let Some(at) = &record.delete_branch_at else { return Ok(()) };
        let reference = record.reference();
        let is_used = |known: &[crate::worktrees::Registration]| {
            known.iter().any(|found| found.branch.as_deref() == Some(&*reference))
        };
        if self.tip(&record.branch).await?.is_none() || is_used(&self.registrations().await?) {
            return Ok(());
        }
        match self.move_ref(&reference, None, Some(at)).await {
            // Somebody committed to it meanwhile, so it stays.
            Err(WorktreeError::RefMoved { .. }) => Ok(()),
            other => other,
        }
    }
}

pub(crate) fn locked(record: &TreeRecord, reason: &str) -> WorktreeError {
    let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    WorktreeError::Locked { name: record.name.clone(), path: record.path.clone(), why }
}

async fn remove_on_thread(path: &std::path::Path) -> Result<(), WorktreeError> {
    let path = path.to_path_buf();
    run_blocking(move || files::remove_directory(&path)).await
}
