//! The worktree of one attempt at a task.

use super::events::{TaskRef, WorkBranch};
use super::task_run::Workshop;
use crate::error::Error;
use crate::session_tree::SessionTree;
use crate::system::now_ms;
use ostler_board::Task;
use ostler_worktrees::{
    Author, BRANCH_PREFIX, NewTree, Owner, OwnerKind, TreeEntry, TreeState, TreeWarning, Worktree,
    Worktrees,
};
use std::path::Path;

pub(super) struct TaskTree {
    tree: Worktree,
    /// Branches of attempts before this one, newest first.
    pub(super) earlier: Vec<String>,
}

impl TaskTree {
    /// The name says which attempt it is, so no two machines choose the same.
    pub(super) async fn make(shop: &Workshop, about: &TaskRef) -> Result<Self, Error> {
        let owner = owner(about);
        let mut earlier = earlier(&shop.trees, about, &owner).await?;
        let fetched = match &shop.options.push {
            Some(remote) => Some(shop.trees.fetch(remote, &format!("{}-", about.task)).await?),
            None => None,
        };
        let base = fetched.as_ref().and_then(|fetched| fetched.base.clone());
        for branch in fetched.map(|fetched| fetched.branches).unwrap_or_default() {
            let is_known = |known: &String| branch.ends_with(known.as_str());
            if !earlier.iter().any(is_known) {
                earlier.push(branch);
            }
        }
        let name = format!("{}-{} {}", about.task, about.attempt, about.title);
        let runner = shop.runner();
        let new = NewTree {
            name: &name,
            owner,
            include: shop.options.session.worktrees.include.as_deref(),
            commands: Some(&runner),
            now_ms: now_ms(),
        };
        let tree = match base {
            Some(commit) => shop.trees.create_at(new, commit).await?,
            None => shop.trees.create(new).await?,
        };
        Ok(TaskTree { tree, earlier })
    }

    pub(super) fn branch(&self) -> &str {
        self.tree.branch()
    }

    pub(super) fn path(&self) -> &Path {
        self.tree.path()
    }

    pub(super) async fn place(&self, shop: &Workshop) -> Result<SessionTree, Error> {
        Ok(SessionTree::of(&shop.trees, &self.tree, &shop.options.session.cwd).await?)
    }

    pub(super) async fn commit(
        &self,
        shop: &Workshop,
        about: &TaskRef,
        task: &Task,
    ) -> Result<WorkBranch, Error> {
        let message = format!(
            "{}\n\nTask: {}\nAttempt: {}\nWorker: {}\n",
            task.title, about.task, about.attempt, about.worker
        );
        let committed = shop.trees.commit(&self.tree, &message, &Author::default()).await?;
        let commit = committed.commit.map(|commit| commit.to_string());
        Ok(WorkBranch { branch: self.branch().to_owned(), commit })
    }

    /// What a failing check printed last; none if it succeeds.
    pub(super) async fn check(
        &self,
        shop: &Workshop,
        command: &str,
    ) -> Result<Option<String>, Error> {
        shop.runner().run(self.tree.record(), command).await
    }

    pub(super) async fn push(&self, shop: &Workshop, remote: &str) -> Result<(), Error> {
        Ok(shop.trees.push(&self.tree, remote).await?)
    }

    /// Without anything new it goes, else it stays for whoever merges it.
    pub(super) async fn leave(self, shop: &Workshop) -> Result<Vec<TreeWarning>, Error> {
        Ok(shop.trees.leave(self.tree, Some(&shop.runner())).await?)
    }
}

fn owner(about: &TaskRef) -> Owner {
    let (kind, id, task) = (OwnerKind::Worker, about.worker.clone(), about.task.to_string());
    Owner { kind, id, task: Some(task) }
}

/// What a killed worker had not committed is committed, so that the branch has all of it.
async fn earlier(trees: &Worktrees, about: &TaskRef, owner: &Owner) -> Result<Vec<String>, Error> {
    let is_earlier = |entry: &TreeEntry| {
        let of = entry.record.as_ref().and_then(|record| record.owner.task.as_deref());
        of == Some(about.task.as_str())
    };
    let mut found: Vec<TreeEntry> = trees.list().await?;
    found.retain(is_earlier);
    found.sort_by_key(|entry| entry.record.as_ref().map(|record| record.created_ms));
    let mut branches = Vec::new();
    for entry in found.iter().rev() {
        let has_changes = entry.uncommitted.as_ref().is_some_and(|left| left.has_changes());
        let is_saved = has_changes && entry.state == TreeState::Idle && {
            let message =
                format!("Work of an attempt that was cut short\n\nTask: {}\n", about.task);
            save(trees, &entry.name, owner, &message).await.is_ok()
        };
        if is_saved || entry.unmerged > 0 {
            branches.push(format!("{BRANCH_PREFIX}{}", entry.name));
        }
    }
    Ok(branches)
}

async fn save(trees: &Worktrees, name: &str, owner: &Owner, message: &str) -> Result<(), Error> {
    let tree = trees.adopt(name, owner.clone()).await?;
    let committed = trees.commit(&tree, message, &Author::default()).await;
    trees.release(tree).await?;
    committed?;
    Ok(())
}
