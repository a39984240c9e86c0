//! May this call run? One pure function: deny → allow → mode → default. When in doubt, ask.

use super::access::{Access, PathScope, Workspace};
use super::mode::Mode;
use super::rule::Rules;
use std::path::{Component, Path};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow { why: String },
    Ask { why: String },
    Deny { why: String },
}

/// Tools that change files themselves; `acceptEdits` is about these.
const FILE_WRITERS: [&str; 3] = ["Edit", "Write", "Revert"];

pub fn decide(
    tool: &str,
    access: &Access,
    rules: &Rules,
    mode: Mode,
    workspace: &Workspace,
) -> Decision {
    if let Some(path) = unresolved(access) {
        return Decision::Deny {
            why: format!("where {} leads was not found out first", path.display()),
        };
    }
    if let Some(rule) = rules.deny.iter().find(|rule| rule.covers_any(tool, access)) {
        return Decision::Deny { why: format!("the deny rule {} covers it", rule.text()) };
    }
    if mode == Mode::Plan && !access.is_harmless() {
        return Decision::Deny { why: "plan mode changes nothing".into() };
    }
    if let Some(rule) = rules.allow.iter().find(|rule| rule.covers_all(tool, access)) {
        return Decision::Allow { why: format!("the allow rule {} covers it", rule.text()) };
    }
    if mode == Mode::BypassPermissions {
        return Decision::Allow { why: "permissions are bypassed".into() };
    }
    let writes_inside = access.known
        && FILE_WRITERS.contains(&tool)
        && !access.writes.is_empty()
        && access.writes.iter().chain(&access.reads).all(|scope| workspace.contains(scope.path()));
    if mode == Mode::AcceptEdits && writes_inside {
        return Decision::Allow { why: "edits inside the workspace are accepted".into() };
    }
    match refusal_of_default(access, workspace) {
        None => Decision::Allow { why: "it only reads inside the workspace".into() },
        Some(why) if mode == Mode::DontAsk => {
            Decision::Deny { why: format!("{why}, and nothing may ask") }
        }
        Some(why) => Decision::Ask { why },
    }
}

/// A path that may lead elsewhere than its text says: no rule and no root can be compared with it.
fn unresolved(access: &Access) -> Option<&Path> {
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    let mut paths = access.reads.iter().chain(&access.writes).map(PathScope::path);
    paths.find(|path| !path.is_absolute() || climbs(path))
}

/// Why the read-only default does not allow it.
fn refusal_of_default(access: &Access, workspace: &Workspace) -> Option<String> {
    if !access.known {
        return Some(match &access.runs {
            Some(commands) => format!("it is not proved harmless: {}", commands.text),
            None => "what it would touch is not known".into(),
        });
    }
    if let Some(scope) = access.writes.first() {
        return Some(format!("it would change {}", scope.path().display()));
    }
    if let Some(host) = access.hosts.first() {
        return Some(format!("it would contact {host}"));
    }
    let outside = access.reads.iter().find(|scope| !workspace.may_read(scope.path()));
    outside.map(|scope| format!("it would read {} outside the workspace", scope.path().display()))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
