//! The store of a session's snapshots: opened with the session, and read again when it is resumed.

use crate::error::Error;
use crate::plain_threads::CHORES;
use crate::session_options::SessionOptions;
use crate::system::now_ns;
use ostler_core::ids::SessionId;
use ostler_core::permission::file_pattern::FilePattern;
use ostler_core::permission::{Derived, Live, Policy, Workspace};
use ostler_core::session::{SessionRecord, Snapshot};
use ostler_snapshots::{Config, PruneRule, RecordedChange, Snapshots};
use ostler_store::snapshot_folder;
use ostler_tools::Keeping;
use ostler_tools::confine::Confinement;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The snapshots of a workspace.
pub(super) fn open(home: &Path, workspace: &Path, roots: Vec<PathBuf>) -> Result<Snapshots, Error> {
    let dir = snapshot_folder(home, workspace);
    let hidden = home.canonicalize().into_iter().collect();
    Ok(Snapshots::open(Config { dir, roots, hidden, now: now_ns })?)
}

/// The snapshots of a workspace for looking at them later, with all roots that sessions worked in and without the
/// files that the last one was kept from.
pub(crate) fn open_snapshots(home: &Path, workspace: &Path) -> Result<Snapshots, Error> {
    let snapshots = open(home, workspace, vec![workspace.to_path_buf()])?;
    let rules = snapshots.denied_rules();
    let denied = DeniedNames::new(rules.iter().map(|rule| FilePattern::from_absolute(rule)));
    // Other names of denied files were found by the session.
    let found: HashSet<PathBuf> = snapshots.denied().into_iter().collect();
    let denies = move |path: &Path| found.contains(path) || denied.have(path);
    let snapshots = if rules.is_empty() { snapshots } else { snapshots.denying(denies) };
    Ok(snapshots.with_known_roots()?)
}

/// Sessions of other projects that were resumed in this directory.
pub(crate) fn visitors(home: &Path, cwd: &Path) -> Vec<String> {
    let there = snapshot_folder(home, cwd).is_dir();
    let opened = there.then(|| open(home, cwd, Vec::new()).ok()).flatten();
    opened.map(|snapshots| snapshots.visitors()).unwrap_or_default()
}

/// The store belongs to the session: its log names snapshots by their numbers there.
pub(crate) fn keeping(
    home: Option<&Path>,
    options: &SessionOptions,
    workspace: &Workspace,
    session: &SessionRecord,
    id: Option<&SessionId>,
    policy: &Live<Policy>,
    confinement: &Arc<Confinement>,
) -> Keeping {
    // Its branch is the way back.
    if options.tree.is_some() {
        return Keeping::Disposable;
    }
    let (Some(home), true) = (home, options.undo) else { return Keeping::Off };
    let began_in = session.workspace.as_os_str();
    let of = if began_in.is_empty() { &workspace.cwd } else { &session.workspace };
    let roots = [workspace.roots.clone(), confinement.repositories_around()].concat();
    let last = session.checkpoints.iter().map(|point| point.after.unwrap_or(point.before));
    let opened = open(home, of, roots).map(|snapshots| {
        let snapshots = denying(snapshots, policy, confinement);
        snapshots.numbering_after(last.max().unwrap_or(0))
    });
    match opened {
        Ok(snapshots) => {
            let snapshots = match id {
                Some(id) => Arc::new(snapshots.of_session(id.as_str())),
                None => Arc::new(snapshots),
            };
            let old = Arc::clone(&snapshots);
            // In the background, at most once a day; if it fails, the next start tries again.
            CHORES.run(move || drop(old.prune_if_due(PruneRule::default())));
            Keeping::By { snapshots }
        }
        Err(error) => Keeping::Impossible(error.to_string()),
    }
}

