//! Which branch makes the check fail: the whole batch first, then halves of it.

use super::{BranchOutcome, Check, MergeQueue, Step, Verdict};
use crate::error::WorktreeError;
use crate::object_id::ObjectId;

pub(super) enum Search {
    /// Everything together passes.
    Green,
    /// The steps before this one pass together; with it they fail.
    Culprit { at: usize, outcome: BranchOutcome },
    /// No branch can be blamed.
    Stopped { why: String },
}

impl MergeQueue<'_> {
    pub(super) async fn search(
        &mut self,
        base: &ObjectId,
        steps: &[Step],
        check: &mut Option<&mut dyn Check>,
    ) -> Result<Search, WorktreeError> {
        let Some(check) = check else { return Ok(Search::Green) };
        let check: &mut dyn Check = &mut **check;
        let Some(last) = steps.last() else { return Ok(Search::Green) };
        let mut report = match self.verdict(&last.commit, check).await? {
            Verdict::Green => return Ok(Search::Green),
            Verdict::Unable { why } => return Ok(Search::Stopped { why }),
            Verdict::Red { report } => report,
        };
        match self.verdict(base, check).await? {
            Verdict::Green => {}
            Verdict::Unable { why } => return Ok(Search::Stopped { why }),
            Verdict::Red { report } => {
                let why = format!("the check fails on {} itself: {report}", self.options.target);
                return Ok(Search::Stopped { why });
            }
        }
        // So many steps pass together, so many fail together.
        let (mut green, mut red) = (0, steps.len());
        while red - green > 1 {
            let middle = (green + red) / 2;
            match self.verdict(&steps[middle - 1].commit, check).await? {
                Verdict::Green => green = middle,
                Verdict::Red { report: newer } => (red, report) = (middle, newer),
                Verdict::Unable { why } => return Ok(Search::Stopped { why }),
            }
        }
        let (before, culprit) = (&steps[..green], &steps[green]);
        let with = self.partner(base, before, culprit, check).await?;
        let outcome = BranchOutcome::Red { report, alone: with.is_empty(), with };
        Ok(Search::Culprit { at: green, outcome })
    }

    /// The branch without which the culprit passes; none if it fails alone. If it cannot be said which one it is, all of
    /// them are named.
    async fn partner(
        &mut self,
        base: &ObjectId,
        before: &[Step],
        culprit: &Step,
        check: &mut dyn Check,
    ) -> Result<Vec<String>, WorktreeError> {
        let all = || before.iter().map(|step| step.candidate.branch.clone()).collect();
        // From this step on it fails, from that one on it passes.
        let (mut fails, mut passes) = (0, before.len());
        if before.is_empty() || self.passes_with(base, &[], culprit, check).await? == Some(false) {
            return Ok(Vec::new());
        }
        while passes - fails > 1 {
            let middle = usize::midpoint(fails, passes);
            match self.passes_with(base, &before[middle..], culprit, check).await? {
                Some(true) => passes = middle,
                Some(false) => fails = middle,
                None => return Ok(all()),
            }
        }
        Ok(vec![before[fails].candidate.branch.clone()])
    }

    /// None: that cannot be said.
    async fn passes_with(
        &mut self,
        base: &ObjectId,
        some: &[Step],
        culprit: &Step,
        check: &mut dyn Check,
    ) -> Result<Option<bool>, WorktreeError> {
        let mut top = base.clone();
        for step in some.iter().chain([culprit]) {
            match self.merge(&top, &step.candidate).await? {
                Ok(commit) => top = commit,
                Err(_) => return Ok(None),
            }
        }
        Ok(match self.verdict(&top, check).await? {
            Verdict::Green => Some(true),
            Verdict::Red { .. } => Some(false),
            Verdict::Unable { .. } => None,
        })
    }

    /// Files that were checked before are not checked again.
    async fn verdict(
        &mut self,
        commit: &ObjectId,
        check: &mut dyn Check,
    ) -> Result<Verdict, WorktreeError> {
        let doing = "look up the files of a commit";
        let call = self.git.at(&self.trees.repository.top, doing);
        let call = call.args(["rev-parse", "--verify", "--end-of-options"]);
        let files =
            ObjectId::printed(&call.arg(format!("{commit}^{{tree}}")).text().await?, doing)?;
        if let Some(known) = self.verdicts.get(&files) {
            return Ok(known.clone());
        }
        if self.checks >= self.options.most_checks {
            let why = format!("the check ran {} times without a result", self.checks);
            return Ok(Verdict::Unable { why });
        }
        let place = self.tree.check_out(self.trees, &self.git, commit).await?;
        self.checks += 1;
        let verdict = check.check(&place, commit).await;
        if !matches!(verdict, Verdict::Unable { .. }) {
            self.verdicts.insert(files, verdict.clone());
        }
        Ok(verdict)
    }
}
