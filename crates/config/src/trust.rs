//! A project's files may tighten; what they loosen or start holds once the user has accepted their content.

use crate::{ConfigError, Places};
use std::path::PathBuf;

/// What a project's files want, and what they hold. Nothing of it is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    pub files: Vec<UntrustedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedFile {
    pub path: PathBuf,
    /// "allows Bash(npm test:*)", "sets FOO for commands", "starts MCP servers".
    pub wants: Vec<String>,
    /// Unified, against the content that was accepted before.
    pub difference: Option<String>,
}

/// Accepts what was shown: exactly the content that `load` saw.
///
/// # Errors
/// If it cannot be kept.
pub fn accept(_places: &Places, _untrusted: &Untrusted) -> Result<(), ConfigError> {
    Ok(())
}
