//! The merge queue: takes branches in order, checks what they give together, and moves the target.
//!
//! Branches are merged on top of the target's newest commit, as commits that no branch names. The check runs on the
//! merged files, in a worktree of the queue's own. If it fails, the queue looks for the branch that makes it fail and
//! returns that one to its owner; the others are merged. Branches of workers are never rewritten.
//!
//! The target moves by compare-and-swap. If a process is killed anywhere, the same call does the rest: what was merged
//! is recognized, and nothing else has happened.

mod clean_checkout;
mod landing;
mod queue_tree;
mod report;
mod search;

use crate::error::WorktreeError;
use crate::git::Git;
use crate::object_id::ObjectId;
use crate::overlap::TrialMerge;
use crate::worktrees::Worktrees;
pub use clean_checkout::CleanCheckout;
use landing::Landed;
use queue_tree::QueueTree;
pub use report::{
    BranchOutcome, BranchReport, Check, CheckFuture, Landing, QueueOptions, QueueReport,
    QueuedBranch, Verdict,
};
use search::Search;
use std::collections::HashMap;
use std::path::PathBuf;

/// A branch that waits.
#[derive(Debug, Clone)]
struct Candidate {
    /// Its place in the call.
    number: usize,
    branch: String,
    tip: ObjectId,
}

/// A branch on top of everything before it.
#[derive(Debug, Clone)]
struct Step {
    candidate: Candidate,
    commit: ObjectId,
}

pub struct MergeQueue<'a> {
    trees: &'a Worktrees,
    git: Git,
    options: QueueOptions,
    tree: QueueTree,
    verdicts: HashMap<ObjectId, Verdict>,
    checks: u32,
    interrupted: Option<String>,
}

