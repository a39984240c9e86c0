//! Directories that file tools made for their files: they go with them.

use super::Desk;
use super::calls::FileChange;
use ostler_snapshots::{PathState, ToolEdit, WantedState};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

impl Desk {
    /// Those that were made for files of a call and are still there. Only an empty one will go.
    pub(super) fn folders_made(&self, files: &BTreeMap<PathBuf, FileChange>) -> Vec<WantedState> {
        let made: Vec<_> = files.iter().filter(|(_, change)| change.before.is_none()).collect();
        if made.is_empty() {
            return Vec::new();
        }
        let edits = self.snapshots.edits_since(0);
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        for (path, change) in made {
            let is_it = |edit: &&ToolEdit| {
                edit.session == self.session.as_str()
                    && (&edit.path, &edit.before, &edit.after) == (path, &None, &change.after)
            };
            // If it was made several times, only what was made each time.
            let count = edits.iter().filter(is_it).map(|edit| edit.folders).min().unwrap_or(0);
            folders.extend(path.ancestors().skip(1).take(count));
        }
        let wanted = |folder: &Path| {
            let after = PathState::of(self.snapshots.known(folder).as_ref());
            let is_there = matches!(after, PathState::Folder { .. });
            let wanted =
                WantedState { path: folder.to_path_buf(), before: PathState::Absent, after };
            is_there.then_some(wanted)
        };
        folders.into_iter().filter_map(wanted).collect()
    }
}
