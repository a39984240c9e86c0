//! Judges a call without running it, for tests of rules and for `permissions check`.

use ostler_core::permission::{
    Access, By, Decision, Lexical, Mode, Places, Policy, Reason, Verdict, Workspace, decide,
};
use ostler_tools::workspace::Files;
use ostler_tools::{DiskPlaces, Paper, access_on_paper, known_tools, tool_name};
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Where programs are when nobody says otherwise.
const ORDINARY_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A call to be judged, as JSON describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    #[serde(default)]
    pub id: Value,
    pub tool: String,
    pub input: Value,
    /// `"seed"`, `"default"`, or a set of rules.
    pub rules: Value,
    #[serde(default = "ws")]
    pub cwd: PathBuf,
    /// None: the working directory.
    pub roots: Option<Vec<PathBuf>>,
    #[serde(default = "home")]
    pub home: PathBuf,
}

fn ws() -> PathBuf {
    "/ws".into()
}

fn home() -> PathBuf {
    "/home/dev".into()
}

/// A call with the verdict on it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The product's name for it.
    pub tool: String,
    /// None: its input is not understood.
    pub access: Option<Access>,
    pub decision: Decision,
}

/// The verdict on a case; what cannot be judged asks.
pub fn check(case: &Case) -> Decision {
    let workspace = Workspace {
        cwd: case.cwd.clone(),
        roots: case.roots.clone().unwrap_or_else(|| vec![case.cwd.clone()]),
        home: case.home.clone(),
        tools: known_tools(),
        ..Workspace::default()
    };
    match crate::rule_sets::rule_set(&case.rules, &workspace) {
        Ok(policy) => judge(&case.tool, &case.input, &policy, Mode::Default, &workspace).decision,
        Err(why) => asks(format!("the rules cannot be used: {why}")),
    }
}

/// The verdict on a call in a workspace, as commands with an ordinary `PATH` would run.
pub fn judge(
    tool: &str,
    input: &Value,
    policy: &Policy,
    mode: Mode,
    workspace: &Workspace,
) -> Judged {
    judge_with_path(tool, input, policy, mode, workspace, OsStr::new(ORDINARY_PATH))
}

/// The verdict on a call in a workspace. Where the workspace is on this machine its links are followed and programs
/// are looked for in the path; otherwise the text says where everything leads.
pub fn judge_with_path(
    tool: &str,
    input: &Value,
    policy: &Policy,
    mode: Mode,
    workspace: &Workspace,
    path: &OsStr,
) -> Judged {
    let Some(real) = real(workspace) else {
        return judged(tool, input, policy, mode, workspace, &Lexical { workspace });
    };
    let files = Files::new(real.clone(), Vec::new(), Vec::new());
    judged(tool, input, policy, mode, &real, &DiskPlaces::new(&files, path))
}

/// The workspace free of links; none if any part of it is not on this machine.
fn real(workspace: &Workspace) -> Option<Workspace> {
    let folder = |path: &PathBuf| path.canonicalize().ok().filter(|path| path.is_dir());
    let roots: Option<Vec<PathBuf>> = workspace.roots.iter().map(folder).collect();
    Some(Workspace { cwd: folder(&workspace.cwd)?, roots: roots?, ..workspace.clone() })
}

fn judged(
    tool: &str,
    input: &Value,
    policy: &Policy,
    mode: Mode,
    workspace: &Workspace,
    places: &dyn Places,
) -> Judged {
    let tool = tool_name(tool);
    let access = access_on_paper(tool, input, &Paper { policy, places });
    verdict_on(tool, access, policy, mode, workspace)
}

/// The verdict on a call that touches this, or of which nobody knows what it touches.
pub(crate) fn verdict_on(
    tool: &str,
    access: Result<Access, String>,
    policy: &Policy,
    mode: Mode,
    workspace: &Workspace,
) -> Judged {
    let decide = |access: &Access| decide(tool, access, policy, mode, workspace);
    let decision = match &access {
        Ok(access) => decide(access),
        // A rule may refuse it all the same, but none can allow it.
        Err(why) => match decide(&Access::unknown()) {
            refused if refused.verdict == Verdict::Deny => refused,
            _ => asks(why.clone()),
        },
    };
    Judged { tool: tool.to_owned(), access: access.ok(), decision }
}

fn asks(why: String) -> Decision {
    let reasons = vec![Reason::new(By::BuiltIn, why)];
    Decision { verdict: Verdict::Ask, reasons, offer: Vec::new() }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
