//! `ostler permissions list`: every rule in effect with its place, those not in effect, and approvals.

use super::print;
use crate::args::permissions::ListArgs;
use crate::exit::{Code, Wrong, warn};
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::config::{KeptApproval, approvals};
use ostler::{Bound, COMMANDS, Fallback, Mode, Policy, Rule, Tier};
use ostler_profile::{Environment, Profile};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::path::Path;

pub fn run(environment: &Environment, args: &ListArgs) -> Result<Code> {
    let profile = Profile::load(environment, args.config.flags())?;
    let wrong = |error: ostler::config::ConfigError| Wrong::Config(error.to_string());
    let kept = approvals::list(&profile.places).map_err(wrong)?;
    let policy = &profile.loaded.policy;
    profile.notices().iter().for_each(|notice| warn(notice));
    if args.json {
        for line in as_json(policy, &profile.loaded.ignored, &kept) {
            print(&format!("{}\n", escaped(&line.to_string())))?;
        }
    } else {
        let mode = profile.loaded.mode.unwrap_or_default();
        if !has_built_in(policy) {
            let file = profile.places.ostler_home.join("permissions.yaml");
            print(&replaced(&file))?;
        }
        print(&text(policy, &profile.loaded.ignored, &kept, mode))?;
    }
    Ok(Code::Done)
}

/// The user's own file replaces the built-in rules, whatever it contains.
fn has_built_in(policy: &Policy) -> bool {
    let mut rules = lists(policy).into_iter().flat_map(|(_, rules)| rules);
    rules.any(|rule| rule.source.tier == Tier::BuiltIn)
}

fn replaced(file: &Path) -> String {
    let file = visible(&file.to_string_lossy());
    format!("{file} replaces the built-in rules (ostler permissions default prints them)\n")
}

/// The lists in the order in which they are asked.
fn lists(policy: &Policy) -> [(&'static str, &[Rule]); 3] {
    [("deny", &policy.deny), ("ask", &policy.ask), ("allow", &policy.allow)]
}

fn text(policy: &Policy, ignored: &[Rule], kept: &[KeptApproval], mode: Mode) -> String {
    let mut text = String::new();
    for (name, rules) in lists(policy) {
        // Approvals have a part of their own.
        let rules: Vec<&Rule> =
            rules.iter().filter(|rule| rule.source.tier != Tier::Approval).collect();
        if !rules.is_empty() {
            text += &format!("{name}\n");
            let gives_way = |rule: &Rule| name == "ask" && rule.source.tier == Tier::BuiltIn;
            rules.iter().for_each(|rule| text += &line(rule, "", gives_way(rule)));
        }
    }
    if !ignored.is_empty() {
        text +=
            "not in effect: the files of this project are not trusted (ostler permissions trust)\n";
        ignored.iter().for_each(|rule| text += &line(rule, "allow ", false));
    }
    if !kept.is_empty() {
        text += "approvals of this project\n";
        kept.iter().for_each(|kept| text += &approval(kept));
    }
    let rest = match policy.fallback {
        Fallback::Read => {
            "calls that only read inside the working directory run; Ostler asks about the rest"
        }
        Fallback::Ask => "Ostler asks about commands",
        Fallback::Deny => "whatever Ostler would ask about is denied",
    };
    text += &format!("otherwise: {rest} (mode {})\n", mode.name());
    text
}

fn line(rule: &Rule, before: &str, gives_way: bool) -> String {
    let tool = match rule.tool.as_str() {
        COMMANDS => String::new(),
        _ if rule.text().starts_with(rule.tool.as_str()) => String::new(),
        tool => format!("{tool}: "),
    };
    let reason = rule.reason.as_deref().map(|why| format!("  {}", visible(why)));
    let tier = rule.source.tier.name();
    let place = match rule.source.file.is_some() {
        _ if gives_way => "built in: gives way to your allow rules and modes".to_owned(),
        true => format!("{tier}, {}", rule.source),
        false => tier.to_owned(),
    };
    format!(
        "  {before}{}{}  ({}){}\n",
        visible(&tool),
        visible(rule.text()),
        visible(&place),
        reason.unwrap_or_default()
    )
}

fn approval(kept: &KeptApproval) -> String {
    let when = kept.when.as_deref().map(|when| format!("  accepted {}", visible(when)));
    let mut text = format!("  {}{}\n", visible(&kept.rule), when.unwrap_or_default());
    for (path, hash) in kept.bound.iter().flat_map(|bound| &bound.files) {
        let hash: String = hash.chars().take(12).collect();
        let path = visible(&path.to_string_lossy());
        text += &format!("    while {path} has the content {}\n", visible(&hash));
    }
    text
}

fn as_json(policy: &Policy, ignored: &[Rule], kept: &[KeptApproval]) -> Vec<Value> {
    let rule = |list: &str, rule: &Rule, in_force: bool| {
        json!({
            "list": list, "rule": rule.text(), "tool": rule.tool, "reason": rule.reason,
            "source": rule.source, "in_force": in_force, "bound": rule.bound.as_ref().map(bound),
        })
    };
    let mut lines: Vec<Value> = Vec::new();
    for (name, rules) in lists(policy) {
        let own = rules.iter().filter(|rule| rule.source.tier != Tier::Approval);
        lines.extend(own.map(|one| rule(name, one, true)));
    }
    lines.extend(ignored.iter().map(|one| rule("allow", one, false)));
    lines.extend(kept.iter().map(|kept| {
        json!({
            "list": "allow", "rule": kept.rule, "source": {"tier": Tier::Approval}, "in_force": true,
            "folder": kept.folder, "accepted": kept.when, "bound": kept.bound.as_ref().map(bound),
        })
    }));
    lines
}

fn bound(bound: &Bound) -> Value {
    let file = |(path, hash): &(std::path::PathBuf, String)| json!({"path": path, "hash": hash});
    json!({
        "folder": bound.folder, "files": bound.files.iter().map(file).collect::<Vec<_>>(),
    })
}
