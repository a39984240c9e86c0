//! The snapshots of a directory, for people who want to look at them.

use super::open_snapshots;
use crate::error::Error;
use ostler_snapshots::{PruneRule, Pruned, RecordedChange, SnapshotItem, Snapshots, What};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotLine {
    pub id: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub reason: String,
    /// The session that it was taken for, and the command behind it, on one line and shortened.
    pub session: Option<String>,
    pub command: Option<String>,
    /// Paths that changed, without those of git; of the first snapshot, all that it holds.
    pub changed: usize,
    /// Paths in a `.git` that changed.
    pub of_git: usize,
    pub base: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotChange {
    pub path: PathBuf,
    /// `added`, `removed`, `modified` or `mode`.
    pub kind: &'static str,
}

fn open(home: &Path, cwd: &Path) -> Result<Snapshots, Error> {
    open_snapshots(home, cwd)
}

/// Oldest first.
///
/// # Errors
/// If they cannot be read.
pub fn list_snapshots(home: &Path, cwd: &Path) -> Result<Vec<SnapshotLine>, Error> {
    let line = |line: ostler_snapshots::ListedSnapshot| SnapshotLine {
        id: line.id,
        at: line.at,
        reason: line.label.reason,
        session: line.label.session,
        command: line.label.command,
        changed: line.changed,
        of_git: line.of_git,
        base: line.base,
    };
    Ok(open(home, cwd)?.list()?.into_iter().map(line).collect())
}

/// What differs between two snapshots; without `b` between `a` and the directory as it is now, without both between the
/// last snapshot and now. Gives the numbers that were compared, too.
///
/// # Errors
/// If there is no such snapshot.
pub fn diff_snapshots(
    home: &Path,
    cwd: &Path,
    a: Option<u64>,
    b: Option<u64>,
) -> Result<(u64, u64, Vec<SnapshotChange>), Error> {
    let snapshots = open(home, cwd)?;
    let last = snapshots.list()?.last().map(|line| line.id);
    let to = match b {
        Some(b) => b,
        None => snapshots.take("to compare")?.id,
    };
    let from = a.or(last).unwrap_or(to);
    let changes = snapshots.diff(from, to)?;
    Ok((from, to, changes.into_iter().map(shown).collect()))
}

fn shown(change: RecordedChange) -> SnapshotChange {
    let content = |item: &SnapshotItem| match &item.what {
        What::Folder => "folder".to_owned(),
        other => format!("{other:?}"),
    };
    let kind = match (&change.before, &change.after) {
        (None, _) => "added",
        (_, None) => "removed",
        (Some(before), Some(after)) if content(before) == content(after) => "mode",
        _ => "modified",
    };
    SnapshotChange { path: change.path, kind }
}

/// Drops what the rule does not keep; gives snapshots, objects and bytes that went, and snapshots that stay.
///
/// # Errors
/// If they cannot be written.
pub fn prune_snapshots(home: &Path, cwd: &Path, dry_run: bool) -> Result<Pruned, Error> {
    Ok(open(home, cwd)?.prune(PruneRule::default(), dry_run)?)
}
