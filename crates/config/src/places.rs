//! Where the files are, as the caller says.

use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct Places {
    pub ostler_home: PathBuf,
    pub claude_home: Option<PathBuf>,
    /// The top of the repository, or the working folder.
    pub project: PathBuf,
    pub cwd: PathBuf,
    /// Not absolute: not known.
    pub user_home: PathBuf,
    /// The folder of the managed files, `/etc/ostler` as a rule.
    pub managed: PathBuf,
    /// `--settings`: the name of a file, or JSON.
    pub settings_arg: Option<String>,
    pub sources: Sources,
}

/// Which files count; managed ones and `--settings` always do.
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
    /// `user,project,local`, any of them; an empty text is none.
    ///
    /// # Errors
    /// In words, on a name that is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sources = Sources { user: false, project: false, local: false };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                other => {
                    return Err(format!("\"{other}\" is no source: write user, project or local"));
                }
            }
        }
        Ok(sources)
    }
}
