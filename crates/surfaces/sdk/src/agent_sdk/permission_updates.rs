//! Questions to the program that drives us, and what its answers change.

use ostler::{By, Decision, Mode, Question, Reply, SessionRules};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// A question as the request `can_use_tool`; `agent` is who asks, if it is not the session itself.
pub fn can_use_tool(
    question: &Question,
    display: &str,
    description: &str,
    suggested: Value,
    agent: Option<&str>,
) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("subtype", "can_use_tool".into());
    put("tool_name", question.tool.as_str().into());
    put("display_name", display.into());
    put("input", question.input.clone());
    put("tool_use_id", question.call.as_str().into());
    put("permission_suggestions", suggested);
    let (kind, why) = decision_reason(&question.decision);
    put("decision_reason", why.into());
    put("decision_reason_type", kind.into());
    put("title", format!("Ostler wants to use {display}").into());
    if !description.is_empty() {
        put("description", description.into());
    }
    let touched = question.touches.changes.first().or_else(|| question.touches.reads.first());
    if let Some(place) = touched {
        put("blocked_path", place.path.to_string_lossy().into_owned().into());
    }
    if let Some(agent) = agent {
        put("agent_id", agent.into());
    }
    Value::Object(fields)
}

/// Who decided, by the names that programs know.
pub(super) fn reason_type(decision: &Decision) -> &'static str {
    match decision.by() {
        By::Hook => "hook",
        By::Rule => "rule",
        By::Mode => "mode",
        By::BuiltIn => "safetyCheck",
        By::Sandbox => "sandboxOverride",
        By::Default | By::Person | By::Nobody => "other",
    }
}

/// What led to the question: the reason of a hook in its own words, or all reasons.
fn decision_reason(decision: &Decision) -> (&'static str, String) {
    let kind = reason_type(decision);
    match decision.reasons.first() {
        Some(reason) if reason.by == By::Hook => {
            (kind, reason.said.as_ref().unwrap_or(&reason.why).clone())
        }
        _ => (kind, decision.why()),
    }
}

/// What would allow a call that changes files, and others like it, from now on.
pub fn suggested_mode() -> Value {
    json!([{ "type": "setMode", "mode": Mode::AcceptEdits.name(), "destination": "session" }])
}

/// Rules that would allow a call from now on, as the updates that add them.
pub fn suggestions(rules: &[String]) -> Value {
    let rule = |text: &String| match text.split_once('(') {
        Some((tool, content)) => {
            let content = content.strip_suffix(')').unwrap_or(content);
            json!({ "toolName": tool, "ruleContent": content })
        }
        None => json!({ "toolName": text }),
    };
    match rules {
        [] => json!([]),
        rules => {
            let rules: Vec<Value> = rules.iter().map(rule).collect();
            json!([{
                "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session",
            }])
        }
    }
}

/// What the program answered.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionAnswer {
    pub reply: Reply,
    pub updates: Vec<PermissionUpdate>,
    /// The turn ends with it.
    pub interrupt: bool,
}

impl PermissionAnswer {
    fn no(why: impl Into<String>) -> Self {
        PermissionAnswer { reply: Reply::No(why.into()), updates: Vec::new(), interrupt: false }
    }

    /// Anything but a plain yes is a no.
    pub fn read(answer: &Value, asked: &Value) -> Self {
        match answer.get("behavior").and_then(Value::as_str) {
            Some("allow") => PermissionAnswer::allow(answer, asked),
            Some("deny") => {
                let why = answer.get("message").and_then(Value::as_str).unwrap_or_default();
                let why = if why.is_empty() { "the permission callback said no" } else { why };
                let interrupt = answer.get("interrupt").and_then(Value::as_bool) == Some(true);
                PermissionAnswer { interrupt, ..PermissionAnswer::no(why) }
            }
            _ => PermissionAnswer::no("the permission callback gave no answer that can be read"),
        }
    }

