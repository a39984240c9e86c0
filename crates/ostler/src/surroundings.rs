//! What the model is told of its surroundings. It stands before a prompt, not in the system text, so that tools and
//! system text are the same bytes in every session.

use ostler_core::permission::{Mode, Workspace};
use std::path::Path;

const ENVIRONMENT: &str = include_str!("../../../prompts/environment.md").trim_ascii();

pub(crate) fn environment(workspace: &Workspace, mode: Mode, today: &str) -> String {
    let others: Vec<_> = workspace
        .roots
        .iter()
        .filter(|root| **root != workspace.cwd)
        .map(|root| root.display().to_string())
        .collect();
    let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
    ENVIRONMENT
        .replace("{cwd}", &workspace.cwd.display().to_string())
        .replace("{dirs}", &others)
        .replace("{git}", &git_state(&workspace.cwd))
        .replace("{permissions}", permissions(mode))
        .replace("{platform}", std::env::consts::OS)
        .replace("{date}", today)
}

/// Read from the files, because starting git costs more than all the rest of a start.
fn git_state(cwd: &Path) -> String {
    for folder in cwd.ancestors() {
        let dot_git = folder.join(".git");
        if dot_git.is_file() {
            return "yes, a worktree".into();
        }
        if let Ok(head) = std::fs::read_to_string(dot_git.join("HEAD")) {
            let branch = head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned);
            return branch.map_or("yes, no branch checked out".into(), |branch| {
                format!("yes, on branch {branch}")
            });
        }
    }
    "no".into()
}

fn permissions(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "reading runs; changes and commands need the user's consent",
        Mode::AcceptEdits => {
            "reading and editing files here run; other commands need the user's consent"
        }
        Mode::Plan => "nothing may be changed: look, then present a plan",
        Mode::DontAsk => "only what is allowed runs; nobody can be asked",
        Mode::BypassPermissions => "everything runs without a question; be careful",
    }
}
