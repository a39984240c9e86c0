//! The worktrees of a project.

use crate::error::Error;
use crate::host::Host;
use crate::init::Init;
use ostler_exec::Executor;
use ostler_worktrees::{
    Git, GitLimits, Overlap, TreeLimits, TrialMerge, WorktreeError, WorktreeSetup, Worktrees,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const FOLDER: &str = "worktrees";
/// Worktrees in use that a new commit is compared with, and files that are named of each.
const MOST_COMPARED: usize = 8;
const MOST_FILES: usize = 5;

/// Where the worktrees of all projects are. `home` is where we keep our state.
pub fn worktrees_path(home: &Path) -> PathBuf {
    home.join(FOLDER)
}

/// Opens the worktrees of a project. Git gets `HOME`, `PATH` and the like of the environment, nothing else.
///
/// # Errors
/// If the project is no repository that worktrees can be made of.
pub async fn open_worktrees(
    init: &Init,
    home: &Path,
    project: &Path,
    environment: Vec<(OsString, OsString)>,
) -> Result<Worktrees, WorktreeError> {
    let executor = Executor::new(init.supervisor.clone());
    Worktrees::open(setup(executor, home, project, environment)?, project).await
}

fn setup(
    executor: Executor,
    home: &Path,
    project: &Path,
    environment: Vec<(OsString, OsString)>,
) -> Result<WorktreeSetup, WorktreeError> {
    Ok(WorktreeSetup {
        git: Git::find(executor, environment, GitLimits::default())?,
        state: worktrees_path(home),
        project: ostler_store::project_name(project),
        limits: TreeLimits::default(),
    })
}

/// Where a worktree and others that are in use change the same files, one line for each of the others.
pub(crate) async fn live_overlaps(
    trees: &Worktrees,
    name: &str,
) -> Result<Vec<String>, WorktreeError> {
    let found = trees.overlaps_with_live(name, MOST_COMPARED).await?;
    Ok(found.iter().map(overlap_line).collect())
}

fn overlap_line(overlap: &Overlap) -> String {
    let mut files: Vec<String> = Vec::new();
    for file in overlap.files.iter().take(MOST_FILES) {
        let mut text = file.path.display().to_string().escape_debug().to_string();
        if let (Some(first), Some(last)) = (file.lines.first(), file.lines.last()) {
            text += &format!(" (lines {} to {})", first.first, last.last);
        }
        files.push(text);
    }
    let more = overlap.files.len().saturating_sub(MOST_FILES);
    if more > 0 {
        files.push(format!("{more} more files"));
    }
    let merge = match &overlap.merge {
        TrialMerge::Clean { .. } => "git can merge them so far",
        TrialMerge::Conflict { .. } => "they conflict",
        TrialMerge::Unrelated => "they have no commit in common",
    };
    format!(
        "worktree {}, which is in use, changes the same files: {}; {merge}",
        overlap.other,
        files.join(", ")
    )
}

impl Host {
    /// The same for sessions of this host. `directory` is where they would work otherwise.
    ///
    /// # Errors
    /// If there is no home, or the directory is in no repository that worktrees can be made of.
    pub async fn worktrees(
        &self,
        project: &Path,
        directory: &Path,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Worktrees, Error> {
        let home = self.home().ok_or(Error::NoTrees)?;
        let setup = setup(self.executor().clone(), home, project, environment)?;
        Ok(Worktrees::open(setup, directory).await?)
    }
}
