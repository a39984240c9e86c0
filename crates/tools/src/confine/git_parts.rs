//! The files of repositories that make git run programs: commands may not change them.

use std::path::{Path, PathBuf};

/// Below a repository's own folder. What is missing must not appear either.
const PARTS: [&str; 4] = ["hooks", "config", "config.worktree", "info/attributes"];
/// Of a linked worktree, below `worktrees/NAME`.
const OF_A_WORKTREE: [&str; 3] = ["gitdir", "commondir", "config.worktree"];

/// Names looked at in the search for repositories inside a root.
const MOST_NAMES: usize = 4_000;
/// Folders between a root and a repository inside it.
const MOST_LEVELS: usize = 5;
/// Repositories that are guarded.
const MOST_REPOSITORIES: usize = 200;
/// Folders that are full of names and hold no repository of the project's own.
const SKIPPED: [&str; 5] = ["node_modules", "target", ".venv", "vendor", "__pycache__"];

/// All such files of every repository in the roots.
pub(super) fn of(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut search = Search::default();
    for root in roots {
        search.folder(root, 0);
    }
    let mut parts = search.links;
    for folder in &search.repositories {
        parts.extend(PARTS.map(|part| folder.join(part)));
        for worktree in below(&folder.join("worktrees")) {
            let there = OF_A_WORKTREE.map(|part| worktree.join(part)).into_iter();
            parts.extend(there.filter(|part| part.exists()));
        }
    }
    parts.sort();
    parts.dedup();
    parts
}

#[derive(Default)]
struct Search {
    /// Folders such as `.git` and `.git/modules/x`.
    repositories: Vec<PathBuf>,
    /// `.git` files that lead to a repository elsewhere.
    links: Vec<PathBuf>,
    names: usize,
}

impl Search {
    fn folder(&mut self, folder: &Path, level: usize) {
        let git = folder.join(".git");
        match git.symlink_metadata() {
            Ok(meta) if meta.is_dir() => self.repository(git),
            Ok(_) => self.links.push(git),
            Err(_) => {}
        }
        if level == MOST_LEVELS {
            return;
        }
        for inside in below(folder) {
            self.names += 1;
            let skipped = inside.file_name().is_some_and(|name| {
                name == ".git" || SKIPPED.iter().any(|skipped| name == *skipped)
            });
            if self.names > MOST_NAMES || self.repositories.len() > MOST_REPOSITORIES {
                return;
            }
            if !skipped {
                self.folder(&inside, level + 1);
            }
        }
    }

    /// With those of its submodules, which may have submodules again.
    fn repository(&mut self, folder: PathBuf) {
        if self.repositories.len() > MOST_REPOSITORIES {
            return;
        }
        let mut open = below(&folder.join("modules"));
        self.repositories.push(folder);
        while let Some(inside) = open.pop() {
            self.names += 1;
            if self.names > MOST_NAMES {
                return;
            }
            if inside.join("HEAD").exists() {
                self.repository(inside);
            } else {
                // A submodule's name may have slashes.
                open.extend(below(&inside));
            }
        }
    }
}

/// The folders in it, without links.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut found: Vec<PathBuf> = folders.map(|entry| entry.path()).take(MOST_NAMES).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_repository_in_the_roots_counts_with_its_modules_and_worktrees() {
        let world = tempfile::tempdir().unwrap();
        let at = |name: &str| world.path().join(name);
        for folder in [
            "ws/.git/modules/a/hooks",
            "ws/.git/modules/deep/b",
            "ws/.git/worktrees/w",
            "ws/vendored/lib/.git",
            "ws/node_modules/x/.git",
            "ws/sub",
            "other/.git",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "ws/.git/modules/a/HEAD",
            "ws/.git/modules/deep/b/HEAD",
            "ws/.git/worktrees/w/gitdir",
            "ws/sub/.git",
        ] {
            fs::write(at(file), "x").unwrap();
        }
        let found = of(&[at("ws")]);
        let below = |name: &str| found.contains(&at(name));
        for name in [
            "ws/.git/hooks",
            "ws/.git/config",
            "ws/.git/config.worktree",
            "ws/.git/info/attributes",
            "ws/.git/modules/a/config",
            "ws/.git/modules/deep/b/hooks",
            "ws/.git/worktrees/w/gitdir",
            "ws/vendored/lib/.git/config",
            "ws/sub/.git",
        ] {
            assert!(below(name), "{name} is missing in {found:?}");
        }
        for name in ["ws/.git/worktrees/w/commondir", "ws/node_modules/x/.git/config"] {
            assert!(!below(name), "{name}");
        }
        assert!(!found.iter().any(|path| path.starts_with(at("other"))));
        assert!(!found.iter().any(|path| path.ends_with("index")), "the index stays writable");
    }
}
