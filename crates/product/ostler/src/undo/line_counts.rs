//! How many lines an undo adds and removes.

use ostler_core::diff::{self, DiffOp};
use ostler_snapshots::{PathState, RestorePlan, Snapshots};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Larger files are not compared.
const LARGEST: usize = 1 << 20;
/// The comparison may take so long; then it counts more lines than need be.
const PATIENCE: Duration = Duration::from_millis(500);

/// Lines of all files together. What is not text, or is too large, has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    pub added: usize,
    pub removed: usize,
}

impl LineCounts {
    pub(super) fn of(snapshots: &Snapshots, plan: &RestorePlan) -> Self {
        let deadline = Some(Instant::now() + PATIENCE);
        let mut counts = LineCounts::default();
        for action in &plan.actions {
            let (Some(from), Some(to)) =
                (text(snapshots, &action.from), text(snapshots, &action.to))
            else {
                continue;
            };
            for op in diff::lines(&diff::split(&from), &diff::split(&to), deadline) {
                if !matches!(op, DiffOp::Equal { .. }) {
                    counts.removed += op.old_range().len();
                    counts.added += op.new_range().len();
                }
            }
        }
        counts
    }
}

impl std::ops::Add for LineCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        LineCounts { added: self.added + other.added, removed: self.removed + other.removed }
    }
}

/// Nothing where there is no file; none where it cannot be compared.
fn text<'a>(snapshots: &Snapshots, state: &'a PathState) -> Option<Cow<'a, [u8]>> {
    let content = match state {
        PathState::Absent | PathState::Folder { .. } => return Some(Cow::Borrowed(&[])),
        PathState::File { bytes: Some(bytes), .. } => Cow::Borrowed(&**bytes),
        PathState::File { hash, bytes: None, .. } => Cow::Owned(snapshots.content(hash).ok()?),
        _ => return None,
    };
    (content.len() <= LARGEST && !content.contains(&0)).then_some(content)
}
