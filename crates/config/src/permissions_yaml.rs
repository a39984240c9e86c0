//! `permissions.yaml`: text to rules.

use crate::{Check, ConfigError};
use ostler_core::permission::{Anchors, Policy, Tier};
use serde_json::Value;
use std::path::Path;

/// The rules that hold while the user has no `permissions.yaml`.
pub const DEFAULT_PERMISSIONS: &str = include_str!("default-permissions.yaml");

/// # Errors
/// On the first thing in the text that is not understood, with its line.
pub fn parse(
    _text: &str,
    _file: &Path,
    _anchors: Anchors<'_>,
    _tier: Tier,
    _check: &Check<'_>,
) -> Result<Policy, ConfigError> {
    Ok(Policy::default())
}

/// The same from a JSON value; `file` is what errors name.
///
/// # Errors
/// As `parse`, without lines.
pub fn from_json(
    _value: &Value,
    _file: &Path,
    _anchors: Anchors<'_>,
    _tier: Tier,
    _check: &Check<'_>,
) -> Result<Policy, ConfigError> {
    Ok(Policy::default())
}

/// The rules of `DEFAULT_PERMISSIONS`.
///
/// # Errors
/// If an example in it does not hold by `check`.
pub fn default_policy(anchors: Anchors<'_>, check: &Check<'_>) -> Result<Policy, ConfigError> {
    parse(DEFAULT_PERMISSIONS, Path::new("permissions.yaml"), anchors, Tier::BuiltIn, check)
}
