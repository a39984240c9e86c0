//! `ostler worktrees merge`: a merge queue for one call, with a command as its check.

use super::{say, text};
use crate::args::tasks::BoardArgs;
use crate::args::worktrees::MergeArgs;
use crate::commands::tasks;
use crate::exit::{Code, warn};
use anyhow::Result;
use ostler::FailedMerge;
use ostler::board::Status;
use ostler::worktrees::{
    Author, BRANCH_PREFIX, BranchOutcome, BranchReport, Check, CheckFuture, Landing, MergeQueue,
    ObjectId, QueueOptions, QueueReport, TreeEntry, TreeState, Verdict, WorktreeError, Worktrees,
};
use ostler_profile::{Environment, Flags, Profile, find_places};
use serde_json::{Value, json};
use std::path::Path;

/// Bytes of the output of a failed check that are reported: its end.
const REPORTED: usize = 2_000;

pub async fn run(
    init: &ostler::Init,
    environment: &Environment,
    trees: &Worktrees,
    args: &MergeArgs,
    json: bool,
) -> Result<Code> {
    let mut entries = chosen(trees, args).await?;
    // They contain what they resolve, which is then merged, too.
    entries.sort_by_key(|entry| !task_of(entry).is_some_and(ostler::resolves_a_merge));
    let target = match &args.into {
        Some(branch) => branch.clone(),
        None => trees.current_branch().await?,
    };
    if args.dry_run {
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        let mut found = trees.conflicts_with(&target, &names).await?;
        found.extend(trees.overlaps(&names).await?);
        let lines = text::overlaps(&found, &names, &target);
        say(json.then(|| json!({ "overlaps": found })), &lines)?;
        return Ok(Code::Done);
    }
    for entry in &entries {
        commit_or_refuse(trees, entry, args).await?;
    }
    let branches: Vec<String> = entries.iter().map(TreeEntry::branch).collect();
    let mut check = match &args.check {
        Some(command) => Some(CommandCheck::new(init, environment, trees, command, args.network)?),
        None => None,
    };
    let mut queue = MergeQueue::open(trees, QueueOptions::new(target)).await?;
    let check = check.as_mut().map(|check| check as &mut dyn Check);
    let report = queue.run(&branches, check).await;
    queue.close().await?;
    let report = report?;
    if let Some(interrupted) = &report.interrupted {
        warn(interrupted);
    }
    let returned = match trees.current_branch().await {
        // Workers begin at what is checked out, so only there they meet what this merge met.
        Ok(branch) if branch == report.target => {
            returned(environment, trees, args, &entries, &report).await
        }
        _ => Vec::new(),
    };
    let told = told(environment, args, &entries, &report);
    let mut object = json!(report);
    object["tasks"] = returned.iter().map(ReturnedBranch::as_json).collect();
    object["mail"] = told.iter().map(ToldOwner::as_json).collect();
    let mut lines = text::merged(&report);
    lines.extend(returned.iter().map(text::returned));
    lines.extend(told.iter().map(text::told));
    say(json.then_some(object), &lines)?;
    Ok(code(&report))
}

/// A branch that could not be merged, and the task that is there for it now.
pub struct ReturnedBranch {
    pub branch: String,
    pub task: String,
    pub status: Status,
}

impl ReturnedBranch {
    fn as_json(&self) -> Value {
        json!({ "branch": self.branch, "task": self.task, "status": self.status })
    }
}

/// A branch that could not be merged, and the addresses of those who know of it now.
pub struct ToldOwner {
    pub branch: String,
    pub to: Vec<String>,
}

impl ToldOwner {
    fn as_json(&self) -> Value {
        json!({ "branch": self.branch, "to": self.to })
    }
}

/// The branches that were not merged because of what they contain, with their worktrees.
fn bad<'a>(
    entries: &'a [TreeEntry],
    report: &'a QueueReport,
) -> impl Iterator<Item = (&'a TreeEntry, &'a BranchReport)> {
    let is_held = matches!(report.landing, Landing::Held { .. });
    let is_bad = |outcome: &BranchOutcome| {
        matches!(outcome, BranchOutcome::Conflict { .. } | BranchOutcome::Red { .. })
    };
    let bad = report.branches.iter().filter(move |branch| !is_held && is_bad(&branch.outcome));
    bad.filter_map(|branch| {
        let entry = entries.iter().find(|entry| entry.branch() == branch.branch)?;
        Some((entry, branch))
    })
}

