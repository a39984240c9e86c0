//! Where calls were made. A session that was resumed in another directory is undone there, and only there.

use super::calls::{ChangingCall, Did};
use super::keeping::visitors;
use super::{Desk, UndoChoice};
use crate::error::Error;
use crate::log_choice::find;
use ostler_core::ids::SessionId;
use ostler_core::ports::SessionStore;
use ostler_snapshots::Snapshots;
use ostler_store::FileStore;
use std::path::{Path, PathBuf};

/// The session that was written to last of those that worked in the directory.
pub(super) fn newest_session(store: &FileStore, choice: &UndoChoice) -> Result<SessionId, Error> {
    let modified = |id: &SessionId, workspace: &Path| {
        let listed = store.list(workspace).ok()?.into_iter().find(|info| info.id == *id)?;
        Some((listed.modified, listed.id))
    };
    let own = store.latest(&choice.cwd)?;
    let visitors = visitors(&choice.home, &choice.cwd);
    if visitors.is_empty() {
        return own.ok_or(Error::NothingToUndo);
    }
    let own = own.and_then(|id| modified(&id, &choice.cwd));
    let visitor = |name: &String| {
        let found = store.find(name).ok()??;
        modified(&found.id, &found.workspace?)
    };
    let all = visitors.iter().filter_map(visitor).chain(own);
    let newest = all.max_by_key(|(modified, _)| *modified).map(|(_, id)| id);
    newest.map_or(Err(Error::NothingToUndo), |id| find(store, id.as_str()))
}

/// The sessions that worked in the directory, the one that was written to last first.
pub(super) fn sessions_here(choice: &UndoChoice) -> Result<Vec<SessionId>, Error> {
    let store = FileStore::new(&choice.home)?;
    let mut found = store.list(&choice.cwd)?;
    for name in visitors(&choice.home, &choice.cwd) {
        let Ok(Some(visitor)) = store.find(&name) else { continue };
        let Some(listed) = visitor.workspace.and_then(|place| store.list(&place).ok()) else {
            continue;
        };
        found.extend(listed.into_iter().filter(|info| info.id == visitor.id));
    }
    found.sort_by_key(|info| std::cmp::Reverse(info.modified));
    Ok(found.into_iter().map(|info| info.id).collect())
}

/// What tells the calls of one directory from those of others.
pub(super) struct Location {
    /// Roots that only sessions in this directory worked in, and those of others only.
    own: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

impl Location {
    /// None if all sessions of the store worked in one directory.
    pub(super) fn of(snapshots: &Snapshots, cwd: &Path, workspace: &Path) -> Option<Self> {
        let mut known = snapshots.known_roots();
        known.push((workspace.to_path_buf(), workspace.to_path_buf()));
        let cwd = if known.iter().any(|(place, _)| place == cwd) { cwd } else { workspace };
        let (here, there): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|(place, _)| place == cwd);
        let (here, there): (Vec<_>, Vec<_>) = (
            here.into_iter().map(|(_, root)| root).collect(),
            there.into_iter().map(|(_, root)| root).collect(),
        );
        let only = |roots: &[PathBuf], others: &[PathBuf]| -> Vec<PathBuf> {
            roots.iter().filter(|root| !others.contains(root)).cloned().collect()
        };
        let location = Location { own: only(&here, &there), others: only(&there, &here) };
        (!location.others.is_empty()).then_some(location)
    }

    fn has(&self, paths: &[PathBuf]) -> bool {
        let lies_in = |roots: &[PathBuf]| {
            paths.iter().any(|path| roots.iter().any(|root| path.starts_with(root)))
        };
        lies_in(&self.own) || !lies_in(&self.others)
    }
}

impl Desk {
    /// Made in this directory, as far as its changes tell.
    pub(super) fn is_here(&self, call: &ChangingCall) -> bool {
        let Some(location) = &self.location else { return true };
        match &call.did {
            Did::Files(files) => location.has(&files.keys().cloned().collect::<Vec<_>>()),
            Did::Command { before, after: Some(after), .. } => {
                let changes = self.snapshots.diff(*before, *after).unwrap_or_default();
                location.has(&changes.into_iter().map(|change| change.path).collect::<Vec<_>>())
            }
            Did::Command { after: None, .. } => true,
        }
    }
}
