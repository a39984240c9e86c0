//! A branch that could not be merged goes back to the board as a task, so that it is in somebody's hands.
//!
//! The task depends on the one whose work it is, so the worker who claims it begins with both histories: if they conflict,
//! with the conflicts marked.

use super::task_tree::MOST_FILES;
use ostler_board::{Board, BoardError, NewTask, Refusal, Status, Task, TaskId};
use ostler_worktrees::BranchOutcome;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Ids that begin so are those of such tasks.
const PREFIX: &str = "merge-";
/// Bytes of the hash in an id.
const HASHED: usize = 6;
/// Bytes of what a check printed that go into a description.
const MOST_REPORT: usize = 4 * 1024;

pub(super) fn is_merge_task(id: &TaskId) -> bool {
    id.as_str().starts_with(PREFIX)
}

/// Whether a task is there to merge what others did.
#[must_use]
pub fn resolves_a_merge(task: &str) -> bool {
    task.starts_with(PREFIX)
}

/// What was to be merged.
#[derive(Clone, Copy, Debug)]
pub struct FailedMerge<'a> {
    /// Of the branch; empty if it is not the work of a task.
    pub task: &'a str,
    pub branch: &'a str,
    /// The commit of the branch.
    pub commit: &'a str,
    pub target: &'a str,
    /// The command that checked the result.
    pub check: Option<&'a str>,
    pub outcome: &'a BranchOutcome,
}

/// Adds a task for a branch that conflicts or makes the check fail, once for each commit of it. None: it was merged, or it is
/// not the work of a task of this board that is done.
///
/// # Errors
/// If the board cannot be used, or is full.
pub fn return_branch(
    board: &mut dyn Board,
    failed: &FailedMerge<'_>,
) -> Result<Option<(TaskId, Status)>, BoardError> {
    let Some((title, mut description)) = words(failed) else { return Ok(None) };
    let owner = match board.show(failed.task) {
        Ok(task) if task.id.as_str() == failed.task && task.status == Status::Done => task,
        Ok(_) | Err(BoardError::Refused(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Task { id, title: of, priority, touches, .. } = owner;
    let _ = write!(description, "\n\nThe branch is the work of task {id}: {of}");
    let new = NewTask {
        id: id_of(failed),
        title,
        description,
        priority,
        depends_on: vec![id.to_string()],
        touches,
    };
    match board.add(std::slice::from_ref(&new)) {
        Ok(_) => Ok(Some((new.id, Status::Pending))),
        Err(BoardError::Refused(Refusal::Exists(_))) => {
            let status = board.show(new.id.as_str())?.status;
            Ok(Some((new.id, status)))
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn words(failed: &FailedMerge<'_>) -> Option<(String, String)> {
    let FailedMerge { branch, target, .. } = failed;
    match failed.outcome {
        BranchOutcome::Conflict { files, with } => {
            let names: Vec<String> = (files.iter().take(MOST_FILES))
                .map(|file| file.display().to_string().escape_debug().to_string())
                .collect();
            let mut text = format!(
                "The branch {branch} could not be merged into {target}: they conflict in {}.",
                names.join(", ")
            );
            if !with.is_empty() {
                let _ = write!(text, " It conflicts with {}.", with.join(", "));
            }
            text.push_str(" Resolve the conflicts so that the result does what both sides want.");
            Some((format!("Merge {branch} into {target}"), text))
        }
        BranchOutcome::Red { report, alone, with } => {
            let with = match alone {
                true => String::new(),
                false => format!(", together with {}", with.join(", ")),
            };
            let check = failed.check.unwrap_or("the check");
            let report = ostler_board::backend::clipped(report.trim(), MOST_REPORT);
            let text = format!(
                "After the branch {branch} was merged into {target}{with}, `{check}` failed:\n\n{report}\n\nFind out why, and \
                 repair it. The work of the branch is in your worktree."
            );
            Some((format!("Repair {branch} for {target}"), text))
        }
        _ => None,
    }
}

/// The same for the same commit and target, so that no call adds a second one.
pub(crate) fn id_of(failed: &FailedMerge<'_>) -> TaskId {
    let words = [failed.branch, failed.commit, failed.target].join("\n");
    let mut id = PREFIX.to_owned();
    for byte in &Sha256::digest(words.as_bytes())[..HASHED] {
        let _ = write!(id, "{byte:02x}");
    }
    TaskId(id)
}