    fn allow(answer: &Value, asked: &Value) -> Self {
        let reply = match answer.get("updatedInput") {
            None | Some(Value::Null) => Reply::Yes,
            Some(input) if input == asked => Reply::Yes,
            Some(input @ Value::Object(_)) => Reply::YesWithInput(input.clone()),
            Some(_) => {
                return PermissionAnswer::no(
                    "the permission callback changed the input to something that is not an object",
                );
            }
        };
        let updates = answer.get("updatedPermissions").and_then(Value::as_array);
        let updates = updates.into_iter().flatten().map(PermissionUpdate::read);
        match updates.collect::<Result<Vec<_>, _>>() {
            Ok(updates) => PermissionAnswer { reply, updates, interrupt: false },
            Err(why) => PermissionAnswer::no(format!(
                "the permission callback's updatedPermissions cannot be read: {why}"
            )),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PermissionUpdate {
    pub change: PermissionChange,
    /// Also for later sessions of the project.
    pub keeps: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PermissionChange {
    Rules {
        act: RuleAct,
        behavior: Behavior,
        rules: Vec<String>,
    },
    Mode(Mode),
    AddDirectories(Vec<PathBuf>),
    /// Sessions cannot lose directories.
    RemoveDirectories,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAct {
    Add,
    Replace,
    Remove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    Allow,
    Ask,
    Deny,
}

impl PermissionUpdate {
    fn read(update: &Value) -> Result<Self, String> {
        let text = |name: &str| update.get(name).and_then(Value::as_str);
        let rules = |act| {
            let behavior = match text("behavior") {
                Some("allow") | None => Behavior::Allow,
                Some("ask") => Behavior::Ask,
                Some("deny") => Behavior::Deny,
                Some(other) => return Err(format!("unknown behavior \"{other}\"")),
            };
            let rules = update.get("rules").and_then(Value::as_array).into_iter().flatten();
            let rules = rules.map(rule_text).collect::<Result<_, _>>()?;
            Ok(PermissionChange::Rules { act, behavior, rules })
        };
        let change = match text("type") {
            Some("addRules") => rules(RuleAct::Add)?,
            Some("replaceRules") => rules(RuleAct::Replace)?,
            Some("removeRules") => rules(RuleAct::Remove)?,
            Some("setMode") => {
                let name = text("mode").unwrap_or_default();
                let mode = mode_named(name).ok_or_else(|| format!("unknown mode \"{name}\""))?;
                PermissionChange::Mode(mode)
            }
            Some("addDirectories") => {
                let list = update.get("directories").and_then(Value::as_array);
                let paths = list.into_iter().flatten().filter_map(Value::as_str);
                PermissionChange::AddDirectories(paths.map(PathBuf::from).collect())
            }
            Some("removeDirectories") => PermissionChange::RemoveDirectories,
            Some(other) => return Err(format!("unknown type \"{other}\"")),
            None => return Err("an update has no type".into()),
        };
        let destination = text("destination").unwrap_or("session");
        let keeps = ["userSettings", "projectSettings", "localSettings"].contains(&destination);
        Ok(PermissionUpdate { change, keeps })
    }
}

fn rule_text(rule: &Value) -> Result<String, String> {
    let tool = rule.get("toolName").and_then(Value::as_str).filter(|tool| !tool.is_empty());
    let tool = tool.ok_or("a rule has no toolName")?;
    Ok(match rule.get("ruleContent").and_then(Value::as_str) {
        Some(content) if !content.is_empty() => format!("{tool}({content})"),
        _ => tool.to_owned(),
    })
}

/// A mode by its name, also by names that mean the same.
pub fn mode_named(name: &str) -> Option<Mode> {
    match name {
        // Nobody but the person judges here, so what would be judged is asked about.
        "manual" | "auto" => Some(Mode::Default),
        name => Mode::parse(name),
    }
}

/// The session's rules after a change.
pub fn changed_rules(
    mut all: SessionRules,
    act: RuleAct,
    behavior: Behavior,
    rules: &[String],
) -> SessionRules {
    let list = match behavior {
        Behavior::Allow => &mut all.allow,
        Behavior::Ask => &mut all.ask,
        Behavior::Deny => &mut all.deny,
    };
    match act {
        RuleAct::Replace => *list = rules.to_vec(),
        RuleAct::Remove => list.retain(|rule| !rules.contains(rule)),
        RuleAct::Add => {
            for rule in rules {
                if !list.contains(rule) {
                    list.push(rule.clone());
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler::{Reason, Verdict};

    /// Whatever the hook is called.
    #[test]
    fn the_reason_of_a_hook_is_in_its_own_words() {
        let reason = |said: Option<&str>| {
            let why = "the hook team: policy: not on a Friday: ask again".to_owned();
            let said = said.map(str::to_owned);
            let reasons = vec![Reason { said, ..Reason::new(By::Hook, why) }];
            decision_reason(&Decision { verdict: Verdict::Ask, reasons, offer: Vec::new() })
        };
        let own = "not on a Friday: ask again";
        assert_eq!(reason(Some(own)), ("hook", own.to_owned()));
        let whole = "the hook team: policy: not on a Friday: ask again";
        assert_eq!(reason(None), ("hook", whole.to_owned()), "a stream of an earlier version");
    }

    #[test]
    fn anything_but_a_plain_yes_is_a_no() {
        let asked = json!({"command": "ls"});
        for answer in [
            json!(null),
            json!({}),
            json!({"behavior": "maybe"}),
            json!({"behavior": "allow", "updatedInput": "rm"}),
            json!({"behavior": "allow", "updatedPermissions": [{"type": "grantAll"}]}),
            json!({"behavior": "allow", "updatedPermissions": [{"type": "addRules", "rules": [{}]}]}),
            json!({"behavior": "allow", "updatedPermissions": [{"type": "setMode", "mode": "yolo"}]}),
        ] {
            let read = PermissionAnswer::read(&answer, &asked);
            assert!(matches!(read.reply, Reply::No(_)) && read.updates.is_empty(), "{answer}");
        }
    }

    #[test]
    fn a_yes_may_change_the_input_and_add_rules() {
        let asked = json!({"command": "ls"});
        let read = |answer: Value| PermissionAnswer::read(&answer, &asked);
        assert_eq!(read(json!({"behavior": "allow"})).reply, Reply::Yes);
        assert_eq!(read(json!({"behavior": "allow", "updatedInput": asked})).reply, Reply::Yes);
        let changed = json!({"command": "pwd"});
        let answer = read(json!({
            "behavior": "allow", "updatedInput": changed,
            "updatedPermissions": [
                {"type": "addRules", "behavior": "allow", "destination": "localSettings",
                 "rules": [{"toolName": "Bash", "ruleContent": "git:*"}, {"toolName": "Read"}]},
                {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            ],
        }));
        assert_eq!(answer.reply, Reply::YesWithInput(changed));
        let rules = vec!["Bash(git:*)".to_owned(), "Read".to_owned()];
        let (act, behavior) = (RuleAct::Add, Behavior::Allow);
        let expected = [
            PermissionUpdate {
                change: PermissionChange::Rules { act, behavior, rules },
                keeps: true,
            },
            PermissionUpdate { change: PermissionChange::Mode(Mode::AcceptEdits), keeps: false },
        ];
        assert_eq!(answer.updates, expected);
        let deny = read(json!({"behavior": "deny", "message": "not now", "interrupt": true}));
        assert!(deny.interrupt && deny.reply == Reply::No("not now".into()));
    }

    #[test]
    fn suggestions_come_back_as_the_rules_they_were_made_of() {
        let rules = ["Bash(git status:*)".to_owned(), "WebFetch".to_owned()];
        let suggested = suggestions(&rules);
        let answer = json!({"behavior": "allow", "updatedPermissions": suggested});
        let read = PermissionAnswer::read(&answer, &json!({}));
        let [
            PermissionUpdate { change: PermissionChange::Rules { rules: read, .. }, keeps: false },
        ] = read.updates.as_slice()
        else {
            panic!("{read:?}")
        };
        assert_eq!(read, &rules);
        assert_eq!(suggestions(&[]), json!([]));
    }

    #[test]
    fn rules_are_added_replaced_and_removed() {
        let had = SessionRules { allow: vec!["Read".into()], ..SessionRules::default() };
        let rules = vec!["Read".to_owned(), "Grep".to_owned()];
        let added = changed_rules(had, RuleAct::Add, Behavior::Allow, &rules);
        assert_eq!(added.allow, ["Read", "Grep"]);
        let removed = changed_rules(added, RuleAct::Remove, Behavior::Allow, &rules[..1]);
        assert_eq!(removed.allow, ["Grep"]);
        let replaced = changed_rules(removed, RuleAct::Replace, Behavior::Deny, &rules);
        assert_eq!((replaced.allow.len(), replaced.deny.len()), (1, 2));
    }
}
