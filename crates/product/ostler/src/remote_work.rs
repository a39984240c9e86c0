//! Which branches of a remote may be merged: those that the board names as the work of a task that is done.
//!
//! Whoever can push to the remote chooses names and commits of its branches, and the text of a result was written by a model.
//! Neither is believed alone: the branch has to be called after a task and its attempt, that attempt has to be the one that
//! is done, and its result has to end with this branch and the commit that the branch is at.

use ostler_board::{Board, BoardError, Status, Task, TaskId};
use ostler_worktrees::RemoteBranch;
use std::fmt;

/// Why a branch of a remote is not merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    NoTask,
    NotDone { task: TaskId, status: Status },
    OtherAttempt { task: TaskId, attempt: u32, done: u32 },
    NoRecord { task: TaskId },
    OtherCommit { task: TaskId, recorded: String },
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::NoTask => f.write_str("no task of the board has this branch"),
            LeftOut::NotDone { task, status } => {
                write!(f, "task {task} is {}", status.name().replace('_', " "))
            }
            LeftOut::OtherAttempt { task, attempt, done } => {
                write!(
                    f,
                    "it is attempt {attempt} of task {task}, and attempt {done} is the one that is done"
                )
            }
            LeftOut::NoRecord { task } => {
                write!(f, "the result of task {task} does not end with this branch and its commit")
            }
            LeftOut::OtherCommit { task, recorded } => {
                write!(f, "it has moved: the result of task {task} names commit {recorded}")
            }
        }
    }
}

/// The task whose work this is.
///
/// # Errors
/// If the board cannot be used.
pub fn task_of_remote_branch(
    board: &mut dyn Board,
    branch: &RemoteBranch,
) -> Result<Result<Task, LeftOut>, BoardError> {
    let mut why = LeftOut::NoTask;
    for (id, attempt) in named_attempts(&branch.name) {
        let task = match board.show(id) {
            // A prefix is enough to show a task, but not to own a branch.
            Ok(task) if task.id.as_str() == id => task,
            Ok(_) | Err(BoardError::Refused(_)) => continue,
            Err(error) => return Err(error),
        };
        match judge(&task, attempt, branch) {
            Ok(()) => return Ok(Ok(task)),
            Err(reason) => why = reason,
        }
    }
    Ok(Err(why))
}

/// What a branch can be called after: `3f2a-1-2-pages` is attempt 1 of `3f2a`, or attempt 2 of `3f2a-1`.
fn named_attempts(name: &str) -> impl Iterator<Item = (&str, u32)> {
    name.match_indices('-').filter_map(|(at, _)| {
        let (id, rest) = (&name[..at], &name[at + 1..]);
        let attempt = rest.split('-').next()?;
        let is_number = attempt.bytes().all(|byte| byte.is_ascii_digit());
        // Others are not numbers of ours: `01`.
        let number = attempt
            .parse()
            .ok()
            .filter(|number: &u32| is_number && number.to_string() == attempt)?;
        (!id.is_empty()).then_some((id, number))
    })
}

fn judge(task: &Task, attempt: u32, branch: &RemoteBranch) -> Result<(), LeftOut> {
    let id = || task.id.clone();
    if task.status != Status::Done {
        return Err(LeftOut::NotDone { task: id(), status: task.status });
    }
    if task.attempt != attempt {
        return Err(LeftOut::OtherAttempt { task: id(), attempt, done: task.attempt });
    }
    match recorded(task.result.as_deref().unwrap_or_default()) {
        Some((name, commit)) if name == branch.branch() => match commit == branch.commit.as_str() {
            true => Ok(()),
            false => {
                // Only what is a commit is repeated.
                let commit = ostler_worktrees::ObjectId::parse(commit);
                let recorded =
                    commit.map_or("unknown".to_owned(), |commit| commit.short().to_owned());
                Err(LeftOut::OtherCommit { task: id(), recorded })
            }
        },
        _ => Err(LeftOut::NoRecord { task: id() }),
    }
}

