//! Sets of rules by name or as given, and whether a rule does what its examples say.

use ostler_config::{CheckKind, default_policy, from_json, permissions_yaml};
use ostler_core::permission::{
    Anchors, By, COMMANDS, Fallback, Lexical, Mode, Policy, Rule, Tier, Verdict, Workspace, decide,
};
use ostler_core::tool_facts::ToolKind;
use ostler_tools::{Paper, access_on_paper};
use serde_json::Value;
use std::path::Path;

/// The rules that the corpora of this project are judged by.
const SEED: &str = include_str!("../../../../fixtures/corpus/seed-permissions.yaml");

/// `"seed"`, `"default"`, or a set as `permissions.yaml` or a settings file would hold it.
pub fn rule_set(rules: &Value, workspace: &Workspace) -> Result<Policy, String> {
    let anchors = Anchors::of(workspace);
    let check =
        |kind: CheckKind, rule: &Rule, text: &str| rule_matches(kind, rule, text, workspace);
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
pub fn rule_matches(kind: CheckKind, rule: &Rule, text: &str, workspace: &Workspace) -> bool {
    let mut policy = Policy { fallback: Fallback::Ask, ..Policy::default() };
    match kind {
        CheckKind::Deny => policy.deny.push(rule.clone()),
        CheckKind::Ask => policy.ask.push(rule.clone()),
        CheckKind::Allow => policy.allow.push(rule.clone()),
    }
    // An example is about what the rule is about: files, hosts, or commands.
    let tool = match ostler_tools::facts(&rule.tool).kind {
        ToolKind::Reads | ToolKind::Edits | ToolKind::Fetches => rule.tool.as_str(),
        _ => COMMANDS,
    };
    let input = ostler_tools::facts(tool).call_with(text);
    let paper = Paper { policy: &policy, places: &Lexical { workspace } };
    let Ok(access) = access_on_paper(tool, &input, &paper) else { return false };
    let decision = decide(tool, &access, &policy, Mode::Default, workspace);
    let by_rule = decision.reasons.iter().any(|reason| reason.by == By::Rule);
    match kind {
        // What is refused in any case is refused by the rule, too.
        CheckKind::Deny => decision.verdict == Verdict::Deny,
        CheckKind::Ask => decision.verdict == Verdict::Ask && by_rule,
        CheckKind::Allow => decision.verdict == Verdict::Allow && by_rule,
    }
}
