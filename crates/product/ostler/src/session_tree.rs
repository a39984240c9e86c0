//! A worktree of its own for a session: its only root, and all that its commands can change.

use crate::session_options::SessionOptions;
use crate::team::TeamOptions;
use ostler_engine::WorkCopy;
use ostler_exec::Sandbox;
use ostler_tools::confine::Narrowing;
use ostler_worktrees::{TreeAccess, Worktree, WorktreeError, Worktrees};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the harness puts into worktrees and runs there. A surface passes only what the person trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeSettings {
    /// Patterns of files that git does not track and a worktree needs, as in `.worktreeinclude`.
    pub include: Option<String>,
    /// Shell commands: in every new worktree, before one is removed, and when a worker has done a task.
    pub setup: Option<String>,
    pub teardown: Option<String>,
    pub check: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTree {
    /// The checkout, and the worktree that stands for it.
    pub(crate) copy: WorkCopy,
    /// Where in the checkout the session would work otherwise.
    project: PathBuf,
    access: TreeAccess,
    variables: Vec<(OsString, OsString)>,
}

impl SessionTree {
    /// For a session that would work in this directory of the checkout otherwise.
    ///
    /// # Errors
    /// If git cannot say which other worktrees there are.
    pub async fn of(
        trees: &Worktrees,
        tree: &Worktree,
        directory: &Path,
    ) -> Result<Self, WorktreeError> {
        let access = trees.access(tree.record()).await?;
        let (of, at) = (trees.repository().top.clone(), tree.path().to_path_buf());
        Ok(SessionTree {
            copy: WorkCopy { of, at },
            project: directory.canonicalize().unwrap_or_else(|_| directory.to_owned()),
            access,
            variables: tree.variables(),
        })
    }

    /// Where the session works.
    pub fn directory(&self) -> PathBuf {
        let below = self.project.strip_prefix(&self.copy.of).unwrap_or(Path::new(""));
        let mut same = self.copy.at.clone();
        for part in below.components() {
            same.push(part);
            // A link would lead to where the commit wants it to.
            if !same.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return self.copy.at.clone();
            }
        }
        same
    }

    /// What belongs to the project, such as its memories and its budget, is that of the checkout.
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// The options of a session that works here instead. Results are commits, so nothing is kept for an undo.
    #[must_use]
    pub fn entered_by(self, options: SessionOptions) -> SessionOptions {
        let cwd = self.directory();
        let WorkCopy { of, at } = &self.copy;
        let mut environment = options.environment;
        environment.retain(|(name, _)| !self.variables.iter().any(|(own, _)| own == name));
        environment.extend(self.variables.iter().cloned());
        let mut sandbox = options.sandbox;
        sandbox.may_lift = false;
        let instructions = options.instructions.map(|places| {
            // What is in the tree is the agent's work.
            let (cwd, project, trusted) = (cwd.clone(), at.clone(), false);
            ostler_instructions::InstructionPlaces { cwd, project, trusted, ..places }
        });
        SessionOptions {
            policy: options.policy.covering_copy(of, at),
            cwd,
            add_dirs: Vec::new(),
            undo: false,
            instructions,
            environment,
            sandbox,
            team: TeamOptions::default(),
            tree: Some(Arc::new(self)),
            ..options
        }
    }

    pub(crate) fn narrowing(&self) -> Arc<Narrowing> {
        let mut access = self.access.clone();
        let root = self.directory();
        if root != self.copy.at {
            access.readable.extend(std::mem::replace(&mut access.writable, vec![root]));
        }
        Arc::new(move |sandbox: &mut Sandbox| access.apply(sandbox))
    }
}
