//! The base policy of the corpus: reads and writes inside the workspace are allowed, everything else asks, and so do
//! files whose path holds `.env`.

use ostler_core::permission::{Access, Mode, Policy, Rule, Source, Verdict, Workspace, decide};

pub fn base(workspace: &Workspace) -> Policy {
    Policy {
        allow: vec![Rule::parse("Edit(./**)", workspace).unwrap()],
        ask: vec![Rule::regex("Bash", r"\.env", Source::default()).unwrap()],
        ..Policy::default()
    }
}

/// `allow`, `ask` or `deny`.
pub fn verdict(tool: &str, access: &Access, workspace: &Workspace) -> &'static str {
    match decide(tool, access, &base(workspace), Mode::Default, workspace).verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}
