//! Which files of a directory may contain skills, and the name that follows from the place of each.

use crate::catalog::{Folder, SkillLayout};
use crate::skill::Problem;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of a directory that are read, and entries that are examined.
const MOST_FILES: usize = 500;
const MOST_ENTRIES: usize = 5_000;
/// How deep directories of commands can be nested.
const DEEPEST: usize = 5;

const SKILL: &str = "SKILL.md";

/// A file that may contain a skill.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    pub(crate) file: PathBuf,
    /// From its place: the directory of a skill, `sub:x` for the command `sub/x.md`.
    pub(crate) name: String,
}

/// What was found, by path, and what lies there and is not loaded.
#[derive(Default)]
pub(crate) struct SkillSearch {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) problems: Vec<Problem>,
    looked: usize,
    seen: HashSet<PathBuf>,
}

impl SkillSearch {
    pub(crate) fn of(folder: &Folder) -> SkillSearch {
        let mut search = SkillSearch::default();
        match folder.layout {
            SkillLayout::Skills => search.skills(folder),
            SkillLayout::Commands => search.commands(folder, &folder.path, &[]),
        }
        search.candidates.sort();
        if search.candidates.len() > MOST_FILES {
            search.candidates.truncate(MOST_FILES);
            search.left_out(
                &folder.path,
                format!("more than {MOST_FILES} skills; the rest is not loaded"),
            );
        }
        search
    }

    fn left_out(&mut self, file: &Path, what: impl Into<String>) {
        self.problems.push(Problem { file: file.to_owned(), line: 1, what: what.into() });
    }

    /// By name. Entries beyond the limit are reported once.
    fn entries(&mut self, folder: &Path) -> Vec<PathBuf> {
        let left = MOST_ENTRIES.saturating_sub(self.looked);
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.take(left + 1).map(|entry| entry.path()).collect();
        if paths.len() > left {
            if self.looked <= MOST_ENTRIES {
                self.left_out(
                    folder,
                    format!("more than {MOST_ENTRIES} entries; the rest is not searched"),
                );
            }
            paths.truncate(left);
            self.looked = MOST_ENTRIES + 1;
        }
        self.looked += paths.len();
        paths.sort();
        paths
    }

    /// `<name>/SKILL.md`
    fn skills(&mut self, folder: &Folder) {
        for path in self.entries(&folder.path) {
            let file = path.join(SKILL);
            if file.symlink_metadata().is_ok() {
                self.candidates.push(Candidate { file, name: file_name(&path) });
            } else if path.is_dir() && is_inside(folder, &path) {
                self.misplaced(&path);
            } else if is_markdown(&path) && !is_about(&path) {
                self.left_out(
                    &path,
                    "a skill is a directory with a SKILL.md; this file is not loaded",
                );
            }
        }
    }

    /// A directory without a `SKILL.md` of its own.
    fn misplaced(&mut self, folder: &Path) {
        for path in self.entries(folder) {
            let below = path.join(SKILL);
            if file_name(&path).eq_ignore_ascii_case(SKILL) {
                self.left_out(&path, "not loaded; rename it to SKILL.md");
            } else if below.symlink_metadata().is_ok() {
                self.left_out(
                    &below,
                    "not loaded; move its directory directly into the skills directory",
                );
            }
        }
    }

    /// `<name>.md`, and `<sub>/<name>.md` as `sub:name`. A directory with a `SKILL.md` is one skill.
    fn commands(&mut self, folder: &Folder, place: &Path, names: &[String]) {
        if place.is_dir() && !is_inside(folder, place) {
            return self.left_out(place, "a link leads out of the project; skipped");
        }
        // A link may lead to a directory above it.
        let real = place.symlink_metadata().and_then(|_| place.canonicalize());
        if !real.is_ok_and(|real| self.seen.insert(real)) {
            return;
        }
        let skill = place.join(SKILL);
        if !names.is_empty() && skill.symlink_metadata().is_ok() {
            self.candidates.push(Candidate { file: skill, name: names.join(":") });
            return;
        }
        for path in self.entries(place) {
            let called = |name: String| names.iter().cloned().chain([name]).collect::<Vec<_>>();
            if path.is_dir() {
                match names.len() < DEEPEST {
                    true => self.commands(folder, &path, &called(file_name(&path))),
                    false => self.left_out(&path, "commands nested this deep are not loaded"),
                }
            } else if is_markdown(&path) {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                self.candidates.push(Candidate { name: called(stem).join(":"), file: path });
            }
        }
    }
}

/// No link leads out of the project that the directory belongs to.
fn is_inside(folder: &Folder, path: &Path) -> bool {
    let Some(within) = &folder.within else { return true };
    path.canonicalize().is_ok_and(|real| real.starts_with(within))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md")
}

/// A file about the directory, not a skill that someone misplaced.
fn is_about(path: &Path) -> bool {
    ["README.md", "CLAUDE.md", "AGENTS.md"]
        .iter()
        .any(|name| file_name(path).eq_ignore_ascii_case(name))
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
