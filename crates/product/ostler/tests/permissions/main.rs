//! The published cases of the permission corpus, and what becomes of the allowed ones when they are written differently.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod backing;
mod bypass;
mod common_rules;
mod corpus;
mod everyday;
mod mutations;
mod protected;

use ostler::{Access, Backing, Case, Decision, Mode, Policy, Verdict, Workspace};
use ostler_core::permission::decide;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

#[derive(Clone, Debug, Deserialize)]
struct Published {
    #[serde(flatten)]
    case: Case,
    accept: Vec<String>,
    family: String,
}

impl Published {
    fn id(&self) -> String {
        self.case.id.as_str().unwrap_or_default().to_owned()
    }

    fn accepts(&self, verdict: Verdict) -> bool {
        self.accept.iter().any(|name| name == named(verdict))
    }
}

fn named(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/dev".into(),
        tools: ostler::known_tools(),
        ..Workspace::default()
    }
}

/// The decision on a call that the whole sandbox holds and undo keeps.
fn backed(tool: &str, input: &Value, policy: &Policy, mode: Mode) -> Decision {
    let judged = ostler::judge(tool, input, policy, mode, &workspace());
    match judged.access {
        Some(access) => {
            let access = Access { backing: Backing::Whole, ..access };
            decide(&judged.tool, &access, policy, mode, &workspace())
        }
        None => judged.decision,
    }
}

fn published() -> Vec<Published> {
    cases("permissions.jsonl")
}

fn cases(file: &str) -> Vec<Published> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/corpus").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