impl<'a> MergeQueue<'a> {
    /// # Errors
    /// If another process merges into the same branch.
    pub async fn open(trees: &'a Worktrees, options: QueueOptions) -> Result<Self, WorktreeError> {
        let git = trees.safe_git().await?;
        let tree = QueueTree::open(trees, &options.target)?;
        let verdicts = HashMap::new();
        let mut queue =
            MergeQueue { trees, git, options, tree, verdicts, checks: 0, interrupted: None };
        queue.interrupted = queue.look_for_interruption().await?;
        Ok(queue)
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.options.target)
    }

    /// Where merged commits are kept while they are checked.
    fn keeper(&self) -> String {
        format!("refs/ostler/queue/{}", self.options.target)
    }

    async fn target_tip(&self) -> Result<ObjectId, WorktreeError> {
        let missing = || WorktreeError::NoBranch(self.options.target.clone());
        self.trees.tip(&self.options.target).await?.ok_or_else(missing)
    }

    /// Merges these branches, in this order. Without a check, whatever merges is merged.
    ///
    /// # Errors
    /// If git fails, or the target does not exist. What was merged before stays merged.
    pub async fn run(
        &mut self,
        branches: &[String],
        check: Option<&mut dyn Check>,
    ) -> Result<QueueReport, WorktreeError> {
        let branches: Vec<QueuedBranch> = branches.iter().map(QueuedBranch::here).collect();
        self.run_at(&branches, check).await
    }

    /// The same for branches that may not be here, at the commits that are given with them.
    ///
    /// # Errors
    /// As above.
    pub async fn run_at(
        &mut self,
        branches: &[QueuedBranch],
        mut check: Option<&mut dyn Check>,
    ) -> Result<QueueReport, WorktreeError> {
        let before = self.target_tip().await?;
        let mut run = QueueRun::new(branches.len());
        self.admit(&mut run, branches, &before).await?;
        let mut moved = 0;
        while !run.rest.is_empty() {
            let base = self.target_tip().await?;
            let steps = self.stack(&mut run, &base).await?;
            if steps.is_empty() {
                continue;
            }
            match self.search(&base, &steps, &mut check).await? {
                Search::Stopped { why } => run.stop(&why),
                Search::Green => moved += self.land(&mut run, &base, &steps).await?,
                Search::Culprit { at, outcome } => {
                    let (green, others) = steps.split_at(at);
                    let again = self.land(&mut run, &base, green).await?;
                    moved += again;
                    if again == 0 {
                        run.settle(&others[0].candidate, outcome);
                    }
                }
            }
            if moved > self.options.retries {
                run.stop("the target was moved by others again and again");
            }
        }
        self.trees.drop_ref(&self.keeper(), matches!(run.landing, Landing::Held { .. })).await?;
        Ok(QueueReport {
            target: self.options.target.clone(),
            before,
            after: self.target_tip().await?,
            landing: run.landing.clone(),
            branches: run.outcomes_of(branches),
            checks: self.checks,
            interrupted: self.interrupted.clone(),
        })
    }

    /// Removes the queue's own worktree. Otherwise it stays, with its build output, for the next time.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub async fn close(self) -> Result<(), WorktreeError> {
        self.tree.remove(self.trees).await
    }

    async fn admit(
        &self,
        run: &mut QueueRun,
        branches: &[QueuedBranch],
        target: &ObjectId,
    ) -> Result<(), WorktreeError> {
        for (number, QueuedBranch { branch, commit }) in branches.iter().enumerate() {
            let tip = match commit {
                Some(commit) => {
                    let top = &self.trees.repository.top;
                    ObjectId::resolve(&self.trees.git, top, commit.as_str()).await?
                }
                None => self.trees.tip(branch).await?,
            };
            let outcome = match tip {
                None => BranchOutcome::Missing,
                Some(tip) if self.trees.is_ancestor(&tip, target).await? => {
                    BranchOutcome::AlreadyMerged
                }
                Some(tip) => {
                    run.rest.push(Candidate { number, branch: branch.clone(), tip });
                    continue;
                }
            };
            run.outcomes[number] = Some(outcome);
        }
        Ok(())
    }

    /// Merges as many branches as fit into a batch on top of each other. A branch that conflicts with another one of the
    /// batch waits for the next round, because that one may not be merged after all; one that conflicts with the target
    /// is settled.
    async fn stack(&self, run: &mut QueueRun, base: &ObjectId) -> Result<Vec<Step>, WorktreeError> {
        let mut steps: Vec<Step> = Vec::new();
        for candidate in run.rest.clone() {
            if steps.len() >= self.options.batch.max(1) {
                break;
            }
            let top = steps.last().map_or(base, |step| &step.commit).clone();
            match self.merge(&top, &candidate).await? {
                Ok(commit) => steps.push(Step { candidate, commit }),
                Err(_) if !steps.is_empty() => {}
                Err(files) => {
                    let with = self.rivals(run, &candidate).await?;
                    run.settle(&candidate, BranchOutcome::Conflict { files, with });
                }
            }
        }
        if let Some(last) = steps.last() {
            self.trees.keep_ref(&self.keeper(), &last.commit).await?;
        }
        Ok(steps)
    }

    /// A branch on top of a commit; or the files that conflict.
    async fn merge(
        &self,
        top: &ObjectId,
        candidate: &Candidate,
    ) -> Result<Result<ObjectId, Vec<PathBuf>>, WorktreeError> {
        if self.trees.is_ancestor(top, &candidate.tip).await? {
            return Ok(Ok(candidate.tip.clone()));
        }
        // Another branch of this call contains it.
        if self.trees.is_ancestor(&candidate.tip, top).await? {
            return Ok(Ok(top.clone()));
        }
        let tree = match self.trees.trial_merge(&self.git, top, &candidate.tip).await? {
            TrialMerge::Clean { tree } => tree,
            TrialMerge::Conflict { files } => return Ok(Err(files)),
            TrialMerge::Unrelated => return Ok(Err(Vec::new())),
        };
        let message = format!("Merge branch '{}' into {}\n", candidate.branch, self.options.target);
        let parents = [top.clone(), candidate.tip.clone()];
        let commit =
            self.trees.write_commit(&self.git, &tree, &parents, &message, &self.options.author);
        Ok(Ok(commit.await?))
    }

    /// Branches merged in this call that a branch conflicts with.
    async fn rivals(
        &self,
        run: &QueueRun,
        candidate: &Candidate,
    ) -> Result<Vec<String>, WorktreeError> {
        let mut rivals = Vec::new();
        for merged in &run.merged {
            let trial = self.trees.trial_merge(&self.git, &merged.tip, &candidate.tip).await?;
            if matches!(trial, TrialMerge::Conflict { .. }) {
                rivals.push(merged.branch.clone());
            }
        }
        Ok(rivals)
    }

    /// Moves the target to the last step. Gives 1 if somebody else has moved it, and nothing happened.
    async fn land(
        &self,
        run: &mut QueueRun,
        base: &ObjectId,
        steps: &[Step],
    ) -> Result<u32, WorktreeError> {
        let Some(last) = steps.last() else { return Ok(0) };
        match self.move_target(base, &last.commit).await? {
            Landed::Done { checkout } => {
                run.landing = Landing::Moved { checkout };
                for step in steps {
                    run.merged.push(step.candidate.clone());
                    run.settle(
                        &step.candidate,
                        BranchOutcome::Merged { commit: step.commit.clone() },
                    );
                }
            }
            Landed::TargetMoved => return Ok(1),
            Landed::Held { why } => {
                self.trees.keep_ref(&self.keeper(), &last.commit).await?;
                for step in steps {
                    run.settle(
                        &step.candidate,
                        BranchOutcome::Ready { commit: step.commit.clone() },
                    );
                }
                run.stop(&why);
                run.landing = Landing::Held { why, reference: self.keeper() };
            }
        }
        Ok(0)
    }
}

