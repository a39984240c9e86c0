//! Worktrees as lines for people.

use super::failed_merges::{ReturnedBranch, ToldOwner};
use super::remote_choice::RemoteChoice;
use crate::output::visible_text::visible;
use ostler::board::Status;
use ostler::worktrees::{
    BranchOutcome, Discarded, Landing, Overlap, PruneReport, QueueReport, TreeDiff, TreeEntry,
    TreeState, TrialMerge,
};
use std::path::{Path, PathBuf};

/// Files named in a line.
const SHOWN: usize = 5;
/// Branches that were left out, one line each.
const MOST_LEFT_OUT: usize = 20;

pub fn table(found: &[TreeEntry]) -> Vec<String> {
    match found {
        [] => vec!["No worktrees.".to_owned()],
        found => found.iter().map(line).collect(),
    }
}

pub fn line(entry: &TreeEntry) -> String {
    let mut facts = vec![state(entry.state).to_owned()];
    if let Some(record) = entry.record.as_ref().filter(|_| entry.state == TreeState::InUse) {
        facts = vec![format!("in use by {}", visible(&record.owner.to_string()))];
    }
    if let Some(task) = entry.record.as_ref().and_then(|record| record.owner.task.as_ref()) {
        facts.push(format!("task {}", visible(task)));
    }
    let mut count = |number: u64, one: &str, many: &str| {
        if number > 0 {
            facts.push(format!("{number} {}", if number == 1 { one } else { many }));
        }
    };
    count(entry.unmerged, "commit not merged", "commits not merged");
    if let Some(found) = &entry.uncommitted {
        let changed = found.changed.count + found.untracked.count;
        count(changed, "file not committed", "files not committed");
        count(found.ignored.count, "ignored name", "ignored names");
    }
    if let Some(reason) = &entry.locked {
        facts.push(format!("locked {}", visible(reason)).trim_end().to_owned());
    }
    let name = visible(&entry.name);
    format!("{name:<24}  {}", facts.join(", "))
}

fn state(state: TreeState) -> &'static str {
    match state {
        TreeState::InUse => "in use",
        TreeState::Idle => "idle",
        TreeState::Incomplete => "its owner died while creating it",
        TreeState::HalfRemoved => "its owner died while removing it",
        TreeState::DirectoryMissing => "directory missing",
        TreeState::Replaced => "another directory is in its place",
        TreeState::Unregistered => "unknown to git",
        TreeState::BranchOnly => "branch without a worktree",
        TreeState::DirectoryOnly => "directory without a record",
    }
}

pub fn stat(diff: &TreeDiff) -> Vec<String> {
    if diff.files.is_empty() {
        return vec!["No changes.".to_owned()];
    }
    let number =
        |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let files = diff.files.iter();
    files
        .map(|file| {
            let (added, removed) = (number(file.added), number(file.removed));
            format!("{:>7} {:>7}  {}", format!("+{added}"), format!("-{removed}"), path(&file.path))
        })
        .collect()
}

