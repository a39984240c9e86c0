//! The rules that ship with the program.

use crate::permissions_yaml::read;
use crate::{Check, ConfigError};
use ostler_core::permission::{Anchors, COMMANDS, Fallback, Policy, Rule, Source, Tier};
use std::path::Path;

/// The rules that hold while the user has no `permissions.yaml`.
pub const DEFAULT_PERMISSIONS: &str = include_str!("default-permissions.yaml");

/// The rules of `DEFAULT_PERMISSIONS`.
///
/// # Errors
/// If an example in it does not hold by `check`.
pub fn default_policy(anchors: Anchors<'_>, check: &Check<'_>) -> Result<Policy, ConfigError> {
    let file = Path::new("the default permissions");
    let mut policy = read(DEFAULT_PERMISSIONS, file, anchors, Tier::BuiltIn, check)?;
    for rule in policy.deny.iter_mut().chain(&mut policy.ask).chain(&mut policy.allow) {
        rule.source.file = None;
    }
    Ok(policy)
}

/// Its line in the file, its pattern, and its reason.
type BuiltInRule = (usize, &'static str, &'static str);

/// The same, ready to be used: to parse the file takes longer than anything else a start does. A test compares the two.
pub(crate) fn built_in() -> Result<Policy, ConfigError> {
    let (deny, ask, allow) = (list(DENY)?, list(ASK)?, list(ALLOW)?);
    Ok(Policy { fallback: Fallback::Read, deny, ask, allow, ..Policy::default() })
}

fn list(rules: &[BuiltInRule]) -> Result<Vec<Rule>, ConfigError> {
    let rule = |(line, pattern, reason): &BuiltInRule| {
        let source = Source { tier: Tier::BuiltIn, file: None, line: Some(*line) };
        let mut rule = Rule::regex(COMMANDS, pattern, source).map_err(|error| {
            ConfigError::new(Path::new("the default permissions"), *line, error.to_string())
        })?;
        rule.reason = Some((*reason).to_owned());
        Ok(rule)
    };
    rules.iter().map(rule).collect()
}

const DENY: &[BuiltInRule] = &[
    (15, "rm -rf /", "Deletes the whole file system"),
    (18, "sudo", "No root rights for the agent"),
    (21, r"curl.*\| *sh|wget.*\| *sh", "Runs a script straight from the network"),
    (24, r"(curl|wget).*\| *(ba|da|z|k)sh", "Runs a script straight from the network"),
    (27, r"mkfs(\.[a-z0-9]+)?", "Creates a new file system over the existing one"),
];

const ASK: &[BuiltInRule] = &[
    (32, "^rm ", "Deletes files"),
    (
        35,
        "^git (commit|push|merge($| |-[^b])|rebase)",
        "Changes the repository's history or a remote",
    ),
    (
        38,
        "^git (reset|clean|checkout|restore|stash($| [^l]| l[^i]))",
        "May throw away work that is not committed",
    ),
    (41, "^pip install|^npm install", "Installs packages"),
    (
        44,
        "^(pip3|uv pip|pipx|gem|cargo|go|brew|apt|apt-get|dnf|apk) (install|add)",
        "Installs packages",
    ),
    (47, "^(npm (i|ci|add)|(yarn|pnpm|bun) (add|install)|poetry add|uv add)", "Installs packages"),
    (50, "^(npm|yarn|pnpm|cargo|gem|poetry|twine) (publish|push|upload)", "Publishes a package"),
    (53, r"\.env", "May contain secrets"),
];

const ALLOW: &[BuiltInRule] = &[
    (58, "^ls( |$|-)", "Only lists"),
    (61, "^git (status|log|diff|show)", "Only reads the repository"),
    (64, "^python.*--version|^pip.*--version", "Only prints a version"),
    (67, "^(node|npm|java|ruby|git) --?version$", "Only prints a version"),
];
