//! Sets of rules by name or as given, and whether a rule does what its examples say.

use crate::declared;
use ostler_config::{Kind, default_policy, from_json, permissions_yaml};
use ostler_core::permission::{
    Anchors, By, Fallback, Lexical, Mode, Policy, Rule, Tier, Verdict, Workspace, decide,
};
use serde_json::{Value, json};
use std::path::Path;

/// The rules that the corpora of this project are judged by.
const SEED: &str = include_str!("../../../fixtures/corpus/seed-permissions.yaml");

/// `"seed"`, `"default"`, or a set as `permissions.yaml` or a settings file would hold it.
pub fn rule_set(rules: &Value, workspace: &Workspace) -> Result<Policy, String> {
    let anchors = Anchors { cwd: &workspace.cwd, home: &workspace.home, settings: &workspace.cwd };
    let check = |kind: Kind, rule: &Rule, text: &str| rule_matches(kind, rule, text, workspace);
    let tier = Tier::CommandLine;
    let policy = match rules.as_str() {
        Some("seed") => {
            permissions_yaml::parse(SEED, Path::new("seed"), anchors, Tier::User, &check)
                .map(|(policy, _)| policy)
        }
        Some("default") => default_policy(anchors, &check),
        Some(name) => return Err(format!("there is no set \"{name}\", only seed and default")),
        None => from_json(rules, Path::new("rules"), anchors, tier, &check),
    };
    policy.map_err(|error| error.to_string())
}

/// Whether a rule, standing alone in that list, decides about a command, or about a path if it is a rule on files.
/// Goes by the text alone.
pub fn rule_matches(kind: Kind, rule: &Rule, text: &str, workspace: &Workspace) -> bool {
    let mut policy = Policy { fallback: Fallback::Ask, ..Policy::default() };
    match kind {
        Kind::Deny => policy.deny.push(rule.clone()),
        Kind::Ask => policy.ask.push(rule.clone()),
        Kind::Allow => policy.allow.push(rule.clone()),
    }
    let (tool, input) = match rule.tool.as_str() {
        "Read" | "Revert" => (rule.tool.as_str(), json!({ "file_path": text })),
        "Write" => ("Write", json!({ "file_path": text, "content": "" })),
        "Edit" => ("Edit", json!({ "file_path": text, "old_string": "", "new_string": "" })),
        "Grep" => ("Grep", json!({ "pattern": "", "path": text })),
        "Glob" => ("Glob", json!({ "pattern": text })),
        "WebFetch" => ("WebFetch", json!({ "url": text })),
        _ => ("Bash", json!({ "command": text })),
    };
    let places = Lexical { workspace };
    let Ok(access) = declared::access(tool, &input, &policy, &places) else { return false };
    let decision = decide(tool, &access, &policy, Mode::Default, workspace);
    let by_rule = decision.reasons.iter().any(|reason| reason.by == By::Rule);
    match kind {
        // What is refused in any case is refused by the rule, too.
        Kind::Deny => decision.verdict == Verdict::Deny,
        Kind::Ask => decision.verdict == Verdict::Ask && by_rule,
        Kind::Allow => decision.verdict == Verdict::Allow && by_rule,
    }
}
