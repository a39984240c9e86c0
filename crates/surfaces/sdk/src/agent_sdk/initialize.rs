//! The first request of a program: what it brings along, and what it is told about us.

use super::callback_hooks::CallbackSpec;
use super::message_frames::{CAPABILITIES, STANDS_FOR};
use super::permission_updates::mode_named;
use ostler::{AgentDefinition, AgentKind, Effort, Skill};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What an `initialize` request asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitializeRequest {
    pub hooks: Vec<CallbackSpec>,
    pub agents: Vec<AgentDefinition>,
    /// Replaces the system prompt.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// Skills that the model may use; none: all.
    pub skills: Option<Vec<String>>,
    /// What agents write is told, too, not only what they do.
    pub forward_subagent_text: bool,
    /// MCP servers that the program runs itself.
    pub sdk_servers: Vec<String>,
    /// What it says about these servers, by their names.
    pub sdk_server_configs: Value,
    pub json_schema: Option<Value>,
    /// What it asks for and does not get, in words.
    pub without_effect: Vec<String>,
}

/// Fields of an agent's definition that change nothing here.
const IGNORED_OF_AGENTS: [&str; 3] = ["memory", "mcpServers", "initialPrompt"];
/// The same of the whole request.
const IGNORED: [&str; 5] =
    ["planModeInstructions", "toolAliases", "title", "plugins", "systemPromptSnapshot"];

impl InitializeRequest {
    /// # Errors
    /// In words, if something in it cannot be used.
    pub fn read(body: &Value) -> Result<Self, String> {
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| {
            let list = body.get(name)?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
        };
        let system_prompt = match body.get("systemPrompt") {
            Some(Value::Array(parts)) => {
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                Some(parts.join("\n\n"))
            }
            _ => text("systemPrompt"),
        };
        Ok(InitializeRequest {
            hooks: CallbackSpec::read(body.get("hooks"))?,
            agents: agent_definitions(body.get("agents"))?,
            system_prompt,
            append_system_prompt: text("appendSystemPrompt"),
            skills: list("skills"),
            forward_subagent_text: body.get("forwardSubagentText") == Some(&Value::Bool(true)),
            sdk_servers: list("sdkMcpServers").unwrap_or_default(),
            sdk_server_configs: body.get("sdkMcpServerConfigs").cloned().unwrap_or_default(),
            json_schema: body.get("jsonSchema").filter(|schema| schema.is_object()).cloned(),
            without_effect: without_effect(body),
        })
    }
}

fn without_effect(body: &Value) -> Vec<String> {
    let is_set = |value: Option<&Value>| match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Array(all)) => !all.is_empty(),
        Some(_) => true,
    };
    let own = IGNORED.iter().filter(|name| is_set(body.get(**name)));
    let mut all: Vec<String> =
        own.map(|name| format!("{name} of the initialize request")).collect();
    let events = body.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let unknown = events
        .filter(|(name, hooks)| is_set(Some(hooks)) && ostler::EventName::parse(name).is_none());
    all.extend(unknown.map(|(name, _)| format!("hooks on the event {name}")));
    for (agent, fields) in body.get("agents").and_then(Value::as_object).into_iter().flatten() {
        let ignored = IGNORED_OF_AGENTS.iter().filter(|name| is_set(fields.get(**name)));
        all.extend(ignored.map(|name| format!("{name} of the agent {agent}")));
        let effort = fields.get("effort").filter(|effort| !effort.is_null());
        if effort.is_some_and(|effort| named_effort(effort).is_none()) {
            all.push(format!("effort of the agent {agent}"));
        }
    }
    all
}

/// Agents as programs and the flag `--agents` describe them: names and what each is.
///
/// # Errors
/// In words, naming the agent.
pub fn agent_definitions(agents: Option<&Value>) -> Result<Vec<AgentDefinition>, String> {
    let agents = match agents {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(agents)) => agents,
        Some(_) => return Err("agents is not an object".into()),
    };
    agents.iter().map(|(name, agent)| definition(name, agent)).collect()
}

