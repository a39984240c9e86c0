//! A branch that is to be merged, with what is known of who made it.

use ostler::worktrees::{ObjectId, Owner, QueuedBranch, TreeEntry};

pub struct WaitingBranch {
    /// Without `ostler/`.
    pub name: String,
    /// Without `refs/heads/`.
    pub branch: String,
    pub tip: Option<ObjectId>,
    /// The board's id of the task whose work it is.
    pub task: Option<String>,
    /// None: it comes from another host.
    pub owner: Option<Owner>,
}

impl WaitingBranch {
    pub fn here(entry: TreeEntry) -> Self {
        let branch = entry.branch();
        let owner = entry.record.map(|record| record.owner);
        let task = owner.as_ref().and_then(|owner| owner.task.clone());
        WaitingBranch { name: entry.name, branch, tip: entry.tip, task, owner }
    }

    /// What comes from elsewhere is merged at the commit that was looked up, whatever happens to the branch there.
    pub fn queued(&self) -> QueuedBranch {
        let commit = self.tip.clone().filter(|_| self.owner.is_none());
        QueuedBranch { branch: self.branch.clone(), commit }
    }
}
