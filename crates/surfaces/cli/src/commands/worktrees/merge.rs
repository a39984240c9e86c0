//! `ostler worktrees merge`: a merge queue for one call, with a command as its check.

use super::{say, text};
use crate::args::worktrees::MergeArgs;
use crate::exit::{Code, warn};
use anyhow::Result;
use ostler::worktrees::{
    Author, BRANCH_PREFIX, BranchOutcome, Check, CheckFuture, Landing, MergeQueue, ObjectId,
    QueueOptions, QueueReport, TreeEntry, TreeState, Verdict, WorktreeError, Worktrees,
};
use ostler_profile::{Environment, Flags, Profile};
use serde_json::json;
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
    let entries = chosen(trees, args).await?;
    if args.dry_run {
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        let found = trees.overlaps(&names).await?;
        say(json.then(|| json!({ "overlaps": found })), &text::overlaps(&found))?;
        return Ok(Code::Done);
    }
    for entry in &entries {
        commit_or_refuse(trees, entry, args).await?;
    }
    let target = match &args.into {
        Some(branch) => branch.clone(),
        None => trees.current_branch().await?,
    };
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
    say(json.then(|| json!(report)), &text::merged(&report))?;
    Ok(code(&report))
}

async fn chosen(trees: &Worktrees, args: &MergeArgs) -> Result<Vec<TreeEntry>, WorktreeError> {
    let mut entries = Vec::new();
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