/// The state of one call.
struct QueueRun {
    rest: Vec<Candidate>,
    merged: Vec<Candidate>,
    outcomes: Vec<Option<BranchOutcome>>,
    landing: Landing,
}

impl QueueRun {
    fn new(branches: usize) -> Self {
        let outcomes = vec![None; branches];
        QueueRun { rest: Vec::new(), merged: Vec::new(), outcomes, landing: Landing::Unchanged }
    }

    fn settle(&mut self, candidate: &Candidate, outcome: BranchOutcome) {
        self.rest.retain(|other| other.number != candidate.number);
        if let Some(slot) = self.outcomes.get_mut(candidate.number).filter(|slot| slot.is_none()) {
            *slot = Some(outcome);
        }
    }

    fn stop(&mut self, why: &str) {
        for candidate in std::mem::take(&mut self.rest) {
            self.settle(&candidate, BranchOutcome::NotReached { why: why.to_owned() });
        }
    }

    fn outcomes_of(self, branches: &[QueuedBranch]) -> Vec<BranchReport> {
        let never = || BranchOutcome::NotReached { why: "the queue stopped".to_owned() };
        let reports = branches.iter().zip(self.outcomes);
        reports
            .map(|(queued, outcome)| BranchReport {
                branch: queued.branch.clone(),
                outcome: outcome.unwrap_or_else(never),
            })
            .collect()
    }
}

impl Worktrees {
    pub(crate) async fn is_ancestor(
        &self,
        old: &ObjectId,
        new: &ObjectId,
    ) -> Result<bool, WorktreeError> {
        let call = self.git.at(&self.repository.top, "compare two commits");
        let output =
            call.args(["merge-base", "--is-ancestor", old.as_str(), new.as_str()]).run().await?;
        if output.code > 1 { Err(output.failure()) } else { Ok(output.code == 0) }
    }

    /// A ref that only the holder of the queue's lock moves.
    async fn keep_ref(&self, reference: &str, commit: &ObjectId) -> Result<(), WorktreeError> {
        let call = self.git.at(&self.repository.top, "keep the merged commit");
        call.args(["update-ref", reference, commit.as_str()]).success().await.map(drop)
    }

    async fn drop_ref(&self, reference: &str, is_needed: bool) -> Result<(), WorktreeError> {
        if is_needed {
            return Ok(());
        }
        let call = self.git.at(&self.repository.top, "drop the merged commit");
        call.args(["update-ref", "-d", reference]).success().await.map(drop)
    }
}
