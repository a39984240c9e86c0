//! How an undo that was killed is brought to its end: the same plan once more, made for the state before it began, and of
//! that what is still to be done.

use crate::error::Error;
use crate::item::{SnapshotItem, What};
use crate::plan::{Fate, Past, PathState, PlanOutcome, RestoreAction, RestorePlan, UndoUnit};
use crate::store::Snapshots;

impl Snapshots {
    /// What is left of going back through these calls, which was planned at the snapshot `at` and killed. `now` is the
    /// snapshot that was taken just before.
    ///
    /// # Errors
    /// If the snapshot is not kept any more.
    pub fn plan_again(&self, units: &[UndoUnit], at: u64, now: u64) -> Result<RestorePlan, Error> {
        let past: Past =
            self.diff(at, now)?.into_iter().map(|change| (change.path, change.before)).collect();
        let mut plan = self.plan_at(units, &past)?;
        plan.modes = self.opened(&past, &plan.actions);
        for action in std::mem::take(&mut plan.actions) {
            let now = self.now(&action.path);
            if now.is_same(&action.to) {
                continue;
            }
            if now.is_same(&action.from) || is_midway(&action, &now) {
                plan.actions.push(RestoreAction { from: now, ..action });
                continue;
            }
            let fate = Fate::Kept("was changed after this was interrupted");
            plan.outcomes.retain(|outcome| outcome.path != action.path);
            plan.outcomes.push(PlanOutcome { path: action.path, fate });
        }
        Ok(plan)
    }

    /// Directories that were opened up for the work, with the modes they had.
    fn opened(&self, past: &Past, actions: &[RestoreAction]) -> Vec<(std::path::PathBuf, u32)> {
        let mut opened = Vec::new();
        for (path, item) in past {
            if let (
                Some(SnapshotItem { what: What::Folder, mode, .. }),
                PathState::Folder { mode: now },
            ) = (item, self.now(path))
                && now != *mode
                && now == mode | 0o700
                && actions.iter().any(|action| action.path.starts_with(path))
            {
                opened.push((path.clone(), *mode));
            }
        }
        opened
    }
}

/// A state that only an undo at work leaves.
fn is_midway(action: &RestoreAction, now: &PathState) -> bool {
    let RestoreAction { from, to, .. } = action;
    let is_folder = |state: &PathState| matches!(state, PathState::Folder { .. });
    match now {
        // Removed, and what takes its place is not there yet.
        PathState::Absent => from.kind() != to.kind(),
        // Without its mode, or opened up.
        PathState::Folder { .. } => is_folder(to) || is_folder(from),
        PathState::Pinned { .. } => now.only_mode(to).is_some(),
        _ => false,
    }
}
