//! The rules that ship with the program.

use crate::permissions_yaml::read;
use crate::{Check, ConfigError};
use ostler_core::permission::{Anchors, Policy, Tier};
use std::path::Path;

/// The rules that hold while the user has no `permissions.yaml`.
pub const DEFAULT_PERMISSIONS: &str = include_str!("default-permissions.yaml");

/// The rules of `DEFAULT_PERMISSIONS`.
///
/// # Errors
/// If an example in it does not hold by `check`.
pub fn default_policy(anchors: Anchors<'_>, check: &Check<'_>) -> Result<Policy, ConfigError> {
    built_in(anchors, Some(check))
}

/// The file that ships is tested before it ships: a start need not check its examples.
pub(crate) fn built_in(
    anchors: Anchors<'_>,
    check: Option<&Check<'_>>,
) -> Result<Policy, ConfigError> {
    let file = Path::new("the default permissions");
    let mut policy = read(DEFAULT_PERMISSIONS, file, anchors, Tier::BuiltIn, check)?;
    for rule in policy.deny.iter_mut().chain(&mut policy.ask).chain(&mut policy.allow) {
        rule.source.file = None;
    }
    Ok(policy)
}
