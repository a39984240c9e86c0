//! Whose change it was. While a command ran, file tools, other sessions and people may have changed files, too. What is
//! known to be the work of a file tool or of another session's command is not taken back; what a person did cannot be
//! told from the command's work.

use ostler_core::ids::BlobRef;
use ostler_core::ports::{Blobs, StoreError};
use ostler_snapshots::{
    AFTER_COMMAND, DiffPart, Hash, PathState, RecordedChange, SnapshotItem, ToolEdit, WantedState,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

const BY_TOOL: &str = "a file tool changed it while the command ran";
const BY_SESSION: &str = "a command of another session changed it while this one ran";

/// An edit is written down before the file is written: a look in between does not show it yet. In milliseconds.
pub(super) const SLACK: u64 = 2_000;

/// What changed while a command ran.
#[derive(Default)]
pub(super) struct Attribution {
    /// By path, oldest first.
    own: BTreeMap<PathBuf, Vec<Stretch>>,
    /// Nobody but commands of other sessions changed these.
    theirs: Vec<RecordedChange>,
}

/// What became of a path between two moments, in milliseconds since 1970.
struct Stretch {
    before: Option<SnapshotItem>,
    after: Option<SnapshotItem>,
    since: u64,
    until: u64,
    is_theirs: bool,
}

impl Stretch {
    fn is_nothing(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before.is_same(after),
            (before, after) => before.is_none() && after.is_none(),
        }
    }
}

impl Attribution {
    /// What was found when a command of another session ended is the work of that one.
    pub(super) fn of(parts: Vec<DiffPart>, session: &str) -> Self {
        let mut all: BTreeMap<PathBuf, Vec<Stretch>> = BTreeMap::new();
        for DiffPart { label, since, at, changes } in parts {
            let other = label.session.as_deref().is_some_and(|other| other != session);
            let is_theirs = other && label.reason == AFTER_COMMAND;
            for RecordedChange { path, before, after } in changes {
                let stretches = all.entry(path).or_default();
                match stretches.last_mut() {
                    Some(last) if last.is_theirs == is_theirs => {
                        (last.after, last.until) = (after, at);
                    }
                    _ => stretches.push(Stretch { before, after, since, until: at, is_theirs }),
                }
            }
        }
        let mut found = Attribution::default();
        for (path, mut stretches) in all {
            stretches.retain(|stretch| !stretch.is_nothing());
            let only_theirs = stretches.iter().all(|stretch| stretch.is_theirs);
            let theirs = only_theirs.then(|| change(&path, &stretches)).flatten();
            stretches.retain(|stretch| !stretch.is_theirs);
            if only_theirs {
                found.theirs.extend(theirs);
            } else if !stretches.is_empty() {
                found.own.insert(path, stretches);
            }
        }
        found
    }

    /// What is not known to be somebody else's.
    pub(super) fn changes(&self) -> Vec<RecordedChange> {
        self.own.iter().filter_map(|(path, stretches)| change(path, stretches)).collect()
    }

    /// Nothing but these can be the work of the command.
    pub(super) fn restrict_to(&mut self, files: &[PathBuf]) {
        self.own.retain(|path, _| files.contains(path));
        self.theirs.retain(|change| files.contains(&change.path));
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Path) -> bool) {
        self.own.retain(|path, _| keep(path));
    }

    /// What to restore, each path's newest change first, and what stays. `edits` is what file tools wrote, oldest
    /// first;
    /// `known` are files that file tools of the session itself are known to have changed.
    pub(super) fn settled(
        self,
        edits: &[ToolEdit],
        known: &HashSet<PathBuf>,
        blobs: &dyn Blobs,
    ) -> (Vec<WantedState>, Vec<(WantedState, &'static str)>) {
        let mut by_path: HashMap<&Path, Vec<&ToolEdit>> = HashMap::new();
        for edit in edits {
            by_path.entry(&edit.path).or_default().push(edit);
        }
        let mut wanted = Vec::new();
        let theirs = self.theirs.into_iter().map(|change| (WantedState::from(change), BY_SESSION));
        let mut stays: Vec<_> = theirs.collect();
        for (path, stretches) in self.own {
            let of_path = by_path.get(path.as_path()).map(Vec::as_slice).unwrap_or_default();
            let during = |stretch: &Stretch| -> Vec<&ToolEdit> {
                of_path.iter().copied().filter(|edit| is_during(edit, stretch)).collect()
            };
            let is_noted = stretches.iter().any(|stretch| !during(stretch).is_empty());
            // What a file tool replaced may be lost: then nothing can be distinguished.
            let pieces = stretches.iter().map(|stretch| pieces(stretch, &during(stretch), blobs));
            let pieces = pieces.collect::<Result<Vec<_>, _>>().unwrap_or_default().concat();
            if pieces.is_empty() || (known.contains(&path) && !is_noted) {
                let whole = change(&path, &stretches);
                stays.extend(whole.map(|change| (WantedState::from(change), BY_TOOL)));
                continue;
            }
            let piece = |(before, after)| WantedState { path: path.clone(), before, after };
            wanted.extend(pieces.into_iter().rev().map(piece));
        }
        (wanted, stays)
    }
}

/// From the first state to the last.
fn change(path: &Path, stretches: &[Stretch]) -> Option<RecordedChange> {
    let (first, last) = (stretches.first()?, stretches.last()?);
    let (before, after) = (first.before.clone(), last.after.clone());
    Some(RecordedChange { path: path.to_path_buf(), before, after })
}

fn is_during(edit: &ToolEdit, stretch: &Stretch) -> bool {
    let at = edit.at / 1_000_000;
    (stretch.since.saturating_sub(SLACK)..=stretch.until).contains(&at)
}

/// What became of a path apart from the edits: from the state before to what the first of them found, from what one left
/// to what the next one found, and from what the last one left to the state after.
fn pieces(
    stretch: &Stretch,
    edits: &[&ToolEdit],
    blobs: &dyn Blobs,
) -> Result<Vec<(PathState, PathState)>, StoreError> {
    let (start, end) =
        (PathState::of(stretch.before.as_ref()), PathState::of(stretch.after.as_ref()));
    let mode = match (&start, &end) {
        (PathState::File { mode, .. }, _) | (_, PathState::File { mode, .. }) => *mode,
        _ => 0o644,
    };
    let (mut pieces, mut at) = (Vec::new(), start);
    for edit in edits {
        let found = match &edit.before {
            Some(blob) => PathState::file(blobs.get(&BlobRef::new(blob.as_str()))?, mode),
            None => PathState::Absent,
        };
        // It was done before the state before was looked at.
        if edit.at / 1_000_000 < stretch.since && !is_same_file(&at, &found) {
            continue;
        }
        pieces.push((at, found));
        at = match edit.after.as_deref().and_then(Hash::from_hex) {
            Some(hash) => PathState::File { hash, mode, bytes: None },
            None => PathState::Absent,
        };
    }
    pieces.push((at, end));
    pieces.retain(|(before, after)| !is_same_file(before, after));
    Ok(pieces)
}

fn is_same_file(a: &PathState, b: &PathState) -> bool {
    match (a, b) {
        (PathState::Absent, PathState::Absent) => true,
        (
            PathState::File { hash: a, mode: in_a, .. },
            PathState::File { hash: b, mode: in_b, .. },
        ) => (a, in_a) == (b, in_b),
        _ => false,
    }
}
