//! `ostler worktrees merge`: a merge queue for one call, with a command as its check.

use super::command_check::CommandCheck;
use super::failed_merges::{ReturnedBranch, ToldOwner, returned, told};
use super::remote_choice::{self, RemoteChoice};
use super::waiting_branch::WaitingBranch;
use super::{say, text};
use crate::args::tasks::BoardArgs;
use crate::args::worktrees::MergeArgs;
use crate::commands::tasks;
use crate::exit::{Code, warn};
use anyhow::Result;
use ostler::worktrees::{
    Author, BRANCH_PREFIX, BranchOutcome, Check, Landing, MergeQueue, ObjectId, QueueOptions,
    QueueReport, QueuedBranch, TreeEntry, TreeState, WorktreeError, Worktrees,
};
use ostler_profile::Environment;
use serde_json::json;

/// What every step of a merge needs.
struct MergeCall<'a> {
    init: &'a ostler::Init,
    environment: &'a Environment,
    trees: &'a Worktrees,
    args: &'a MergeArgs,
    target: String,
    json: bool,
}

pub async fn run(
    init: &ostler::Init,
    environment: &Environment,
    trees: &Worktrees,
    args: &MergeArgs,
    json: bool,
) -> Result<Code> {
    let target = match &args.into {
        Some(branch) => branch.clone(),
        None => trees.current_branch().await?,
    };
    let call = MergeCall { init, environment, trees, args, target, json };
    match &args.from {
        Some(remote) => call.merge_from(remote).await,
        None => call.merge_local().await,
    }
}

impl MergeCall<'_> {
    async fn merge_local(&self) -> Result<Code> {
        let (trees, args) = (self.trees, self.args);
        let entries = chosen(trees, args).await?;
        if args.dry_run {
            let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
            let mut found = trees.conflicts_with(&self.target, &names).await?;
            found.extend(trees.overlaps(&names).await?);
            let lines = text::overlaps(&found, &names, &self.target);
            say(self.json.then(|| json!({ "overlaps": found })), &lines)?;
            return Ok(Code::Done);
        }
        let mut waiting = Vec::new();
        for entry in entries {
            commit_or_refuse(trees, &entry, args).await?;
            // Its commit may be new.
            waiting.push(WaitingBranch::here(match args.commit {
                true => trees.find(&entry.name).await?,
                false => entry,
            }));
        }
        self.merge(waiting, None).await
    }

    /// Merges what workers on other hosts have pushed. The refs of what was fetched go when it is over.
    async fn merge_from(&self, remote: &str) -> Result<Code> {
        let (trees, args) = (self.trees, self.args);
        let place = BoardArgs { board: args.board.clone(), json: false };
        let mut board = tasks::open(self.environment, &place)?;
        let done = async {
            let place = (remote, self.target.as_str());
            let mut choice = remote_choice::chosen(trees, &mut *board, place, args).await?;
            if !args.dry_run {
                let waiting = std::mem::take(&mut choice.waiting);
                return self.merge(waiting, Some(&choice)).await;
            }
            let pair = |it: &WaitingBranch| Some((it.name.clone(), it.tip.clone()?));
            let commits: Vec<(String, ObjectId)> = choice.waiting.iter().filter_map(pair).collect();
            let mut found = trees.conflicts_at(&self.target, &commits).await?;
            found.extend(trees.overlaps_at(&commits).await?);
            let names: Vec<String> = commits.into_iter().map(|(name, _)| name).collect();
            let mut lines = text::overlaps(&found, &names, &self.target);
            lines.extend(text::left_out(&choice));
            let object = || {
                let (left_out, total) = (choice.left_out_as_json(), choice.left_out_total);
                json!({ "overlaps": found, "from": remote, "left_out": left_out, "left_out_total": total })
            };
            say(self.json.then(object), &lines)?;
            Ok(self.code_of_names(&choice))
        };
        let done = done.await;
        if trees.check_remote(remote).await.is_ok() {
            trees.forget_fetched(remote).await?;
        }
        done
    }

    async fn merge(
        &self,
        mut waiting: Vec<WaitingBranch>,
        choice: Option<&RemoteChoice>,
    ) -> Result<Code> {
        let MergeCall { init, environment, trees, args, target, json } = self;
        // They contain what they resolve, which is then merged, too.
        let resolves =
            |it: &WaitingBranch| it.task.as_deref().is_some_and(ostler::resolves_a_merge);
        waiting.sort_by_key(|it| !resolves(it));
        let branches: Vec<QueuedBranch> = waiting.iter().map(WaitingBranch::queued).collect();
        let mut check = match &args.check {
            Some(command) => {
                Some(CommandCheck::new(init, environment, trees, command, args.network)?)
            }
            None => None,
        };
        let mut queue = MergeQueue::open(trees, QueueOptions::new(target.clone())).await?;
        let check = check.as_mut().map(|check| check as &mut dyn Check);
        let report = queue.run_at(&branches, check).await;
        queue.close().await?;
        let report = report?;
        if let Some(interrupted) = &report.interrupted {
            warn(interrupted);
        }
        let returned = match trees.current_branch().await {
            // Workers begin at what is checked out, so only there they meet what this merge met.
            Ok(branch) if branch == report.target => returned(environment, args, &waiting, &report),
            _ => Vec::new(),
        };
        let told = told(environment, args, &waiting, &report);
        let mut object = json!(report);
        object["tasks"] = returned.iter().map(ReturnedBranch::as_json).collect();
        object["mail"] = told.iter().map(ToldOwner::as_json).collect();
        let mut lines = text::merged(&report);
        lines.extend(returned.iter().map(text::returned));
        lines.extend(told.iter().map(text::told));
        let mut end = code(&report);
        if let (Some(choice), Some(remote)) = (choice, &args.from) {
            object["from"] = json!(remote);
            object["left_out"] = choice.left_out_as_json();
            object["left_out_total"] = json!(choice.left_out_total);
            lines.extend(text::left_out(choice));
            if matches!(report.landing, Landing::Moved { .. }) {
                lines.push(text::push_hint(remote, target));
            }
            if matches!(end, Code::Done) {
                end = self.code_of_names(choice);
            }
        }
        say(json.then_some(object), &lines)?;
        Ok(end)
    }

    /// What was named and is not merged is a failure; of all, what is not done yet is none.
    fn code_of_names(&self, choice: &RemoteChoice) -> Code {
        if self.args.all || choice.left_out_total == 0 { Code::Done } else { Code::Failed }
    }
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