/// Leaves word for an undo of where the session works and what it is kept from.
pub(crate) fn remember(
    keeping: &Keeping,
    home: Option<&Path>,
    workspace: &Workspace,
    session: &SessionRecord,
    policy: &Policy,
) -> Result<(), Error> {
    let (Keeping::By { snapshots }, Some(home)) = (keeping, home) else { return Ok(()) };
    remember_denied(keeping, policy)?;
    snapshots.remember_roots(&workspace.cwd)?;
    match &session.id {
        Some(id) if session.workspace != workspace.cwd => {
            Ok(open(home, &workspace.cwd, Vec::new())?.remember_visitor(id.as_str())?)
        }
        _ => Ok(()),
    }
}

/// An undo keeps away from what these rules keep the session from.
pub(crate) fn remember_denied(keeping: &Keeping, policy: &Policy) -> Result<(), Error> {
    let Keeping::By { snapshots } = keeping else { return Ok(()) };
    let denied: Vec<String> = denied(policy).map(FilePattern::absolute).collect();
    Ok(snapshots.remember_denied(&denied)?)
}

/// What may not be read.
fn denied(policy: &Policy) -> impl Iterator<Item = &FilePattern> {
    policy.denied_files().filter(|denied| !denied.writing).map(|denied| denied.pattern)
}

/// A rule denies reading the directory and everything in it.
pub(crate) fn is_denied(policy: &Policy, folder: &Path) -> bool {
    DeniedNames::new(denied(policy).cloned()).have(folder)
}

/// Nothing is kept of files that may not be read.
fn denying(
    snapshots: Snapshots,
    policy: &Live<Policy>,
    confinement: &Arc<Confinement>,
) -> Snapshots {
    let (names, confinement) = (Derived::new(policy.clone()), Arc::clone(confinement));
    snapshots.denying(move |path| {
        let names = names.get(|policy: &Policy| DeniedNames::new(denied(policy).cloned()));
        !names.is_empty() && (names.have(path) || confinement.is_hidden(path))
    })
}

/// Patterns that are asked about every path: what the name alone decides is decided by it.
struct DeniedNames {
    places: Vec<PathBuf>,
    patterns: Vec<FilePattern>,
}

impl DeniedNames {
    fn new(patterns: impl Iterator<Item = FilePattern>) -> Self {
        let mut names = DeniedNames { places: Vec::new(), patterns: Vec::new() };
        for pattern in patterns {
            match pattern.place() {
                Some(place) => names.places.push(place),
                None => names.patterns.push(pattern),
            }
        }
        names
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty() && self.patterns.is_empty()
    }

    fn have(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.places.iter().any(|place| path.starts_with(place))
            || self
                .patterns
                .iter()
                .any(|pattern| pattern.may_end_in(&name) && pattern.matches(path))
    }
}

/// What commands changed in files, as levels that Revert can go back, in the order of the log.
pub(crate) fn levels(session: &SessionRecord, store: &Arc<Snapshots>) -> Vec<Snapshot> {
    const NEWEST: usize = 200;
    let skipped = session.checkpoints.len().saturating_sub(NEWEST);
    let ended = || session.checkpoints.iter().skip(skipped).filter(|point| point.after.is_some());
    let pairs: Vec<(u64, u64)> =
        ended().filter_map(|point| Some((point.before, point.after?))).collect();
    if pairs.is_empty() {
        return session.snapshots.clone();
    }
    // What is no longer stored cannot be gone back to.
    let diffs = store.diffs(&pairs).unwrap_or_default();
    let mut all = Vec::new();
    let mut file_tools = session.snapshots.iter().cloned();
    let mut taken = 0;
    for (point, changes) in ended().zip(diffs) {
        all.extend(file_tools.by_ref().take(point.snapshots.saturating_sub(taken)));
        taken = taken.max(point.snapshots);
        let changes = changes.unwrap_or_default();
        let is_own =
            |change: &&RecordedChange| point.only.is_empty() || point.only.contains(&change.path);
        let level = |change| ostler_tools::workspace::level(&point.call, change);
        all.extend(changes.iter().filter(is_own).filter_map(level));
    }
    all.extend(file_tools);
    all
}