fn definition(name: &str, agent: &Value) -> Result<AgentDefinition, String> {
    if !AgentDefinition::is_name(name) {
        return Err(format!(
            "\"{name}\" cannot be the name of an agent: use up to 64 letters, digits, - and _"
        ));
    }
    let Some(fields) = agent.as_object() else {
        return Err(format!("the agent {name} is not an object"));
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let required = |key: &str| {
        text(key).map(str::to_owned).ok_or_else(|| format!("the agent {name} has no {key}"))
    };
    let mode = match text("permissionMode") {
        Some(mode) => Some(
            mode_named(mode)
                .ok_or_else(|| format!("the agent {name} has the unknown mode {mode}"))?,
        ),
        None => None,
    };
    let turns = fields.get("maxTurns").and_then(Value::as_u64);
    Ok(AgentDefinition {
        name: name.to_owned(),
        description: required("description")?,
        prompt: required("prompt")?,
        tools: names(fields, "tools"),
        disallowed_tools: names(fields, "disallowedTools").unwrap_or_default(),
        model: text("model").filter(|model| *model != "inherit").map(str::to_owned),
        mode,
        max_turns: turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
        effort: fields.get("effort").and_then(named_effort),
        background: fields.get("background") == Some(&Value::Bool(true)),
        skills: names(fields, "skills").unwrap_or_default(),
        ..AgentDefinition::default()
    })
}

fn named_effort(effort: &Value) -> Option<Effort> {
    effort.as_str().and_then(Effort::named)
}

fn names(fields: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    let list = fields.get(key)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// What a program is told when it introduces itself.
pub struct InitializeAnswer<'a> {
    pub skills: &'a [Arc<Skill>],
    pub agents: &'a [AgentDefinition],
    pub model: &'a str,
    pub mode: &'a str,
    pub state: &'a str,
    pub key_source: &'a str,
    pub pid: u32,
    /// False: hooks of this request were not registered, because the session had begun.
    pub hooks_applied: bool,
    /// Questions that wait for an answer, as they were asked.
    pub pending: Vec<Value>,
    pub output_style: &'a str,
    /// Those that can be chosen.
    pub output_styles: &'a [String],
    /// What the program asked for and does not get.
    pub without_effect: &'a [String],
}

/// What is answered without the model: name, what it does, and what can follow it.
pub(super) const LOCAL_COMMANDS: [(&str, &str, &str); 4] = [
    ("compact", "Summarize the conversation so far", "<what to focus on>"),
    ("context", "Show what fills the context window", ""),
    ("cost", "Show what this session has cost", ""),
    ("clear", "Start a new conversation", ""),
];

impl InitializeAnswer<'_> {
    pub fn body(&self) -> Value {
        let own = |(name, what, hint): (&str, &str, &str)| {
            let mut command = command(name, what, hint);
            command["builtin"] = true.into();
            command
        };
        let mut commands: Vec<Value> = LOCAL_COMMANDS.into_iter().map(own).collect();
        commands.extend(skill_commands(self.skills));
        json!({
            "commands": commands, "agents": self.agents(),
            "output_style": self.output_style, "available_output_styles": self.output_styles,
            "models": self.models(),
            "account": {
                "apiKeySource": self.key_source, "tokenSource": "none", "apiProvider": "firstParty",
            },
            "pid": self.pid, "hook_on_failure_supported": true,
            "hooks_applied": self.hooks_applied, "capabilities": CAPABILITIES,
            "claude_code_version": STANDS_FOR, "fast_mode_state": "off",
            "current_permission_mode": self.mode, "session_state": self.state,
            "pending_permission_requests": self.pending,
            "ostler_without_effect": self.without_effect,
        })
    }

    /// Those that people defined, then those that ship, unless one of the same name was defined.
    fn agents(&self) -> Vec<Value> {
        let defined = self.agents.iter().map(|agent| {
            let mut entry = json!({ "name": agent.name, "description": agent.description });
            if let Some(model) = &agent.model {
                entry["model"] = model.as_str().into();
            }
            entry
        });
        let is_new = |name: &str| self.agents.iter().all(|agent| agent.name != name);
        let shipped = AgentKind::ALL.into_iter().map(|kind| (kind.names()[1], kind.purpose()));
        let shipped = shipped.filter(|(name, _)| is_new(name));
        let shipped = shipped.map(|(name, what)| json!({ "name": name, "description": what }));
        defined.chain(shipped).collect()
    }

    fn models(&self) -> Value {
        let entry = |value: &str, resolved: &str, name: &str, description: &str| {
            json!({
                "value": value, "resolvedModel": resolved, "displayName": name,
                "description": description, "supportsEffort": true,
                "supportedEffortLevels": ["low", "medium", "high", "xhigh", "max"],
                "supportsAdaptiveThinking": true,
            })
        };
        let aliases = ["sonnet", "opus", "haiku"].map(|alias| {
            let resolved = ostler::model(alias);
            entry(alias, resolved.as_str(), alias, resolved.as_str())
        });
        let current = entry("default", self.model, "Default", self.model);
        let all: Vec<Value> = std::iter::once(current).chain(aliases).collect();
        all.into()
    }
}

fn command(name: &str, description: &str, hint: &str) -> Value {
    json!({ "name": name, "description": description, "argumentHint": hint })
}

