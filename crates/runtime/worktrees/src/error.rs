//! Why something was not done, in one line that says what to do about it.

use ostler_exec::ExecError;
use std::io;
use std::path::{Path, PathBuf};

/// Longer messages of git are cut.
const MOST_WORDS: usize = 600;

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("git was not found on the PATH; install git {needed} or newer", needed = crate::git::MINIMUM_TEXT)]
    GitMissing,

    #[error("{0}")]
    Clone(String),

    #[error("git has no remote called \"{name}\"; `git remote -v` lists them")]
    NoRemote { name: String },

    #[error("git {found} is too old for worktrees; install git {needed} or newer", needed = crate::git::MINIMUM_TEXT)]
    GitTooOld { found: String },

    #[error("{} is not in a git repository; run `git init` and commit something first", .0.display())]
    NotARepository(PathBuf),

    #[error("{} is a bare repository, which has no files to start from; use a clone of it", .0.display())]
    Bare(PathBuf),

    #[error("{} is inside a git directory; change to the directory with the files", .0.display())]
    InsideGitDirectory(PathBuf),

    #[error(
        "no branch is checked out in {} (detached HEAD), so there is nothing to merge into later; run `git switch -c NAME` first",
        .0.display()
    )]
    DetachedHead(PathBuf),

    #[error("branch {branch} in {} has no commit yet; commit something first", top.display())]
    UnbornBranch { top: PathBuf, branch: String },

    #[error(
        "{} belongs to another user, so git does not use it; if you trust it, run `git config --global --add safe.directory {}`",
        .0.display(), .0.display()
    )]
    OtherOwner(PathBuf),

    #[error(
        "the repository contains a submodule ({example}), which a worktree would leave empty; work without a worktree there"
    )]
    Submodules { example: String },

    #[error(
        "the files in {attributes} need the filter \"{filter}\", which is not set up in your own git settings, so the worktree would be incomplete; {remedy}"
    )]
    FilterMissing { filter: String, attributes: String, remedy: String },

    #[error(
        "a branch called \"ostler\" exists, so no branch ostler/… can be created; rename it with `git branch -m ostler NEW-NAME`"
    )]
    PrefixTaken,

    #[error(
        "no free name for a worktree like \"{name}\"; remove some with `ostler worktrees prune` or choose another name"
    )]
    NoFreeName { name: String },

    #[error("no free ports for another worktree; remove some with `ostler worktrees prune`")]
    NoFreePorts,

    #[error("cannot use {} for worktrees: {why}", path.display())]
    Unusable { path: PathBuf, why: String },

    #[error(
        "there is no worktree and no branch ostler/{name}; `ostler worktrees list` shows what there is"
    )]
    Unknown { name: String },

    #[error("worktree {name} is in use by {owner}; stop it first")]
    InUse { name: String, owner: String },

    #[error("worktree {name} was locked with `git worktree lock`{why}; run `git worktree unlock {}` if that is no longer needed", path.display())]
    Locked { name: String, path: PathBuf, why: String },

    #[error("the directory of worktree {name} was moved or deleted ({}); its branch ostler/{name} still has everything that was committed", path.display())]
    TreeGone { name: String, path: PathBuf },

    #[error("git no longer knows worktree {name} ({}); its files are still there, and its branch ostler/{name} has everything that was committed", path.display())]
    Unregistered { name: String, path: PathBuf },

    #[error("another directory is in the place of worktree {name} ({}); nothing was committed", path.display())]
    TreeReplaced { name: String, path: PathBuf },

    #[error(
        "worktree {name} has changes that are not committed; commit them with --commit, or leave them out with --committed-only"
    )]
    Uncommitted { name: String },

    #[error(
        "the new files of worktree {name} have {bytes} bytes, more than {limit}; add build output to .gitignore or remove it"
    )]
    TooLarge { name: String, bytes: u64, limit: u64 },

    #[error("another git process is using {}: {} exists; wait for it, or delete the file if no git process is running", directory.display(), lock.display())]
    IndexLocked { directory: PathBuf, lock: PathBuf },

    #[error("{reference} has changed in the meantime; nothing was overwritten, try again")]
    RefMoved { reference: String },

    #[error("there is no branch {0}")]
    NoBranch(String),

    #[error("another merge into {target} is running; try again when it has ended")]
    QueueBusy { target: String },

    #[error("the setup command of worktree {name} failed, so the worktree was removed: {why}")]
    SetupFailed { name: String, why: String },

    #[error("cannot {doing}: {why}")]
    Git { doing: &'static str, why: String },

    #[error("cannot {doing}: git took longer than {seconds} s and was stopped")]
    TimedOut { doing: &'static str, seconds: u64 },

    #[error("cannot {doing}: git printed more than {limit} bytes")]
    TooMuchOutput { doing: &'static str, limit: usize },

    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },

    #[error("cannot read {}: {why}; delete it if the worktree is no longer needed", path.display())]
    Record { path: PathBuf, why: String },

    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl WorktreeError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| WorktreeError::Io { doing, path: path.to_path_buf(), source }
    }
}

/// What git said, as one line: the first fatal or error line, without control characters.
pub(crate) fn git_words(stderr: &str, code: i32) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    let line = told.or_else(|| lines().next_back()).unwrap_or_default();
    let line = line.trim_start_matches("fatal:").trim_start_matches("error:").trim();
    if line.is_empty() {
        return format!("git ended with exit code {code}");
    }
    line.chars().filter(|c| !c.is_control()).take(MOST_WORDS).collect()
}
