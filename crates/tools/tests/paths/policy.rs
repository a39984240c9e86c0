//! The base policy of the corpus: reads and writes inside the workspace are allowed, everything else asks, and so do
//! files whose path holds `.env`, protected names, and secrets.

use ostler_core::permission::{
    Access, Decision, Mode, PathScope, Rules, Workspace, decide, protected, sensitive,
};
use std::path::Path;

/// `allow`, `ask` or `deny`.
pub fn verdict(tool: &str, access: &Access, workspace: &Workspace) -> &'static str {
    match decide(tool, access, &Rules::default(), Mode::AcceptEdits, workspace) {
        Decision::Deny { .. } => return "deny",
        Decision::Ask { .. } => return "ask",
        Decision::Allow { .. } => {}
    }
    let asks = |scope: &PathScope| match scope {
        PathScope::File(path) => !is_readable(path, workspace),
        // What may not be read in it is left out.
        PathScope::Tree(path) => !access.filtered && !is_readable(path, workspace),
    };
    let guarded = |scope: &PathScope| {
        is_environment(scope.path()) || protected(scope.path(), workspace).is_some()
    };
    if access.reads.iter().any(asks) || access.writes.iter().any(guarded) { "ask" } else { "allow" }
}

/// May be shown without a question.
pub fn is_readable(path: &Path, workspace: &Workspace) -> bool {
    !is_environment(path) && sensitive(path, workspace).is_none()
}

/// The rule `\.env` of the corpus.
fn is_environment(path: &Path) -> bool {
    path.to_string_lossy().contains(".env")
}