/// The skills that a person may use, as commands.
pub fn skill_commands(skills: &[Arc<Skill>]) -> Vec<Value> {
    let skills = skills.iter().filter(|skill| skill.for_user);
    let entry = |skill: &Arc<Skill>| {
        let hint = skill.argument_hint.as_deref().unwrap_or_default();
        command(&skill.name, &skill.description, hint)
    };
    skills.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler::Mode;

    #[test]
    fn agents_are_read_and_mistakes_name_the_agent() {
        let agents = json!({"reviewer": {
            "description": "Reviews", "prompt": "Review.", "tools": ["Read"], "model": "haiku",
            "permissionMode": "plan", "maxTurns": 3, "effort": "xhigh", "background": true,
            "skills": ["greet"],
        }});
        let read = agent_definitions(Some(&agents)).unwrap();
        let expected = AgentDefinition {
            name: "reviewer".into(),
            description: "Reviews".into(),
            prompt: "Review.".into(),
            tools: Some(vec!["Read".into()]),
            model: Some("haiku".into()),
            mode: Some(Mode::Plan),
            max_turns: Some(3),
            effort: Some(Effort::XHigh),
            background: true,
            skills: vec!["greet".into()],
            ..AgentDefinition::default()
        };
        assert_eq!(read, [expected]);
        for (agents, part) in [
            (json!({"a b": {}}), "\"a b\""),
            (json!({"x": {"description": "d"}}), "the agent x has no prompt"),
            (json!({"x": {"description": "d", "prompt": "p", "permissionMode": "?"}}), "mode ?"),
            (json!([]), "not an object"),
        ] {
            let wrong = agent_definitions(Some(&agents)).unwrap_err();
            assert!(wrong.contains(part), "{wrong}");
        }
    }

    #[test]
    fn what_has_no_effect_is_named() {
        let agents = json!({
            "a": {"description": "d", "prompt": "p", "memory": "user", "initialPrompt": null, "effort": "low"},
            "b": {"description": "d", "prompt": "p", "mcpServers": [], "effort": 7},
        });
        let hook = json!([{"hookCallbackIds": ["h"]}]);
        let hooks = json!({"OfTheFuture": hook, "Stop": hook, "Setup": []});
        let body = json!({"agents": agents, "title": "t", "plugins": [], "hooks": hooks});
        let read = InitializeRequest::read(&body).unwrap();
        let expected = [
            "title of the initialize request",
            "hooks on the event OfTheFuture",
            "memory of the agent a",
            "effort of the agent b",
        ];
        assert_eq!(read.without_effect, expected);
    }

    #[test]
    fn the_answer_lists_commands_with_hints_and_agents_that_ship() {
        let mut scout = AgentDefinition { name: "scout".into(), ..AgentDefinition::default() };
        scout.description = "Scouts".into();
        let mut plan = AgentDefinition { name: "Plan".into(), ..AgentDefinition::default() };
        plan.model = Some("haiku".into());
        let answer = InitializeAnswer {
            skills: &[],
            agents: &[scout, plan],
            model: "m",
            mode: "default",
            state: "idle",
            key_source: "k",
            pid: 1,
            hooks_applied: true,
            pending: Vec::new(),
            output_style: "Terse",
            output_styles: &["default".into(), "Terse".into()],
            without_effect: &[],
        };
        let body = answer.body();
        assert_eq!(body["output_style"], "Terse");
        let named = |list: &str| -> Vec<String> {
            let list = body[list].as_array().unwrap().iter();
            list.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(named("agents"), ["scout", "Plan", "Explore", "general-purpose"]);
        assert_eq!(body["agents"][0], json!({"name": "scout", "description": "Scouts"}));
        assert_eq!(body["agents"][1]["model"], "haiku");
        assert_eq!(named("commands"), ["compact", "context", "cost", "clear"]);
        assert_eq!(body["commands"][0]["argumentHint"], "<what to focus on>");
        let all = ["output_style", "available_output_styles", "models", "account", "pid"];
        assert!(all.iter().all(|field| !body[field].is_null()), "{body}");
    }

    #[test]
    fn a_system_prompt_is_a_text_or_parts() {
        let read = |body: Value| InitializeRequest::read(&body).unwrap().system_prompt;
        assert_eq!(read(json!({"systemPrompt": "a"})), Some("a".into()));
        assert_eq!(read(json!({"systemPrompt": ["a", "b"]})), Some("a\n\nb".into()));
        assert_eq!(read(json!({"systemPrompt": [""]})), Some(String::new()));
        assert_eq!(read(json!({})), None);
    }
}
