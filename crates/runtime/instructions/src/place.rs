//! Where instructions are looked for, and what each may use.

use std::path::{Path, PathBuf};

/// All paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionPlaces {
    pub cwd: PathBuf,
    /// The repository around the working directory, or the working directory itself.
    pub project: PathBuf,
    /// The person's home directory.
    pub home: PathBuf,
    /// Directories with the person's own files, e.g. `~/.ostler` and `~/.claude`.
    pub user: Vec<PathBuf>,
    /// The person trusts the project's files: they can import texts from the person's own directories.
    pub trusted: bool,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionKind {
    User,
    /// From a directory above the project.
    Above,
    Project,
    Rule,
    Local,
    /// From a directory below the working directory.
    Nested,
}

impl InstructionKind {
    const ALL: [InstructionKind; 6] = [
        InstructionKind::User,
        InstructionKind::Above,
        InstructionKind::Project,
        InstructionKind::Rule,
        InstructionKind::Local,
        InstructionKind::Nested,
    ];

    pub fn words(self) -> &'static str {
        match self {
            InstructionKind::User => "the user's own, for all projects",
            InstructionKind::Above => "a folder above the project",
            InstructionKind::Project => "the project",
            InstructionKind::Rule => "a rule of the project",
            InstructionKind::Local => "the user's own, for this project",
            InstructionKind::Nested => "a folder of the project",
        }
    }

    pub fn of_words(words: &str) -> Option<InstructionKind> {
        InstructionKind::ALL.into_iter().find(|kind| kind.words() == words)
    }
}

impl InstructionPlaces {
    /// The directories above the project, outermost first: only below the home directory, where nobody else writes.
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

    /// The directories from the project's down to the working directory.
    pub(crate) fn inside(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> =
            self.cwd.ancestors().take_while(|folder| folder.starts_with(&self.project)).collect();
        folders.reverse();
        folders
    }

    /// Whether a file of this kind may be read from there, and why not. The path is free of links.
    pub(crate) fn allows(&self, kind: InstructionKind, real: &Path) -> Result<(), &'static str> {
        const OUT: &str = "which is outside the files it can use";
        const OWN: &str = "which is a file of yours: only a CLAUDE.local.md that git does not \
            track, or a project you trust, can use it";
        const TEXT: &str = "and until you trust the project, only its .md and .txt files are used";
        let own = self.is_own(real);
        let may = match kind {
            InstructionKind::User => own || below(real, &self.home),
            InstructionKind::Above => below(real, &self.home) && !is_hidden(real, &self.home),
            InstructionKind::Project
            | InstructionKind::Rule
            | InstructionKind::Local
            | InstructionKind::Nested => {
                let theirs = below(real, &self.project);
                if !theirs
                    && own
                    && is_text(real)
                    && kind != InstructionKind::Local
                    && !self.trusted
                {
                    return Err(OWN);
                }
                if theirs && !is_text(real) && !self.trusted {
                    return Err(TEXT);
                }
                theirs || (own && is_text(real))
            }
        };
        if may { Ok(()) } else { Err(OUT) }
    }

    /// What is found by way of a file of this kind. A person's file that imports one of the project does not make
    /// that one the person's.
    pub(crate) fn kind_of(&self, kind: InstructionKind, real: &Path) -> InstructionKind {
        let theirs = below(real, &self.project) && !self.is_own(real);
        match kind {
            InstructionKind::User | InstructionKind::Above | InstructionKind::Local if theirs => {
                InstructionKind::Project
            }
            kind => kind,
        }
    }

    pub(crate) fn is_own_text(&self, real: &Path) -> bool {
        self.is_own(real) && is_text(real)
    }

    fn is_own(&self, real: &Path) -> bool {
        self.user.iter().any(|folder| below(real, folder))
    }
}

pub(crate) fn below(path: &Path, folder: &Path) -> bool {
    let real = folder.canonicalize();
    !folder.as_os_str().is_empty() && path.starts_with(real.as_deref().unwrap_or(folder))
}

/// In a directory whose name begins with a dot: keys and settings live there.
fn is_hidden(path: &Path, home: &Path) -> bool {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let inside = path.strip_prefix(home).unwrap_or(path);
    inside.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md" || ending == "txt")
}
