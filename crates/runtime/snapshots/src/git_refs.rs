//! Branches on the way back. Git keeps where a branch points to in a file of its own or in `packed-refs`, and moves it from
//! one to the other when it tidies up.

use crate::error::Error;
use crate::plan::{Fate, PathState, Planner, UndoUnit, WantedState};
use crate::special_names::Area;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Planner<'_> {
    /// Where a person continued with the branch that is checked out, it stays checked out, with the index.
    pub(crate) fn keep_head(&mut self, unit: &UndoUnit) -> Result<(), Error> {
        let is_checkout = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name == "HEAD" || name == "index")
                && path.parent().is_some_and(|folder| !folder.ends_with("logs"))
                && Area::of(path) == Area::Git
        };
        let paths = unit.wanted.iter().map(|wanted| &wanted.path).filter(is_checkout);
        let folders: BTreeSet<PathBuf> =
            paths.filter_map(|path| path.parent()).map(Path::to_path_buf).collect();
        for folder in folders {
            let head = folder.join("HEAD");
            let text = self.text(&self.now(&head))?.unwrap_or_default();
            let Some(branch) = text.strip_prefix("ref: ").map(|name| folder.join(name.trim()))
            else {
                continue;
            };
            if matches!(self.fate(&branch), Some(Fate::Kept(_))) {
                for path in [head, folder.join("index")] {
                    if self.then.remove(&path).is_some() {
                        self.say(&path, Fate::Kept("its branch was changed since"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Git has packed a ref since, with another value than going back by its file would mean.
    pub(crate) fn is_packed_since(
        &self,
        wanted: &WantedState,
        now: &PathState,
    ) -> Result<bool, Error> {
        let WantedState { path, before, after } = wanted;
        if !matches!(now, PathState::Absent) || Area::of(path) != Area::Git {
            return Ok(false);
        }
        let mut above = path.ancestors().skip(1);
        let refs = above.find(|folder| folder.ends_with("refs"));
        let Some(git) = refs.and_then(Path::parent) else { return Ok(false) };
        let packed = git.join("packed-refs");
        let text = self.text(&self.now(&packed))?.unwrap_or_default();
        let name = path.strip_prefix(git).ok().and_then(Path::to_str);
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let Some((value, _)) = lines.into_iter().find(|(_, of)| Some(*of) == name) else {
            return Ok(false);
        };
        let has = |state: &PathState| {
            Ok::<_, Error>(self.text(state)?.is_some_and(|t| t.trim() == value))
        };
        match (before, after) {
            (PathState::File { .. }, PathState::Absent) => {
                Ok(matches!(self.fate(&packed), Some(Fate::Kept(_))) && !has(before)?)
            }
            (PathState::Absent, PathState::File { .. }) => has(after),
            _ => Ok(false),
        }
    }

    /// None if it is no file, or its content is not held any more.
    fn text(&self, state: &PathState) -> Result<Option<String>, Error> {
        match self.snapshots.bytes(state) {
            Err(Error::Lost(_)) => Ok(None),
            other => Ok(other?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())),
        }
    }
}
