//! Merges the branch of each finished attempt with the merge queue of the product.

use crate::real_worker::branch_of;
use crate::{SUPERVISE, export, repository};
use ostler_exec::{Executor, SupervisorProgram};
use ostler_worktrees::{
    BranchOutcome, Git, GitLimits, MergeQueue, QueueOptions, TreeLimits, WorktreeSetup, Worktrees,
};
use serde_json::Value;
use std::path::Path;

const BATCH: usize = 50;

/// The board says which branch is the result of a task.
pub fn run(directory: &Path) -> Result<(), String> {
    let path = directory.join(export::FILE);
    let text = std::fs::read(&path).map_err(|why| format!("cannot read {path:?}: {why}"))?;
    let board: Value = serde_json::from_slice(&text).map_err(|why| format!("{path:?}: {why}"))?;
    let tasks = board["tasks"].as_array().cloned().unwrap_or_default();
    let done = tasks.iter().filter(|task| task["status"] == "done");
    let branches: Vec<String> =
        done.filter_map(|task| task["result"].as_str()).map(branch).collect();
    ostler::block_on(merge(directory, &branches)).map_err(|why| why.to_string())?
}

fn branch(result: &str) -> String {
    branch_of(result).unwrap_or(result).to_owned()
}

async fn merge(directory: &Path, branches: &[String]) -> Result<(), String> {
    let wrong = |why: ostler_worktrees::WorktreeError| format!("cannot merge: {why}");
    let executor = Executor::new(SupervisorProgram::this_binary([SUPERVISE]));
    let environment = std::env::vars_os().collect();
    let git = Git::find(executor, environment, GitLimits::default()).map_err(wrong)?;
    let setup = WorktreeSetup {
        git,
        state: directory.join("worktrees"),
        project: "chaos".to_owned(),
        limits: TreeLimits::default(),
    };
    let trees = Worktrees::open(setup, &repository::path(directory)).await.map_err(wrong)?;
    let options = QueueOptions { batch: BATCH, ..QueueOptions::new(repository::TARGET) };
    let mut queue = MergeQueue::open(&trees, options).await.map_err(wrong)?;
    let report = queue.run(branches, None).await.map_err(wrong)?;
    let is_merged = |outcome: &BranchOutcome| {
        matches!(outcome, BranchOutcome::Merged { .. } | BranchOutcome::AlreadyMerged)
    };
    match report.branches.iter().find(|branch| !is_merged(&branch.outcome)) {
        Some(branch) => Err(format!("{} was not merged: {:?}", branch.branch, branch.outcome)),
        None => Ok(()),
    }
}