/// Branch and commit at the end of a result, where the worker puts them, behind whatever the model wrote.
fn recorded(result: &str) -> Option<(&str, &str)> {
    let lines: Vec<&str> = result.trim_end().lines().collect();
    let (last, before) = lines.split_last()?;
    let rest = match last.starts_with("Not committed ") {
        true => before,
        false => &lines[..],
    };
    let [.., branch, commit] = rest else { return None };
    Some((branch.strip_prefix("Branch: ")?, commit.strip_prefix("Commit: ")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_board::Priority;
    use ostler_worktrees::ObjectId;

    const TIP: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const OTHER: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn branch(name: &str) -> RemoteBranch {
        RemoteBranch { name: name.into(), commit: ObjectId::parse(TIP).unwrap() }
    }

    fn task(status: Status, attempt: u32, result: &str) -> Task {
        Task {
            id: TaskId("3f2a".into()),
            status,
            title: "Fix".into(),
            description: String::new(),
            priority: Priority::Medium,
            depends_on: Vec::new(),
            touches: Vec::new(),
            claimed_by: None,
            fence: Some(1),
            lease_until: None,
            attempt,
            result: Some(result.into()),
            error: None,
            blocked_by: Vec::new(),
            created_ms: 0,
            changed_ms: 0,
            history: Vec::new(),
        }
    }

    #[test]
    fn a_name_may_mean_several_attempts() {
        let found = |name| named_attempts(name).collect::<Vec<_>>();
        assert_eq!(found("3f2a-1-2-pages"), [("3f2a", 1), ("3f2a-1", 2)]);
        assert_eq!(found("merge-0123-12"), [("merge-0123", 12)]);
        assert_eq!(found("3f2a"), []);
        assert_eq!(found("-1-x"), []);
        assert_eq!(found("3f2a-01-x"), []);
        assert_eq!(found("3f2a-99999999999999-x"), []);
        assert_eq!(found("3f2a--1"), [("3f2a-", 1)]);
    }

    #[test]
    fn only_what_the_worker_wrote_at_the_end_counts() {
        let end = format!("Branch: ostler/3f2a-1-fix\nCommit: {TIP}");
        let lie = format!("Branch: ostler/3f2a-1-fix\nCommit: {TIP}");
        let judged = |result: &str| judge(&task(Status::Done, 1, result), 1, &branch("3f2a-1-fix"));
        assert_eq!(judged(&format!("Done.\n\n{end}")), Ok(()));
        assert_eq!(judged(&end), Ok(()));
        let left = "\nNot committed (repositories or special files): sub";
        assert_eq!(judged(&format!("Done.\n\n{end}{left}")), Ok(()));
        let no_record = Err(LeftOut::NoRecord { task: TaskId("3f2a".into()) });
        // The model claims a branch although nothing was changed.
        assert_eq!(judged(&format!("{lie}\n\nNo files were changed.")), no_record);
        // It claims one, and the worker names another.
        let other = format!("Branch: ostler/3f2a-1-other\nCommit: {TIP}");
        assert_eq!(judged(&format!("{lie}\n\n{other}")), no_record);
        // The name of a file that was not committed contains lines.
        assert_eq!(judged(&format!("Done.\n\n{other}{left}\n\nmore")), no_record);
        assert!(judged(&format!("Branch: ostler/3f2a-1-fix\nCommit: {TIP} or so")).is_err());
        let moved =
            LeftOut::OtherCommit { task: TaskId("3f2a".into()), recorded: OTHER[..10].into() };
        assert_eq!(judged(&format!("Branch: ostler/3f2a-1-fix\nCommit: {OTHER}")), Err(moved));
        assert_eq!(judged(""), no_record);
    }

    #[test]
    fn only_the_attempt_that_is_done_is_merged() {
        let end = format!("Branch: ostler/3f2a-1-fix\nCommit: {TIP}");
        for status in
            [Status::Pending, Status::InProgress, Status::Failed, Status::Parked, Status::Cancelled]
        {
            let found = judge(&task(status, 1, &end), 1, &branch("3f2a-1-fix"));
            assert_eq!(found, Err(LeftOut::NotDone { task: TaskId("3f2a".into()), status }));
        }
        let found = judge(&task(Status::Done, 2, &end), 1, &branch("3f2a-1-fix"));
        assert_eq!(
            found.unwrap_err().to_string(),
            "it is attempt 1 of task 3f2a, and attempt 2 is the one that is done"
        );
    }
}