/// Tells teammates and their leads which of their branches could not be merged. The report of the merge is worth printing
/// even if that fails.
fn told(
    environment: &Environment,
    args: &MergeArgs,
    entries: &[TreeEntry],
    report: &QueueReport,
) -> Vec<ToldOwner> {
    let mut found = Vec::new();
    for (entry, branch) in bad(entries, report) {
        let Some(record) = entry.record.as_ref() else { continue };
        let failed = FailedMerge {
            task: "",
            branch: &branch.branch,
            commit: entry.tip.as_ref().map(ObjectId::as_str).unwrap_or_default(),
            target: &report.target,
            check: args.check.as_deref(),
            outcome: &branch.outcome,
        };
        let send = || {
            let place = BoardArgs { board: args.board.clone(), json: false };
            let home = find_places(environment, &Flags::default())?.ostler_home;
            let open = || tasks::open(environment, &place);
            ostler::mail_failed_merge(&home, open, &record.owner, &failed)
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
async fn returned(
    environment: &Environment,
    trees: &Worktrees,
    args: &MergeArgs,
    entries: &[TreeEntry],
    report: &QueueReport,
) -> Vec<ReturnedBranch> {
    let mut board = None;
    let mut found = Vec::new();
    for (entry, branch) in bad(entries, report) {
        let Some(task) = task_of(entry) else { continue };
        let done = async {
            // Its commit may be new.
            let tip = trees.find(&entry.name).await?.tip;
            let Some(commit) = tip else { return Ok(None) };
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
        match done.await {
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

/// The board's id of the task whose work this is.
fn task_of(entry: &TreeEntry) -> Option<&str> {
    entry.record.as_ref()?.owner.task.as_deref()
}

async fn chosen(trees: &Worktrees, args: &MergeArgs) -> Result<Vec<TreeEntry>, WorktreeError> {
    let mut entries = Vec::new();
    if args.all && args.dry_run {
        // Conflicts are found early: also with work that is not done yet.
        entries = trees.list().await?;
        entries.retain(|entry| {
            let has_changes = entry.uncommitted.as_ref().is_some_and(|found| found.has_changes());
            matches!(entry.state, TreeState::Idle | TreeState::InUse)
                && (entry.unmerged > 0 || has_changes)
        });
        return Ok(entries);
    }
    if args.all {
        entries = trees.list().await?;
        entries.retain(|entry| entry.state == TreeState::Idle && entry.unmerged > 0);
        let is_unfinished =
            |entry: &TreeEntry| entry.record.as_ref().is_some_and(|record| record.is_unfinished);
        for entry in entries.extract_if(.., |entry| is_unfinished(entry)) {
            let name = entry.name;
            warn(&format!("{name} was left out: its task is not done. To merge it, name it"));
        }
        return Ok(entries);
    }
    for name in &args.names {
        entries.push(trees.find(name).await?);
    }
    Ok(entries)
}

/// What is not committed would be missing in the result, so that has to be said.
async fn commit_or_refuse(
    trees: &Worktrees,
    entry: &TreeEntry,
    args: &MergeArgs,
) -> Result<(), WorktreeError> {
    let has_changes = entry.uncommitted.as_ref().is_some_and(|found| found.has_changes());
    if !has_changes || args.committed_only {
        return Ok(());
    }
    let name = entry.name.clone();
    let Some(record) = entry.record.as_ref().filter(|_| args.commit) else {
        return Err(WorktreeError::Uncommitted { name });
    };
    let tree = trees.adopt(&name, record.owner.clone()).await?;
    let message = format!("Work in {BRANCH_PREFIX}{name}");
    let committed = trees.commit(&tree, &message, &Author::default()).await;
    trees.release(tree).await?;
    for path in committed?.left_out {
        warn(&format!(
            "{} in worktree {name} is a repository or not a regular file, so it was not committed",
            path.display()
        ));
    }
    Ok(())
}

/// Done only if everything is merged.
fn code(report: &QueueReport) -> Code {
    let is_merged = |outcome: &BranchOutcome| {
        matches!(outcome, BranchOutcome::Merged { .. } | BranchOutcome::AlreadyMerged)
    };
    let is_held = matches!(report.landing, Landing::Held { .. });
    let all = report.branches.iter().all(|branch| is_merged(&branch.outcome));
    if all && !is_held { Code::Done } else { Code::Failed }
}

/// The user's command, in the sandbox, with nothing writable but the merged files.
struct CommandCheck<'a> {
    init: &'a ostler::Init,
    trees: &'a Worktrees,
    profile: Profile,
    command: &'a str,
}

impl<'a> CommandCheck<'a> {
    fn new(
        init: &'a ostler::Init,
        environment: &Environment,
        trees: &'a Worktrees,
        command: &'a str,
        network: bool,
    ) -> Result<Self> {
        let profile = Profile::load(environment, Flags { network, ..Flags::default() })?;
        for notice in profile.notices() {
            warn(&notice);
        }
        Ok(CommandCheck { init, trees, profile, command })
    }

    async fn verdict(&self, files: &Path) -> Result<Verdict> {
        let mut workspace = self.profile.workspace();
        workspace.cwd = files.to_path_buf();
        workspace.roots = vec![files.to_path_buf()];
        let access = self.trees.access_of(files).await?;
        let place = ostler::Sandboxed {
            options: self.profile.sandbox(),
            workspace,
            policy: &self.profile.loaded.policy,
            environment: self.profile.environment.for_commands(&self.profile.loaded.env),
            access: Some(&access),
        };
        let mut output = Vec::new();
        let sink = |bytes: &[u8]| {
            output.extend_from_slice(bytes);
            let surplus = output.len().saturating_sub(REPORTED);
            output.drain(..surplus);
            true
        };
        let words = [self.command.to_owned()];
        let code = ostler::run_sandboxed(self.init, place, &words, sink, warn).await?;
        if code == 0 {
            return Ok(Verdict::Green);
        }
        let said = ostler::strip_terminal(&String::from_utf8_lossy(&output));
        let report = format!("exit code {code}\n{said}");
        Ok(Verdict::Red { report: report.trim().to_owned() })
    }
}

impl Check for CommandCheck<'_> {
    fn check<'a>(&'a mut self, files: &'a Path, _commit: &'a ObjectId) -> CheckFuture<'a> {
        Box::pin(async move {
            let verdict = self.verdict(files).await;
            verdict.unwrap_or_else(|error| Verdict::Unable {
                why: format!("cannot run the check: {error:#}"),
            })
        })
    }
}
