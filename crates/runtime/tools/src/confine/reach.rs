//! What commands reach of the directories of a session, as they and the environment are now. It is looked up once, and
//! again when a directory was added or the environment changed.

use super::denied_files::Areas;
use super::git_parts::{self, Around, GitParts};
use super::{ConfineOptions, Confinement, folders};
use crate::bash::CommandVariables;
use ostler_core::permission::{Derived, Workspace};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) struct Reach {
    pub(super) workspace: Workspace,
    environment: CommandVariables,
    /// Below the home directory: what programs need.
    readable: OnceLock<Vec<PathBuf>>,
    /// The parts of repositories that make git run programs; none: to be looked for.
    parts: Mutex<Option<Arc<GitParts>>>,
    /// Repositories that roots are part of.
    around: OnceLock<Vec<Around>>,
    /// Where the programs of proved commands lie.
    pub(super) program_directories: OnceLock<Vec<PathBuf>>,
    /// Where denied files are searched for.
    areas: OnceLock<Areas>,
}

impl Reach {
    fn new(workspace: Workspace, environment: CommandVariables) -> Self {
        Reach {
            workspace,
            environment,
            readable: OnceLock::new(),
            parts: Mutex::default(),
            around: OnceLock::new(),
            program_directories: OnceLock::new(),
            areas: OnceLock::new(),
        }
    }

    /// A root is the whole disk.
    pub(super) fn is_whole_disk(&self) -> bool {
        self.workspace.roots.iter().any(|root| root.parent().is_none())
    }

    pub(super) fn home(&self) -> PathBuf {
        let home = &self.workspace.home;
        let home = if home.is_absolute() { home.clone() } else { self.home_of_commands() };
        home.canonicalize().unwrap_or(home)
    }

    /// Where programs look for their settings if nobody said whose home it is.
    fn home_of_commands(&self) -> PathBuf {
        let home = self.environment.iter().find(|(name, _)| name == "HOME");
        home.map(|(_, value)| PathBuf::from(value)).unwrap_or_default()
    }

    pub(super) fn readable(&self) -> &[PathBuf] {
        self.readable.get_or_init(|| {
            folders::readable(&self.home(), &self.environment, &self.workspace.roots)
        })
    }

    /// Those of these directories that a link inside a root does not lead to.
    pub(super) fn real(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        folders::real(paths, &self.workspace.roots)
    }

    /// A directory inside a root is hidden: with Landlock alone those around it could not be listed.
    pub(super) fn hides_in_a_root(&self, options: &ConfineOptions) -> bool {
        let roots = &self.workspace.roots;
        let is_inside = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let is_hidden = |path: &PathBuf| is_inside(path) && path.is_dir();
        let home = self.home();
        // Every command asks this. What is secret in a home can only be inside a root if one of them contains the other.
        let may_hold = |root: &PathBuf| root.starts_with(&home) || home.starts_with(root);
        let secrets =
            roots.iter().any(may_hold) && folders::secrets(&home).any(|path| is_hidden(&path));
        secrets || self.workspace.ours.iter().chain(&options.deny_read).any(is_hidden)
    }

    pub(super) fn parts(&self) -> Arc<GitParts> {
        let around: Vec<PathBuf> = self.around().iter().map(|around| around.git.clone()).collect();
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || Arc::new(git_parts::of(&self.workspace.roots, &around, &self.home()));
        Arc::clone(parts.get_or_insert_with(look))
    }

    pub(super) fn around(&self) -> &[Around] {
        self.around.get_or_init(|| {
            // Commands in a worktree of their own cannot change the repository.
            if self.workspace.isolated {
                return Vec::new();
            }
            let home = self.home();
            // A repository of the whole home directory would open all of it.
            let is_part = |around: &Around| {
                !around.top.as_ref().is_some_and(|top| home.starts_with(top))
                    && !home.starts_with(&around.git)
            };
            let found = self.workspace.roots.iter().filter_map(|root| git_parts::around(root));
            found.filter(is_part).collect()
        })
    }

    pub(super) fn areas(&self, options: &ConfineOptions) -> &Areas {
        self.areas.get_or_init(|| {
            let around = self.around();
            let git = around.iter().map(|around| around.git.clone()).collect();
            let tops = around.iter().filter_map(|around| around.top.clone()).collect();
            let Workspace { roots, readable, .. } = &self.workspace;
            Areas {
                writable: [roots.clone(), git, self.real(&options.allow_write)].concat(),
                readable: [self.real(&options.allow_read), tops].concat(),
                caches: [self.readable(), readable].concat(),
                home: self.home(),
            }
        })
    }
}

impl Confinement {
    pub(super) fn reach(&self) -> Arc<Reach> {
        let by_environment = self.reach.get(|_| Derived::new(self.environment.clone()));
        by_environment.get(|given| Reach::new(self.workspace.now().as_ref().clone(), given.clone()))
    }

    /// New repositories came to be: they are looked for again before the next command.
    pub fn forget_repositories(&self) {
        *self.reach().parts.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The directories of repositories that the workspace is part of and that lie outside, as far as commands may
    /// change them: of a linked worktree, or of the directory above.
    pub fn repositories_around(&self) -> Vec<PathBuf> {
        let is_writable =
            |git: &PathBuf| rustix::fs::access(git, rustix::fs::Access::WRITE_OK).is_ok();
        let reach = self.reach();
        let around = reach.around().iter().map(|around| around.git.clone());
        around.filter(is_writable).collect()
    }
}
