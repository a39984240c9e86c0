//! Rules the user accepted for a project, kept outside of it.

use crate::{ConfigError, Places};
use ostler_core::permission::{Bound, Rule};
use ostler_core::ports::Approvals;
use std::path::PathBuf;

/// A rule that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub rule: String,
    /// What `./` in it stands for.
    pub folder: PathBuf,
    pub when: Option<String>,
    pub bound: Option<Bound>,
}

/// # Errors
/// If the file is there and cannot be read or understood.
pub fn list(_places: &Places) -> Result<Vec<Kept>, ConfigError> {
    Ok(Vec::new())
}

/// True if there was such a rule.
///
/// # Errors
/// If the file cannot be read, understood or written.
pub fn revoke(_places: &Places, _rule: &str) -> Result<bool, ConfigError> {
    Ok(false)
}

/// The approvals of one project, on disk.
pub struct FileApprovals {
    places: Places,
    stamp: Option<Box<dyn Fn() -> String + Send + Sync>>,
}

impl FileApprovals {
    pub fn new(places: Places) -> Self {
        FileApprovals { places, stamp: None }
    }

    /// Says when a rule is accepted.
    #[must_use]
    pub fn stamped(self, stamp: impl Fn() -> String + Send + Sync + 'static) -> Self {
        FileApprovals { stamp: Some(Box::new(stamp)), ..self }
    }
}

impl Approvals for FileApprovals {
    fn keep(&self, _rules: &[Rule]) -> Result<(), String> {
        let _ = (&self.places, &self.stamp);
        Ok(())
    }
}
