//! A rebase in progress is a list of things that git will do when the user continues with it, programs included.
//! Commands other than git's do not write it.

use crate::read_small;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Of a repository or a worktree.
const STATES: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];
const TODO: [&str; 2] = ["git-rebase-todo", "todo"];
const STRATEGIES: [&str; 7] = ["", "ort", "recursive", "resolve", "octopus", "ours", "subtree"];
/// Of a list of steps.
const MOST_BYTES: u64 = 8 << 20;

/// Where repositories keep what they are in the middle of.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Rebases {
    /// In progress: like hooks, not to be changed.
    pub(super) fixed: Vec<PathBuf>,
    /// Not in progress. An empty directory in its place would make git think that it is, so these are looked at
    /// afterwards.
    absent: Vec<PathBuf>,
    /// Git itself was to run: what it leaves stays, and is told if it runs programs.
    by_git: bool,
}

/// What a command other than git's has left, or git itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RebaseLeft {
    Removed(PathBuf),
    Failed(PathBuf, String),
    /// Git has left it, with steps that run programs.
    Runs(PathBuf),
}

impl RebaseLeft {
    pub(super) fn told(self, shown: impl Fn(&Path) -> String) -> String {
        match self {
            RebaseLeft::Removed(path) => format!(
                "{} was created by the command and has been removed: git would have run programs from it at the next \
                 `git rebase --continue`.",
                shown(&path)
            ),
            RebaseLeft::Failed(path, why) => format!(
                "{} was created by the command and could not be removed ({why}). Git runs programs from it at the next \
                 `git rebase --continue`.",
                shown(&path)
            ),
            RebaseLeft::Runs(path) => format!(
                "{} has steps that run programs at the next `git rebase --continue`.",
                shown(&path)
            ),
        }
    }
}

impl Rebases {
    /// `by_git`: the command may use them.
    pub(super) fn of(repositories: &[PathBuf], by_git: bool) -> Self {
        let worktrees = repositories.iter().flat_map(|folder| {
            let entries = folder.join("worktrees").read_dir().into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).take(200)
        });
        let folders: Vec<PathBuf> = repositories.iter().cloned().chain(worktrees).collect();
        let states = folders.iter().flat_map(|folder| STATES.map(|state| folder.join(state)));
        let (present, absent): (Vec<_>, Vec<_>) =
            states.partition(|state| state.symlink_metadata().is_ok());
        if by_git {
            let quiet = present.into_iter().filter(|state| !runs(state)).chain(absent).collect();
            return Rebases { fixed: Vec::new(), absent: quiet, by_git };
        }
        Rebases { fixed: present, absent, by_git }
    }

    /// What would run something, whoever made it.
    pub(super) fn running(self) -> Vec<RebaseLeft> {
        Rebases { by_git: true, ..self }.settle()
    }

    /// Removes what would run something.
    pub(super) fn settle(&self) -> Vec<RebaseLeft> {
        let left = self.absent.iter().filter(|state| runs(state));
        left.map(|state| match self.by_git {
            true => RebaseLeft::Runs(state.clone()),
            false => match remove(state) {
                Ok(()) => RebaseLeft::Removed(state.clone()),
                Err(error) => RebaseLeft::Failed(state.clone(), error.to_string()),
            },
        })
        .collect()
    }
}

/// Whether continuing with it runs programs. What cannot be read does.
fn runs(state: &Path) -> bool {
    let Ok(meta) = state.symlink_metadata() else { return false };
    if !meta.is_dir() {
        return true;
    }
    let runs_in = |name: &str| {
        let file = state.join(name);
        if file.symlink_metadata().is_err() {
            return false;
        }
        let text = read_small(&file, MOST_BYTES).and_then(|bytes| String::from_utf8(bytes).ok());
        text.is_none_or(|text| text.lines().any(is_program))
    };
    let strategy = state.join("strategy");
    let strange = strategy.symlink_metadata().is_ok() && {
        let text =
            read_small(&strategy, MOST_BYTES).and_then(|bytes| String::from_utf8(bytes).ok());
        text.is_none_or(|text| !STRATEGIES.contains(&text.trim()))
    };
    strange || TODO.iter().any(|name| runs_in(name))
}

/// A step that git gives to a shell.
fn is_program(line: &str) -> bool {
    let word = line.split_ascii_whitespace().next().unwrap_or_default();
    ["exec", "x"].contains(&word)
}

/// Never follows a link.
fn remove(path: &Path) -> std::io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plant(folder: &Path, text: &str) -> PathBuf {
        let state = folder.join("rebase-merge");
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("git-rebase-todo"), text).unwrap();
        state
    }

    #[test]
    fn a_planted_rebase_goes_and_an_ordinary_one_stays() {
        for (text, goes) in [
            ("pick 1 a\nexec evil\n", true),
            ("  x evil\n", true),
            ("pick 1 exec\nsquash 2 x\n# exec no\nbreak\nlabel x\n", false),
        ] {
            let world = tempfile::tempdir().unwrap();
            let git = world.path().to_owned();
            let before = Rebases::of(std::slice::from_ref(&git), false);
            assert!(before.fixed.is_empty());
            let state = plant(&git, text);
            let expected = if goes { vec![RebaseLeft::Removed(state.clone())] } else { Vec::new() };
            assert_eq!(before.settle(), expected, "{text}");
            assert_eq!(state.exists(), !goes);
        }
    }

    #[test]
    fn one_in_progress_is_frozen_unless_git_is_to_use_it() {
        let world = tempfile::tempdir().unwrap();
        let git = world.path().join(".git");
        let worktree = git.join("worktrees/w");
        let states = [plant(&git, "pick 1\n"), plant(&worktree, "exec mine\n")];
        let repositories = [git];
        let plain = Rebases::of(&repositories, false);
        assert_eq!(plain.fixed, states);
        assert!(plain.settle().is_empty());
        let by_git = Rebases::of(&repositories, true);
        assert!(by_git.fixed.is_empty());
        assert!(by_git.settle().is_empty(), "what ran before is the user's");
        fs::write(states[0].join("git-rebase-todo"), "exec new\n").unwrap();
        assert_eq!(by_git.settle(), [RebaseLeft::Runs(states[0].clone())]);
        assert!(states[0].exists());
    }

    #[test]
    fn what_cannot_be_read_counts_as_running() {
        let world = tempfile::tempdir().unwrap();
        let state = plant(world.path(), "");
        assert!(!runs(&state));
        fs::write(state.join("strategy"), "evil\n").unwrap();
        assert!(runs(&state));
        fs::write(state.join("strategy"), "ort\n").unwrap();
        fs::write(state.join("git-rebase-todo"), b"\xff").unwrap();
        assert!(runs(&state));
        fs::remove_dir_all(&state).unwrap();
        std::os::unix::fs::symlink("/etc", &state).unwrap();
        assert!(runs(&state) && !runs(&world.path().join("none")));
    }
}
