//! Repositories that were made by what is undone. Objects of git stay, since what was made since may need them; but where
//! a whole repository goes and nobody did anything in it, they are of no use to anybody.

use crate::plan::{Fate, PathState, Planner, UndoUnit};
use crate::special_names::is_object;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

impl Planner<'_> {
    pub(crate) fn empty_repositories(&mut self, units: &[UndoUnit]) {
        let mut made: BTreeMap<PathBuf, HashSet<PathBuf>> = BTreeMap::new();
        for wanted in units.iter().flat_map(|unit| &unit.wanted) {
            if matches!(wanted.before, PathState::Absent)
                && is_object(&wanted.path)
                && self.current(&wanted.path).is_same(&wanted.after)
                && let Some(repository) = repository_of(&wanted.path)
            {
                made.entry(repository.to_path_buf()).or_default().insert(wanted.path.clone());
            }
        }
        for (repository, objects) in made {
            let goes = |path: &PathBuf| matches!(self.then.get(path), Some(PathState::Absent));
            let all = self.standing_below(&repository);
            if goes(&repository) && all.iter().all(|path| objects.contains(path) || goes(path)) {
                for object in objects {
                    self.put(&object, PathState::Absent, Fate::Removed);
                }
            }
        }
    }

    fn standing_below(&self, folder: &Path) -> Vec<PathBuf> {
        let mut paths = self.snapshots.paths_below(folder);
        paths.retain(|path| !self.past.contains_key(path));
        let was_there = |(path, item): &(&PathBuf, &Option<crate::SnapshotItem>)| {
            item.is_some() && path.starts_with(folder) && path.as_path() != folder
        };
        paths.extend(self.past.iter().filter(was_there).map(|(path, _)| path.clone()));
        paths
    }
}

/// The directory that holds the directory of objects.
fn repository_of(object: &Path) -> Option<&Path> {
    let objects = object.ancestors().find(|path| path.file_name().is_some_and(|n| n == "objects"));
    objects?.parent()
}
