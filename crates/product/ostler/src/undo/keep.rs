//! What a person asked to leave as it is: `--keep PATH`.

use crate::error::Error;
use ostler_core::permission::Anchors;
use ostler_core::permission::file_pattern::FilePattern;
use ostler_core::tool_facts::KnownTools;
use ostler_snapshots::{PathState, UndoUnit, WantedState};
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

const ASKED: &str = "--keep asks for it";

/// Paths from the working directory, with everything below; `*`, `?` and `**` stand for any names.
pub(super) struct KeepPaths {
    all: Vec<Kept>,
}

struct Kept {
    text: String,
    path: PathBuf,
    pattern: FilePattern,
}

impl KeepPaths {
    pub(super) fn new(cwd: &Path, texts: &[String]) -> Self {
        let kept = |text: &String| {
            // Patterns of rules take a bare name for a name anywhere, and `/` for the project.
            let anchored = match text.strip_prefix('/') {
                Some(rest) => format!("//{rest}"),
                None => format!("./{text}"),
            };
            let tools = &KnownTools::default();
            let anchors = Anchors { cwd, home: cwd, settings: cwd, tools };
            let pattern = FilePattern::new(&anchored, anchors);
            Kept { text: text.clone(), path: place(cwd, text), pattern }
        };
        KeepPaths { all: texts.iter().map(kept).collect() }
    }

    fn covers(&self, path: &Path) -> bool {
        self.all.iter().any(|kept| kept.covers(path))
    }

    /// Takes out of the way back what is to stay. A path that names nothing is an error.
    pub(super) fn spare(&self, units: &mut [UndoUnit]) -> Result<(), Error> {
        let paths = || units.iter().flat_map(|unit| unit.wanted.iter().chain(&unit.doubtful));
        let unused = self.all.iter().find(|kept| !paths().any(|wanted| kept.covers(&wanted.path)));
        if let Some(kept) = unused {
            // With a typo, the file that should be kept would be lost.
            return Err(Error::KeepsNothing(kept.text.clone()));
        }
        self.spare_any(units);
        Ok(())
    }

    /// The same, whether or not each path names something. A directory stays with what stays in it.
    pub(super) fn spare_any(&self, units: &mut [UndoUnit]) {
        for unit in units {
            let covered = |wanted: &WantedState| self.covers(&wanted.path);
            let (kept, rest) = std::mem::take(&mut unit.wanted).into_iter().partition(covered);
            let kept: Vec<WantedState> = kept;
            let above: HashSet<&Path> =
                kept.iter().flat_map(|wanted| wanted.path.ancestors().skip(1)).collect();
            let holds = |wanted: &WantedState| {
                matches!(wanted.before, PathState::Absent) && above.contains(wanted.path.as_path())
            };
            let (holding, rest): (Vec<WantedState>, Vec<WantedState>) =
                rest.into_iter().partition(holds);
            unit.wanted = rest;
            unit.doubtful.retain(|wanted| !covered(wanted));
            unit.stays.retain(|(wanted, _)| !covered(wanted));
            let holding = holding.into_iter();
            unit.stays.extend(holding.chain(kept).map(|wanted| (wanted, ASKED)));
        }
    }
}

impl Kept {
    fn covers(&self, path: &Path) -> bool {
        path.starts_with(&self.path) || self.pattern.matches(path)
    }
}

/// The path itself, whatever it leads to; the directories above it may be links.
fn place(cwd: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in cwd.join(text).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path };
    parent.canonicalize().map_or_else(|_| path.clone(), |parent| parent.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(path: &str, before: PathState) -> WantedState {
        WantedState { path: path.into(), before, after: PathState::Folder { mode: 0o755 } }
    }

    #[test]
    fn paths_directories_and_globs_are_covered() {
        let table = [
            ("a.txt", "/w/a.txt", true),
            ("a.txt", "/w/sub/a.txt", false),
            ("./a.txt", "/w/a.txt", true),
            ("sub", "/w/sub/deep/x", true),
            ("sub/", "/w/sub/deep/x", true),
            ("sub", "/w/subway", false),
            ("*.txt", "/w/a.txt", true),
            ("*.txt", "/w/sub/a.txt", false),
            ("**/*.txt", "/w/sub/a.txt", true),
            ("sub/*", "/w/sub/deep/x", true),
            ("/w/a.txt", "/w/a.txt", true),
            ("/x/a.txt", "/w/a.txt", false),
            ("../w/a.txt", "/w/a.txt", true),
            ("*glob*", "/w/*glob*", true),
            (".", "/w/anything", true),
        ];
        for (text, path, covered) in table {
            let keep = KeepPaths::new(Path::new("/w"), &[text.to_owned()]);
            assert_eq!(keep.covers(Path::new(path)), covered, "{text} {path}");
        }
    }

    #[test]
    fn a_directory_stays_with_what_stays_in_it() {
        let keep = KeepPaths::new(Path::new("/w"), &["new/mine".to_owned()]);
        let made =
            || vec![wanted("/w/new", PathState::Absent), wanted("/w/new/mine", PathState::Absent)];
        let mut unit = UndoUnit { wanted: made(), ..UndoUnit::default() };
        unit.wanted.push(wanted("/w/new/other", PathState::Absent));
        let mut units = [unit];
        assert!(keep.spare(&mut units).is_ok());
        let left: Vec<_> = units[0].wanted.iter().map(|wanted| wanted.path.clone()).collect();
        assert_eq!(left, [PathBuf::from("/w/new/other")]);
        assert_eq!(units[0].stays.len(), 2);
        let typo = KeepPaths::new(Path::new("/w"), &["new/mien".to_owned()]);
        let mut units = [UndoUnit { wanted: made(), ..UndoUnit::default() }];
        assert!(
            matches!(typo.spare(&mut units), Err(Error::KeepsNothing(text)) if text == "new/mien")
        );
        assert_eq!(units[0].wanted.len(), 2);
    }
}
