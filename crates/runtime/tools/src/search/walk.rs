//! The files of a tree, in the order of their paths, without what git does not track.

use crate::blocking_task::TaskStop;
use ignore::WalkBuilder;
use std::path::{Path, PathBuf};

/// Regular files below a directory. Hidden ones are listed, `.git` and ignored ones are not, links are not followed.
/// Ends early when the work must stop.
pub struct FileWalk<'a> {
    walk: ignore::Walk,
    stop: &'a TaskStop,
    /// Directories and files that could not be looked at.
    pub unreadable: usize,
}

impl<'a> FileWalk<'a> {
    pub fn new(root: &Path, stop: &'a TaskStop) -> Self {
        // In a repository git's own rules hold, those of the directories above included. Elsewhere a `.gitignore`
        // counts from the searched directory on: one that happens to lie further up belongs to somebody else.
        let in_repository = root.ancestors().any(|ancestor| ancestor.join(".git").exists());
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .follow_links(false)
            .require_git(false)
            .parents(in_repository)
            .git_global(false)
            .current_dir(root)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        FileWalk { walk, stop, unreadable: 0 }
    }
}

impl Iterator for FileWalk<'_> {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        while self.stop.reached().is_none() {
            match self.walk.next()? {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    return Some(entry.into_path());
                }
                Ok(_) => {}
                Err(_) => self.unreadable += 1,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(root: &Path) -> Vec<String> {
        let stop = TaskStop::never();
        let below = |path: PathBuf| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        FileWalk::new(root, &stop).map(below).collect()
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    #[test]
    fn files_are_sorted_and_ignored_ones_left_out() {
        let dir = tree(&[
            ("b/z.rs", ""),
            ("b/a.rs", ""),
            ("a.txt", ""),
            ("a/x", ""),
            (".hidden", ""),
            (".gitignore", "*.log\n/target\n"),
            ("t.log", ""),
            ("target/out", ""),
            ("b/target/kept", ""),
            (".git/config", ""),
            ("sub/.git", "gitdir: x"),
        ]);
        let expected =
            [".gitignore", ".hidden", "a/x", "a.txt", "b/a.rs", "b/target/kept", "b/z.rs"];
        assert_eq!(names(dir.path()), expected);
    }

    #[test]
    fn rules_above_hold_inside_a_repository_only() {
        let dir = tree(&[(".gitignore", "*.log\n"), ("sub/a.log", ""), ("sub/b", "")]);
        assert_eq!(names(&dir.path().join("sub")), ["a.log", "b"]);
        fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(names(&dir.path().join("sub")), ["b"]);
    }

    #[test]
    fn links_are_not_followed_and_pipes_not_listed() {
        let dir = tree(&[("d/a", "")]);
        std::os::unix::fs::symlink("..", dir.path().join("d/up")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("etc")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe"), rustix::fs::Mode::RUSR)
            .unwrap();
        assert_eq!(names(dir.path()), ["d/a"]);
    }

    #[test]
    fn it_stops_when_told() {
        let dir = tree(&[("a", "")]);
        assert_eq!(FileWalk::new(dir.path(), &TaskStop::now()).count(), 0);
    }
}
