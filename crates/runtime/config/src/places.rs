//! Where the files are, as given by the caller.

use crate::ConfigError;
use ostler_core::tool_facts::KnownTools;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct SettingsPlaces {
    pub ostler_home: PathBuf,
    pub claude_home: Option<PathBuf>,
    /// The top of the repository, or the working directory.
    pub project: PathBuf,
    pub cwd: PathBuf,
    /// Not absolute: not known.
    pub user_home: PathBuf,
    /// The directory of the managed files, normally `/etc/ostler`.
    pub managed: PathBuf,
    /// `--settings`: the name of a file, or JSON.
    pub settings_arg: Option<String>,
    pub sources: Sources,
    /// Directories of plugins that the person named for this run.
    pub plugin_dirs: Vec<PathBuf>,
    /// What rules can name.
    pub tools: KnownTools,
}

/// Which files to load; managed ones and `--settings` always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    pub user: bool,
    pub project: bool,
    pub local: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Sources { user: true, project: true, local: true }
    }
}

impl Sources {
    /// Any of `user,project,local`; an empty string means none.
    ///
    /// # Errors
    /// If a name is not one of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sources = Sources { user: false, project: false, local: false };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                other => {
                    return Err(format!(
                        "unknown settings source \"{other}\"; use user, project or local"
                    ));
                }
            }
        }
        Ok(sources)
    }
}

impl SettingsPlaces {
    /// The project with every link resolved.
    pub(crate) fn real_project(&self) -> Result<PathBuf, ConfigError> {
        fs::canonicalize(&self.project).map_err(|error| {
            let what =
                format!("cannot find the working directory ({error}); start in an existing one");
            ConfigError::new(&self.project, None, what)
        })
    }

    /// The same with every link resolved: rules are compared with paths that are free of them.
    pub(crate) fn resolved(&self) -> Result<SettingsPlaces, ConfigError> {
        let home = &self.user_home;
        let user_home = if home.is_absolute() { resolved(home) } else { home.clone() };
        let cwd = resolved(&self.cwd);
        Ok(SettingsPlaces { project: self.real_project()?, cwd, user_home, ..self.clone() })
    }

    /// Ostler's directory for one project. The hash of the path distinguishes projects that have the same name.
    pub(crate) fn kept_about(&self, project: &Path) -> PathBuf {
        let name = project.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let legal = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let name: String = name.chars().filter(legal).take(40).collect();
        let hash = hex_sha256(project.as_os_str().as_encoded_bytes());
        let hash = hash.get(..8).unwrap_or_default();
        let folder = format!("{}-{hash}", if name.is_empty() { "project" } else { &name });
        self.ostler_home.join("projects").join(folder)
    }

    /// A home directory is not a project: the files there are the user's own. Nor is the root of the file system.
    pub(crate) fn project_is_home(&self, real: &Path) -> bool {
        let is_home = self.user_home.is_absolute() && resolved(&self.user_home) == real;
        real.parent().is_none() || is_home
    }
}

/// As far as it is there.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let real = fs::symlink_metadata(path).and_then(|_| fs::canonicalize(path));
    real.unwrap_or_else(|_| path.to_owned())
}

pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
