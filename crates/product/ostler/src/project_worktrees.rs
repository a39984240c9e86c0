//! The worktrees of a project.

use crate::error::Error;
use crate::host::Host;
use crate::init::Init;
use ostler_exec::Executor;
use ostler_worktrees::{Git, GitLimits, TreeLimits, WorktreeError, WorktreeSetup, Worktrees};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const FOLDER: &str = "worktrees";

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
