//! `ostler worktrees merge --from REMOTE`: which branches of the remote are merged, and why others are not.

use super::waiting_branch::WaitingBranch;
use crate::args::worktrees::MergeArgs;
use anyhow::Result;
use ostler::board::{Board, Task};
use ostler::worktrees::{BRANCH_PREFIX, MOST_FETCHED, RemoteBranch, Worktrees};
use serde_json::{Value, json};

/// Branches that are listed with a reason; the others are only counted.
const MOST_LISTED: usize = 1_000;
/// Branches that are compared in pairs.
const MOST_COMPARED: usize = 100;

#[derive(Default)]
pub struct RemoteChoice {
    pub waiting: Vec<WaitingBranch>,
    pub left_out: Vec<LeftOutBranch>,
    pub left_out_total: usize,
}

pub struct LeftOutBranch {
    pub branch: String,
    pub reason: String,
}

impl RemoteChoice {
    fn leave_out(&mut self, branch: &str, reason: impl ToString) {
        self.left_out_total += 1;
        if self.left_out.len() < MOST_LISTED {
            let (branch, reason) = (branch.to_owned(), reason.to_string());
            self.left_out.push(LeftOutBranch { branch, reason });
        }
    }

    /// What is here then is waiting.
    async fn fetch(
        &mut self,
        trees: &Worktrees,
        remote: &str,
        found: Vec<(RemoteBranch, Task)>,
    ) -> Result<()> {
        let branches: Vec<RemoteBranch> = found.iter().map(|(branch, _)| branch.clone()).collect();
        let fetched = trees.fetch_branches(remote, &branches).await?;
        for (branch, task) in found {
            if !fetched.contains(&branch) {
                self.leave_out(&branch.branch(), "it changed on the remote while it was fetched");
                continue;
            }
            self.waiting.push(WaitingBranch {
                branch: branch.branch(),
                name: branch.name,
                tip: Some(branch.commit),
                task: Some(task.id.to_string()),
                owner: None,
            });
        }
        Ok(())
    }

    pub fn left_out_as_json(&self) -> Value {
        let one = |left: &LeftOutBranch| json!({ "branch": left.branch, "reason": left.reason });
        self.left_out.iter().map(one).collect()
    }
}

/// Fetches what is to be merged.
pub async fn chosen(
    trees: &Worktrees,
    board: &mut dyn Board,
    (remote, target): (&str, &str),
    args: &MergeArgs,
) -> Result<RemoteChoice> {
    let listed = trees.remote_branches(remote).await?;
    let mut choice = RemoteChoice::default();
    let names: Vec<&str> =
        args.names.iter().map(|name| name.strip_prefix(BRANCH_PREFIX).unwrap_or(name)).collect();
    for name in &names {
        if !listed.branches.iter().any(|branch| branch.name == *name) {
            let why = "the remote has no branch of a worker with this name";
            choice.leave_out(&format!("{BRANCH_PREFIX}{name}"), why);
        }
    }
    for name in listed.strange.iter().filter(|_| args.all) {
        choice.leave_out(name, "its name is not one that Ostler gives");
    }
    let most = if args.dry_run { MOST_COMPARED } else { MOST_FETCHED };
    let mut found: Vec<(RemoteBranch, Task)> = Vec::new();
    for branch in listed.branches {
        if !args.all && !names.contains(&branch.name.as_str()) {
            continue;
        }
        let task = match ostler::task_of_remote_branch(board, &branch)? {
            Ok(task) => task,
            Err(why) => {
                choice.leave_out(&branch.branch(), why);
                continue;
            }
        };
        if args.all && trees.is_merged(&branch.commit, target).await? {
            continue;
        }
        match found.len() < most {
            true => found.push((branch, task)),
            false => choice.leave_out(&branch.branch(), format!("only {most} at a time")),
        }
    }
    match args.all {
        true => found.sort_by_key(|(_, task)| task.changed_ms),
        false => {
            found.sort_by_key(|(branch, _)| names.iter().position(|name| *name == branch.name))
        }
    }
    choice.fetch(trees, remote, found).await?;
    Ok(choice)
}