fn path(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

fn paths(all: &[PathBuf]) -> String {
    let named: Vec<String> = all.iter().take(SHOWN).map(|file| path(file)).collect();
    let more = all.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(", ") + &more
}

pub fn pruned(report: &PruneReport, dry_run: bool) -> Vec<String> {
    let verb = if dry_run { "Would remove" } else { "Removed" };
    let removed = report.removed.iter().map(|name| format!("{verb} {}", visible(name)));
    let kept = report.kept.iter();
    let kept = kept
        .map(|kept| format!("Kept {}: {}", visible(&kept.name), visible(&kept.reason.to_string())));
    let lines: Vec<String> = removed.chain(kept).collect();
    if lines.is_empty() { vec!["No worktrees.".to_owned()] } else { lines }
}

pub fn discarded(gone: &Discarded) -> Vec<String> {
    let mut lines = vec![format!("Discarded {}", visible(&gone.name))];
    // Uncommitted files as a commit on top of the branch's own; else the branch.
    if let Some(commit) = gone.content.as_ref().or(gone.tip.as_ref()) {
        lines.push(format!(
            "  to get it back, before git prunes it: git branch NAME {}",
            commit.short()
        ));
    }
    lines
}

pub fn overlaps(found: &[Overlap], names: &[String], target: &str) -> Vec<String> {
    if found.is_empty() {
        let target = visible(target);
        return vec![match names {
            [] => "There is nothing to merge.".to_owned(),
            [name] => format!("{} can be merged into {target}.", visible(name)),
            _ => format!("These worktrees change different files and can be merged into {target}."),
        }];
    }
    let mut lines = Vec::new();
    for pair in found {
        let merge = match &pair.merge {
            TrialMerge::Clean { .. } => "git can merge them".to_owned(),
            TrialMerge::Conflict { files } => format!("conflict in {}", paths(files)),
            TrialMerge::Unrelated => "they have no commit in common".to_owned(),
        };
        lines.push(format!("{} and {}: {merge}", visible(&pair.one), visible(&pair.other)));
        for file in &pair.files {
            let ranges: Vec<String> = file.lines.iter().map(range).collect();
            let places = if ranges.is_empty() {
                "different lines".to_owned()
            } else {
                format!("lines {}", ranges.join(", "))
            };
            lines.push(format!("  {}: {places}", path(&file.path)));
        }
    }
    lines
}

fn range(range: &ostler::worktrees::LineRange) -> String {
    if range.first == range.last {
        range.first.to_string()
    } else {
        format!("{}-{}", range.first, range.last)
    }
}

pub fn merged(report: &QueueReport) -> Vec<String> {
    let mut lines: Vec<String> = report
        .branches
        .iter()
        .map(|branch| format!("{}: {}", visible(&branch.branch), outcome(&branch.outcome)))
        .collect();
    let target = visible(&report.target);
    match &report.landing {
        Landing::Unchanged => lines.push(format!("{target} is unchanged")),
        Landing::Moved { checkout: None } => {
            lines.push(format!("{target} is now at {}", report.after.short()));
        }
        Landing::Moved { checkout: Some(place) } => {
            lines.push(format!(
                "{target} is now at {}; files updated in {}",
                report.after.short(),
                path(place)
            ));
        }
        Landing::Held { why, reference } => {
            lines.push(format!("{target} was not moved: {}", visible(why)));
            lines.push(format!("  the merged result is kept as {}", visible(reference)));
        }
    }
    lines
}

pub fn returned(returned: &ReturnedBranch) -> String {
    let ReturnedBranch { branch, task, status } = returned;
    let branch = visible(branch);
    match status {
        Status::Pending => format!("task {task} is there to merge {branch}; a worker can claim it"),
        Status::Failed | Status::Parked | Status::Cancelled => format!(
            "task {task} to merge {branch} is {}; `ostler tasks retry {task}` makes it pending again",
            status.name()
        ),
        Status::InProgress | Status::Done => {
            format!("task {task} to merge {branch} is {}", status.name().replace('_', " "))
        }
    }
}

pub fn left_out(choice: &RemoteChoice) -> Vec<String> {
    let shown = choice.left_out.iter().take(MOST_LEFT_OUT);
    let mut lines: Vec<String> = shown
        .map(|left| format!("{} was left out: {}", visible(&left.branch), visible(&left.reason)))
        .collect();
    if choice.left_out_total > lines.len() {
        lines.push(format!("{} more were left out", choice.left_out_total - lines.len()));
    }
    lines
}

/// Workers on other hosts start from what the remote has.
pub fn push_hint(remote: &str, target: &str) -> String {
    let (remote, target) = (visible(remote), visible(target));
    format!("push it, so that workers start from it: git push {remote} {target}")
}

pub fn told(told: &ToldOwner) -> String {
    let to: Vec<String> = told.to.iter().map(|name| visible(name)).collect();
    format!("told {} that {} could not be merged", to.join(" and "), visible(&told.branch))
}

fn outcome(outcome: &BranchOutcome) -> String {
    let names =
        |names: &[String]| names.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
    match outcome {
        BranchOutcome::Merged { commit } => format!("merged as {}", commit.short()),
        BranchOutcome::AlreadyMerged => "already merged".to_owned(),
        BranchOutcome::Missing => "there is no such branch".to_owned(),
        BranchOutcome::Conflict { files, with } if with.is_empty() => {
            format!("conflict in {}", paths(files))
        }
        BranchOutcome::Conflict { files, with } => {
            format!("conflict in {} with {}", paths(files), names(with))
        }
        BranchOutcome::Red { report, alone: true, .. } => {
            format!("the check fails: {}", visible(report))
        }
        BranchOutcome::Red { report, with, .. } => {
            format!("the check fails together with {}: {}", names(with), visible(report))
        }
        BranchOutcome::Ready { commit } => format!("merged as {}, waiting", commit.short()),
        BranchOutcome::NotReached { why } => format!("not merged: {}", visible(why)),
    }
}
