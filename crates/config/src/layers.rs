//! Which files count, in which order, and what they come to.

use crate::{Check, ConfigError, Places, Untrusted};
use ostler_core::permission::{Mode, Policy, Rule};
use std::path::PathBuf;

/// What is in force.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub policy: Policy,
    pub mode: Option<Mode>,
    pub dirs: Vec<PathBuf>,
    pub env: Vec<(String, String)>,
    pub model: Option<String>,
    /// Things the user should know at every start, one line each.
    pub notices: Vec<String>,
    /// Mistakes in files that change nothing that matters, one line each.
    pub warnings: Vec<String>,
    pub untrusted: Option<Untrusted>,
    /// Allow rules of files that are not trusted: not in force.
    pub ignored: Vec<Rule>,
}

/// # Errors
/// On a file that is there and cannot be read or understood: nothing starts with half of its rules.
pub fn load(_places: &Places, _check: &Check<'_>) -> Result<Loaded, ConfigError> {
    Ok(Loaded::default())
}
