//! The store of a session's snapshots: opened with the session, and read again when it is resumed.

use crate::error::Error;
use crate::options::Options;
use crate::system::now_ns;
use ostler_core::ids::SessionId;
use ostler_core::permission::Workspace;
use ostler_core::session::{Session, Snapshot};
use ostler_snapshots::{Config, Rule, Snapshots};
use ostler_store::snapshot_folder;
use ostler_tools::Keeping;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The snapshots of a workspace. `roots` are added to those known from before.
pub(crate) fn open_snapshots(
    home: &Path,
    workspace: &Path,
    roots: Vec<PathBuf>,
) -> Result<Snapshots, Error> {
    let dir = snapshot_folder(home, workspace);
    let hidden = home.canonicalize().into_iter().collect();
    Ok(Snapshots::open(Config { dir, roots, hidden, now: now_ns })?)
}

/// The store belongs to the session: its log names snapshots by their numbers there.
pub(crate) fn keeping(
    options: &Options,
    workspace: &Workspace,
    session: &Session,
    id: Option<&SessionId>,
) -> Keeping {
    let (Some(home), true) = (&options.home, options.undo) else { return Keeping::Off };
    let began_in = session.workspace.as_os_str();
    let of = if began_in.is_empty() { &workspace.cwd } else { &session.workspace };
    match open_snapshots(home, of, workspace.roots.clone()) {
        Ok(snapshots) => {
            let snapshots = match id {
                Some(id) => Arc::new(snapshots.of_session(id.as_str())),
                None => Arc::new(snapshots),
            };
            let old = Arc::clone(&snapshots);
            // In the background, at most once a day; if it fails, the next start tries again.
            let _ = std::thread::Builder::new().spawn(move || old.prune_if_due(Rule::default()));
            Keeping::By { snapshots, now: now_ns }
        }
        Err(error) => Keeping::Impossible(error.to_string()),
    }
}

/// What commands changed in files, as levels that Revert can go back, in the order of the log.
pub(crate) fn levels(session: &Session, store: &Arc<Snapshots>) -> Vec<Snapshot> {
    const NEWEST: usize = 200;
    let skipped = session.checkpoints.len().saturating_sub(NEWEST);
    let ended = || session.checkpoints.iter().skip(skipped).filter(|point| point.after.is_some());
    let pairs: Vec<(u64, u64)> =
        ended().filter_map(|point| Some((point.before, point.after?))).collect();
    if pairs.is_empty() {
        return session.snapshots.clone();
    }
    // What is no longer kept cannot be gone back to.
    let diffs = store.diffs(&pairs).unwrap_or_default();
    let mut all = Vec::new();
    let mut file_tools = session.snapshots.iter().cloned();
    let mut taken = 0;
    for (point, changes) in ended().zip(diffs) {
        all.extend(file_tools.by_ref().take(point.snapshots.saturating_sub(taken)));
        taken = taken.max(point.snapshots);
        let changes = changes.unwrap_or_default();
        let level = |change| ostler_tools::workspace::level(&point.call, change);
        all.extend(changes.iter().filter_map(level));
    }
    all.extend(file_tools);
    all
}
