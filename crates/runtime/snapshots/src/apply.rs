//! What a walk found → the index, and the list of changes.

use crate::index::{Dir, FileIndex};
use crate::item::{SnapshotItem, What, Why};
use crate::record::RecordedChange;
use crate::walk::WalkResult;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What taking over a walk did.
#[derive(Default)]
pub(crate) struct Applied {
    pub changes: Vec<RecordedChange>,
    /// Entries whose stamps are new although their state is not.
    pub stamps: usize,
    /// Something is known now that no record tells.
    pub revealed: bool,
    /// Directories that are others than before, although they look the same.
    pub replaced: HashSet<PathBuf>,
    /// Directories that cannot be looked into: what is known of them is old.
    pub closed: HashSet<PathBuf>,
}

/// `roots` are the directories that were walked, as they stand now.
pub(crate) fn apply(
    index: &mut FileIndex,
    found: WalkResult,
    roots: Vec<(PathBuf, SnapshotItem)>,
) -> Applied {
    let closed = found.closed.into_iter().collect();
    let mut applied = Applied { closed, ..Applied::default() };
    // What is seen for the first time was not made by whoever ran last.
    let mut revealed = Vec::new();
    let is_folder = |item: &SnapshotItem| item.what == What::Folder;
    let unseen: HashSet<PathBuf> = found
        .dirs
        .iter()
        .filter(|(path, _)| index.is_unseen(path) && index.get(path).is_some_and(is_folder))
        .map(|(path, _)| path.clone())
        .collect();
    for (path, dir) in found.dirs {
        let old = index.dirs.remove(&path).unwrap_or_default();
        compare(index, &path, &old, &dir, &mut applied, &mut revealed);
        index.dirs.insert(path, dir);
    }
    for (path, item) in roots {
        match index.roots.iter_mut().find(|(root, _)| *root == path) {
            Some((_, known)) => {
                if !known.is_same(&item) {
                    let before = Some(std::mem::replace(known, item.clone()));
                    applied.changes.push(RecordedChange { path, before, after: Some(item) });
                }
            }
            None => {
                revealed.push(path.clone());
                index.roots.push((path, item));
            }
        }
    }
    let is_new = |change: &RecordedChange| {
        revealed.iter().any(|root| change.path != *root && change.path.starts_with(root))
    };
    applied.changes.retain(|change| !is_new(change));
    // In a directory that could not be looked into nobody knows what was there before.
    let within = |change: &&mut RecordedChange| {
        change.path.ancestors().skip(1).any(|path| unseen.contains(path))
    };
    for change in applied.changes.iter_mut().filter(within) {
        change.before = change.before.take().or_else(|| change.after.clone().map(unreadable));
    }
    applied.revealed = !revealed.is_empty();
    applied.changes.sort_by(|a, b| a.path.cmp(&b.path));
    index.files = found.files;
    applied
}

fn compare(
    index: &mut FileIndex,
    path: &Path,
    old: &Dir,
    new: &Dir,
    applied: &mut Applied,
    revealed: &mut Vec<PathBuf>,
) {
    let (mut had, mut has) = (old.entries.iter().peekable(), new.entries.iter().peekable());
    loop {
        let order = match (had.peek(), has.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let before = if order.is_le() { had.next() } else { None };
        let after = if order.is_ge() { has.next() } else { None };
        let Some((name, _)) = before.or(after) else { return };
        let path = path.join(OsStr::from_bytes(name));
        let (before, after) = (before.map(|(_, item)| item), after.map(|(_, item)| item));
        changed(index, path, before, after, applied, revealed);
    }
}

fn changed(
    index: &mut FileIndex,
    path: PathBuf,
    before: Option<&SnapshotItem>,
    after: Option<&SnapshotItem>,
    applied: &mut Applied,
    revealed: &mut Vec<PathBuf>,
) {
    if let (Some(before), Some(after)) = (before, after)
        && before.is_same(after)
    {
        applied.stamps += usize::from(before != after);
        if before.what == What::Folder && before.stamp.ino != after.stamp.ino {
            applied.replaced.insert(path);
        }
        return;
    }
    let is = |item: Option<&SnapshotItem>, what: &What| item.is_some_and(|item| item.what == *what);
    let mut before = before.cloned();
    if is(before.as_ref(), &What::Folder) && !is(after, &What::Folder) {
        if index.is_unseen(&path) {
            before = before.map(unreadable);
        }
        let mut gone = Vec::new();
        index.remove_tree(&path, &mut gone);
        // A directory that has grown too large is still there, only not followed any more.
        if !is(after, &What::LeftOut(Why::Build)) {
            applied.changes.append(&mut gone);
        }
    }
    if matches!(before.as_ref().map(|item| &item.what), Some(What::LeftOut(_))) && after.is_some() {
        revealed.push(path.clone());
    }
    applied.changes.push(RecordedChange { path, before, after: after.cloned() });
}

/// It was there, and nobody could read it.
fn unreadable(item: SnapshotItem) -> SnapshotItem {
    SnapshotItem { what: What::LeftOut(Why::Unreadable), ..item }
}

/// Parts the changes into those made before a moment, and the others. `since` is that moment by the clock of the path, in
/// nanoseconds. When it cannot be told, a change belongs to the others.
pub(crate) fn part(
    index: &FileIndex,
    applied: Applied,
    since: &dyn Fn(&Path) -> Option<i64>,
) -> (Vec<RecordedChange>, Vec<RecordedChange>) {
    let Applied { changes, replaced, closed, .. } = applied;
    let folder = |path: &Path| {
        let dir = index.dirs.get(path).filter(|_| !closed.contains(path));
        dir.map(|dir| dir.stamp)
    };
    let is_folder =
        |item: &SnapshotItem| matches!(item.what, What::Folder | What::LeftOut(Why::Build));
    let is_older = |change: &RecordedChange| {
        let at = match &change.after {
            Some(item) if is_folder(item) => folder(&change.path).map(|stamp| stamp.ctime),
            Some(item) => Some(item.changed_at()),
            None => change.path.ancestors().skip(1).find_map(folder).map(|stamp| stamp.mtime),
        };
        at.zip(since(&change.path)).is_some_and(|(at, since)| at < since)
    };
    // What is moved along with a directory keeps its own times.
    let mut moved: HashSet<PathBuf> = replaced;
    let is_later = |path: &PathBuf| {
        let at = folder(path).zip(since(path));
        at.is_none_or(|(stamp, since)| stamp.ctime >= since)
    };
    moved.retain(is_later);
    let made = |change: &&RecordedChange| {
        change.before.is_none() && change.after.as_ref().is_some_and(is_folder) && !is_older(change)
    };
    moved.extend(changes.iter().filter(made).map(|change| change.path.clone()));
    let along = |change: &RecordedChange| {
        !moved.is_empty() && change.path.ancestors().skip(1).any(|above| moved.contains(above))
    };
    changes.into_iter().partition(|change| is_older(change) && !along(change))
}
