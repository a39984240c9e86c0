//! What a person asked to leave as it is: `--keep PATH`.

use crate::error::Error;
use ostler_core::permission::Anchors;
use ostler_core::permission::file_pattern::Pattern;
use ostler_core::tool_facts::KnownTools;
use ostler_snapshots::{State, Unit, Wanted};
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
    pattern: Pattern,
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
            let pattern = Pattern::new(&anchored, anchors);
            Kept { text: text.clone(), path: place(cwd, text), pattern }
        };
        KeepPaths { all: texts.iter().map(kept).collect() }
    }

    fn covers(&self, path: &Path) -> bool {
        self.all.iter().any(|kept| kept.covers(path))
    }

    /// Takes out of the way back what is to stay. A path that names nothing is an error.
    pub(super) fn spare(&self, units: &mut [Unit]) -> Result<(), Error> {
        let paths = || units.iter().flat_map(|unit| unit.wanted.iter().chain(&unit.doubtful));
        let unused = self.all.iter().find(|kept| !paths().any(|wanted| kept.covers(&wanted.path)));
        if let Some(kept) = unused {
            // Whoever mistyped a name would lose what was to be kept.
            return Err(Error::KeepsNothing(kept.text.clone()));
        }
        self.spare_any(units);
        Ok(())
    }

    /// The same, whether or not each path names something. A directory stays with what stays in it.
    pub(super) fn spare_any(&self, units: &mut [Unit]) {
        for unit in units {
            let covered = |wanted: &Wanted| self.covers(&wanted.path);
            let (kept, rest) = std::mem::take(&mut unit.wanted).into_iter().partition(covered);
            let kept: Vec<Wanted> = kept;
            let above: HashSet<&Path> =
                kept.iter().flat_map(|wanted| wanted.path.ancestors().skip(1)).collect();
            let holds = |wanted: &Wanted| {
                matches!(wanted.before, State::Absent) && above.contains(wanted.path.as_path())
            };
            let (holding, rest): (Vec<Wanted>, Vec<Wanted>) = rest.into_iter().partition(holds);
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

    fn wanted(path: &str, before: State) -> Wanted {
        Wanted { path: path.into(), before, after: State::Folder { mode: 0o755 } }
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
        let made = || vec![wanted("/w/new", State::Absent), wanted("/w/new/mine", State::Absent)];
        let mut unit = Unit { wanted: made(), ..Unit::default() };
        unit.wanted.push(wanted("/w/new/other", State::Absent));
        let mut units = [unit];
        assert!(keep.spare(&mut units).is_ok());
        let left: Vec<_> = units[0].wanted.iter().map(|wanted| wanted.path.clone()).collect();
        assert_eq!(left, [PathBuf::from("/w/new/other")]);
        assert_eq!(units[0].stays.len(), 2);
        let typo = KeepPaths::new(Path::new("/w"), &["new/mien".to_owned()]);
        let mut units = [Unit { wanted: made(), ..Unit::default() }];
        assert!(
            matches!(typo.spare(&mut units), Err(Error::KeepsNothing(text)) if text == "new/mien")
        );
        assert_eq!(units[0].wanted.len(), 2);
    }
}
