//! The files of repositories that make git run programs: commands may not change them.

use super::git_settings::{named_by, worktree_of};
use super::repository::is_repository;
use crate::read_small_text;
use std::path::{Path, PathBuf};

/// Below a repository's own directory. What is missing must not appear either.
const PARTS: [&str; 4] = ["hooks", "config", "config.worktree", "info/attributes"];
/// It leads git to another configuration. Where there is none, an empty one in its place would break git.
const ELSEWHERE: &str = "commondir";
/// Of a linked worktree, below `worktrees/NAME`.
const OF_A_WORKTREE: [&str; 3] = ["gitdir", "commondir", "config.worktree"];

/// Names looked at in the search for repositories inside a root.
const MOST_NAMES: usize = 4_000;
/// Directories between a root and a repository inside it.
const MOST_LEVELS: usize = 5;
/// Repositories that are guarded.
const MOST_REPOSITORIES: usize = 200;
/// Of a file that git reads.
const MOST_BYTES: u64 = 1 << 20;
/// Directories that are full of names and hold no repository of the project's own.
const SKIPPED: [&str; 4] = ["node_modules", "target", ".venv", "__pycache__"];

/// The files of repositories that make git run programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitParts {
    /// A mount can hold them, there or not.
    pub(super) fixed: Vec<PathBuf>,
    /// Not there, and nothing can be put in their place: looked for afterwards.
    pub(super) absent: Vec<PathBuf>,
    /// The repositories themselves: directories such as `.git` and `.git/modules/x`.
    pub(super) repositories: Vec<PathBuf>,
}

/// Of every repository in the roots, and of those around them.
pub(super) fn of(roots: &[PathBuf], around: &[PathBuf], home: &Path) -> GitParts {
    let mut search = GitPartSearch::default();
    for root in roots {
        search.folder(root, 0);
    }
    for folder in around {
        search.repository(folder.clone());
    }
    let mut parts = GitParts { fixed: search.links, ..GitParts::default() };
    for folder in &search.repositories {
        parts.fixed.extend(PARTS.map(|part| folder.join(part)));
        parts.fixed.extend(named_by(folder, roots, home));
        let elsewhere = folder.join(ELSEWHERE);
        let list = if elsewhere.exists() { &mut parts.fixed } else { &mut parts.absent };
        list.push(elsewhere);
        for worktree in below(&folder.join("worktrees")) {
            parts.fixed.extend(OF_A_WORKTREE.map(|part| worktree.join(part)));
        }
    }
    parts.repositories = search.repositories;
    for list in [&mut parts.fixed, &mut parts.absent, &mut parts.repositories] {
        list.sort();
        list.dedup();
    }
    parts
}

/// A repository that a root is part of and that lies outside: its own directory, and the top of its files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Around {
    pub(super) git: PathBuf,
    /// None for the top of a linked worktree: its files are the root's.
    pub(super) top: Option<PathBuf>,
}

/// Who works in a directory of a repository, or in a linked worktree, expects git to work there.
pub(super) fn around(root: &Path) -> Option<Around> {
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let at = root.ancestors().find(has_git)?;
    let own = at.join(".git");
    // Below the top of a repository, git needs the rest of its files.
    let top = (at != root).then(|| at.to_owned());
    if own.is_dir() {
        return top.map(|top| Around { git: own, top: Some(top) });
    }
    let text = read_small_text(&own, MOST_BYTES)?;
    let folder = at.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let common = read_small_text(&folder.join(ELSEWHERE), MOST_BYTES);
    // A file can lead anywhere, and a command may have written it: only a repository that knows of this worktree
    // counts, and only if its own directory is where git puts those of worktrees.
    let back = read_small_text(&folder.join("gitdir"), MOST_BYTES);
    let knows = back.is_some_and(|back| Path::new(back.trim()) == own);
    let git = match common {
        Some(common) => {
            let git = folder.join(common.trim()).canonicalize().ok()?;
            let is_worktree = folder.parent() == Some(git.join("worktrees").as_path());
            Some(git).filter(|_| knows && is_worktree)
        }
        // A submodule: its directory lies in that of the repository around it.
        None => {
            let inside = |above: &Path| folder.starts_with(above.join(".git/modules"));
            let within = at.ancestors().skip(1).any(inside);
            let knows = worktree_of(&folder).is_some_and(|worktree| worktree == at);
            (within && knows).then_some(folder)
        }
    };
    let git = git.filter(|git| is_repository(git) && !root.starts_with(git))?;
    Some(Around { git, top })
}

