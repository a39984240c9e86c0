//! What becomes of branches that could not be merged: those of tasks go back to the board, teammates get mail.

use super::waiting_branch::WaitingBranch;
use crate::args::tasks::BoardArgs;
use crate::args::worktrees::MergeArgs;
use crate::commands::tasks;
use crate::exit::warn;
use ostler::FailedMerge;
use ostler::board::Status;
use ostler::worktrees::{BranchOutcome, BranchReport, Landing, ObjectId, QueueReport};
use ostler_profile::{Environment, Flags, find_places};
use serde_json::{Value, json};

/// A branch that could not be merged, and the task that is there for it now.
pub struct ReturnedBranch {
    pub branch: String,
    pub task: String,
    pub status: Status,
}

impl ReturnedBranch {
    pub fn as_json(&self) -> Value {
        json!({ "branch": self.branch, "task": self.task, "status": self.status })
    }
}

/// A branch that could not be merged, and the addresses of those who know of it now.
pub struct ToldOwner {
    pub branch: String,
    pub to: Vec<String>,
}

impl ToldOwner {
    pub fn as_json(&self) -> Value {
        json!({ "branch": self.branch, "to": self.to })
    }
}

/// The branches that were not merged because of what they contain.
fn bad<'a>(
    waiting: &'a [WaitingBranch],
    report: &'a QueueReport,
) -> impl Iterator<Item = (&'a WaitingBranch, &'a BranchReport)> {
    let is_held = matches!(report.landing, Landing::Held { .. });
    let is_bad = |outcome: &BranchOutcome| {
        matches!(outcome, BranchOutcome::Conflict { .. } | BranchOutcome::Red { .. })
    };
    let bad = report.branches.iter().filter(move |branch| !is_held && is_bad(&branch.outcome));
    bad.filter_map(|branch| {
        let waiting = waiting.iter().find(|waiting| waiting.branch == branch.branch)?;
        Some((waiting, branch))
    })
}

/// Tells teammates and their leads which of their branches could not be merged. The report of the merge is worth printing
/// even if that fails.
pub fn told(
    environment: &Environment,
    args: &MergeArgs,
    waiting: &[WaitingBranch],
    report: &QueueReport,
) -> Vec<ToldOwner> {
    let mut found = Vec::new();
    for (waiting, branch) in bad(waiting, report) {
        let Some(owner) = &waiting.owner else { continue };
        let failed = FailedMerge {
            task: "",
            branch: &branch.branch,
            commit: waiting.tip.as_ref().map(ObjectId::as_str).unwrap_or_default(),
            target: &report.target,
            check: args.check.as_deref(),
            outcome: &branch.outcome,
        };
        let send = || {
            let place = BoardArgs { board: args.board.clone(), json: false };
            let home = find_places(environment, &Flags::default())?.ostler_home;
            let open = || tasks::open(environment, &place);
            ostler::mail_failed_merge(&home, open, owner, &failed)
        };
        match send() {
            Ok(to) if to.is_empty() => {}
            Ok(to) => found.push(ToldOwner { branch: branch.branch.clone(), to }),
            Err(error) => {
                warn(&format!("cannot tell the owner of {}: {error:#}", branch.branch));
            }
        }
    }
    found
}

/// Puts what could not be merged back on the board. If that fails, the report of the merge is still worth printing.
pub fn returned(
    environment: &Environment,
    args: &MergeArgs,
    waiting: &[WaitingBranch],
    report: &QueueReport,
) -> Vec<ReturnedBranch> {
    let mut board = None;
    let mut found = Vec::new();
    for (waiting, branch) in bad(waiting, report) {
        let (Some(task), Some(commit)) = (&waiting.task, &waiting.tip) else { continue };
        let mut done = || {
            let board = match &mut board {
                Some(board) => board,
                None => {
                    let place = BoardArgs { board: args.board.clone(), json: false };
                    board.insert(tasks::open(environment, &place)?)
                }
            };
            let failed = FailedMerge {
                task,
                branch: &branch.branch,
                commit: commit.as_str(),
                target: &report.target,
                check: args.check.as_deref(),
                outcome: &branch.outcome,
            };
            anyhow::Ok(ostler::return_branch(&mut **board, &failed)?)
        };
        match done() {
            Ok(None) => {}
            Ok(Some((id, status))) => found.push(ReturnedBranch {
                branch: branch.branch.clone(),
                task: id.to_string(),
                status,
            }),
            Err(error) => {
                warn(&format!("cannot put {} back on the board: {error:#}", branch.branch))
            }
        }
    }
    found
}
