//! Where instructions are looked for.

use std::path::{Path, PathBuf};

/// All paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub cwd: PathBuf,
    /// The repository around the working folder, or that folder itself.
    pub project: PathBuf,
    /// The person's home folder.
    pub home: PathBuf,
    /// Folders with the person's own files, e.g. `~/.ostler` and `~/.claude`.
    pub user: Vec<PathBuf>,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    User,
    /// From a folder above the project.
    Above,
    Project,
    Rule,
    Local,
    /// From a folder below the working folder.
    Nested,
}

impl Kind {
    pub fn words(self) -> &'static str {
        match self {
            Kind::User => "the user's own, for all projects",
            Kind::Above => "a folder above the project",
            Kind::Project => "the project",
            Kind::Rule => "a rule of the project",
            Kind::Local => "the user's own, for this project",
            Kind::Nested => "a folder of the project",
        }
    }
}

impl Places {
    /// The folders above the project, outermost first: only below the home folder, where nobody else writes.
    pub(crate) fn above(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = self
            .project
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(&self.home) && **folder != self.home)
            .collect();
        folders.reverse();
        folders
    }

    /// The folders from the project's down to the working folder.
    pub(crate) fn inside(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> =
            self.cwd.ancestors().take_while(|folder| folder.starts_with(&self.project)).collect();
        folders.reverse();
        folders
    }

    /// Whether a file of this kind may be read from there. The path is free of links.
    pub(crate) fn allows(&self, kind: Kind, real: &Path) -> bool {
        let own = self.user.iter().any(|folder| below(real, folder));
        match kind {
            Kind::User => own || below(real, &self.home),
            Kind::Above => below(real, &self.home) && !is_hidden(real, &self.home),
            Kind::Project | Kind::Rule | Kind::Local | Kind::Nested => {
                below(real, &self.project) || (own && is_text(real))
            }
        }
    }
}

fn below(path: &Path, folder: &Path) -> bool {
    let real = folder.canonicalize();
    !folder.as_os_str().is_empty() && path.starts_with(real.as_deref().unwrap_or(folder))
}

/// In a folder whose name begins with a dot: keys and settings live there.
fn is_hidden(path: &Path, home: &Path) -> bool {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let inside = path.strip_prefix(home).unwrap_or(path);
    inside.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md" || ending == "txt")
}