#[derive(Default)]
struct GitPartSearch {
    /// Directories such as `.git` and `.git/modules/x`.
    repositories: Vec<PathBuf>,
    /// `.git` files that lead to a repository elsewhere.
    links: Vec<PathBuf>,
    names: usize,
}

impl GitPartSearch {
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

/// The directories in it, without links.
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
        let config = "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../team.cfg\n";
        fs::write(at("ws/.git/config"), config).unwrap();
        let GitParts { fixed: found, absent, .. } = of(&[at("ws")], &[], &at("home"));
        assert!(absent.contains(&at("ws/.git/commondir")), "{absent:?}");
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
            "ws/.husky/",
            "ws/team.cfg",
            "ws/.git/worktrees/w/config.worktree",
        ] {
            assert!(below(name), "{name} is missing in {found:?}");
        }
        assert!(!below("ws/node_modules/x/.git/config"));
        assert!(!found.iter().any(|path| path.starts_with(at("other"))));
        assert!(!found.iter().any(|path| path.ends_with("index")), "the index stays writable");
    }

    #[test]
    fn a_repository_around_a_root_counts_if_it_knows_of_it() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        for folder in ["repo/.git/worktrees/w", "repo/sub/deep", "linked", "liar", "other/.git"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let link = |to: &str| format!("gitdir: {}\n", at(to).display());
        fs::write(at("linked/.git"), link("repo/.git/worktrees/w")).unwrap();
        fs::write(at("repo/.git/worktrees/w/commondir"), "../..\n").unwrap();
        let back = format!("{}\n", at("linked/.git").display());
        fs::write(at("repo/.git/worktrees/w/gitdir"), back).unwrap();
        // Neither a worktree nor a submodule of it.
        fs::write(at("liar/.git"), link("other/.git")).unwrap();
        for folder in ["repo/.git", "other/.git"] {
            for name in ["objects", "refs"] {
                fs::create_dir(at(folder).join(name)).unwrap();
            }
            fs::write(at(folder).join("HEAD"), "x").unwrap();
        }
        let git = at("repo/.git");
        let top = Some(at("repo"));
        assert_eq!(around(&at("repo")), None);
        assert_eq!(around(&at("repo/sub/deep")), Some(Around { git: git.clone(), top }));
        assert_eq!(around(&at("linked")), Some(Around { git: git.clone(), top: None }));
        let below = Some(Around { git, top: Some(at("linked")) });
        assert_eq!(around(&at("linked/sub")), below, "a directory of a linked worktree");
        assert_eq!(around(&at("liar")), None);
        // What a command can write must not open what lies around it, repository or not.
        for common in ["", "other/.git", "repo/.git"] {
            fs::create_dir_all(at("forged/fake/worktrees/w")).unwrap();
            for folder in ["forged/fake", "forged/fake/worktrees/w"] {
                fs::write(at("forged/.git"), link(folder)).unwrap();
                let back = format!("{}\n", at("forged/.git").display());
                fs::write(at(folder).join("gitdir"), back).unwrap();
                fs::write(at(folder).join("commondir"), at(common).to_str().unwrap()).unwrap();
                assert_eq!(around(&at("forged")), None, "{folder} {common}");
            }
        }
        // The directory of another submodule.
        let modules = at("repo/.git/modules");
        for (name, worktree) in [("m", "../../../m"), ("n", "../../../n")] {
            for folder in ["objects", "refs"] {
                fs::create_dir_all(modules.join(name).join(folder)).unwrap();
            }
            fs::write(modules.join(name).join("HEAD"), "x").unwrap();
            let config = format!("[core]\n\tworktree = {worktree}\n");
            fs::write(modules.join(name).join("config"), config).unwrap();
        }
        fs::create_dir(at("repo/m")).unwrap();
        fs::write(at("repo/m/.git"), "gitdir: ../.git/modules/m\n").unwrap();
        assert_eq!(around(&at("repo/m")), Some(Around { git: modules.join("m"), top: None }));
        fs::write(at("repo/m/.git"), "gitdir: ../.git/modules/n\n").unwrap();
        assert_eq!(around(&at("repo/m")), None);
    }
}
