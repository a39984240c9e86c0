//! What a program asks for while its session runs, each request as an input or a question to the session.

use super::conversation::Conversation;
use crate::output::printer;
use anyhow::Result;
use ostler::mcp_servers::{ConfigFault, ServerScope, from_json};
use ostler::{
    AgentInput, InboundId, Input, InputReceipt, JobId, McpInput, Rewind, Rewinding, Session,
    SessionRules, Thinking, Undone,
};
use ostler_sdk::agent_sdk::{
    InitializeAnswer, context_usage, failure, mode_named, pipe_server, server_status,
    split_servers, success,
};
use ostler_sdk::line;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The body of an answer, or why there is none.
type Answer = Result<Option<Value>, String>;

impl Conversation<'_> {
    /// Answers `initialize`, however often it is asked.
    pub(super) fn introduce(&mut self, id: &str, hooks_applied: bool) -> Result<()> {
        let state = self.state();
        let Some(open) = &self.open else { return Ok(()) };
        let (skills, model) = (open.session.skills(), open.session.model());
        let body = InitializeAnswer {
            skills: &skills,
            agents: &open.agents,
            model: model.as_str(),
            mode: open.session.mode().name(),
            state,
            key_source: &open.view.key_source,
            pid: std::process::id(),
            hooks_applied,
            pending: self.prompts.pending(open),
        };
        printer::print(&line(&success(id, Some(body.body()))))?;
        Ok(())
    }

    /// Every other request.
    pub(super) fn answer(&mut self, id: &str, body: &Value) -> Result<()> {
        let subtype = body.get("subtype").and_then(Value::as_str).unwrap_or_default();
        let frame = match self.answer_to(subtype, body) {
            Ok(body) => success(id, body),
            Err(why) => failure(id, &why),
        };
        Ok(printer::print(&line(&frame))?)
    }

    fn answer_to(&mut self, subtype: &str, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Err("there is no session".into()) };
        let session = &open.session;
        match subtype {
            "interrupt" => self.interrupt(body),
            "set_permission_mode" => {
                let name = text(body, "mode")?;
                let mode = mode_named(name).ok_or_else(|| format!("unknown mode \"{name}\""))?;
                send(session, Input::SetMode(mode))?;
                Ok(Some(json!({ "mode": mode.name() })))
            }
            "set_model" => {
                let wanted = body.get("model").and_then(Value::as_str);
                let name = wanted.filter(|name| *name != "default").unwrap_or(&open.model);
                if name.trim().is_empty() {
                    return Err("model is empty".into());
                }
                done(send(session, Input::SetModel(name.to_owned())))
            }
            "set_max_thinking_tokens" => {
                let thinking = match body.get("max_thinking_tokens").and_then(Value::as_u64) {
                    None => Thinking::Auto,
                    Some(0) => Thinking::Disabled,
                    Some(tokens) => Thinking::Budget(u32::try_from(tokens).unwrap_or(u32::MAX)),
                };
                done(send(session, Input::SetThinking(thinking)))
            }
            "get_context_usage" => Ok(Some(usage(session))),
            "get_settings" => Ok(Some(settings(session))),
            "apply_flag_settings" => done(apply_settings(session, body.get("settings"))),
            "rewind_files" => self.rewind_files(body),
            "rewind_conversation" => self.rewind_conversation(body),
            "stop_task" => self.stop_task(body),
            "cancel_async_message" => self.cancel_message(body),
            // The model still has to read the file before it changes it.
            "seed_read_state" => done(text(body, "path")),
            "mcp_status" => {
                let servers: Vec<Value> = session.mcp_status().iter().map(server_status).collect();
                Ok(Some(json!({ "mcpServers": servers })))
            }
            "mcp_set_servers" => self.set_servers(body),
            "mcp_toggle" => {
                let enabled = body.get("enabled").and_then(Value::as_bool).unwrap_or(true);
                let name = server_name(session, body)?;
                done(send(session, Input::Mcp(McpInput::Toggle { name, enabled })))
            }
            "mcp_reconnect" => {
                let name = server_name(session, body)?;
                done(send(session, Input::Mcp(McpInput::Reconnect { name })))
            }
            "mcp_authenticate" => {
                let name = server_name(session, body)?;
                send(session, Input::Mcp(McpInput::Authenticate { name }))?;
                Ok(Some(json!({ "requiresUserAction": false })))
            }
            "reload_plugins" => Ok(Some(json!({ "commands": [], "agents": [], "plugins": [] }))),
            other => Err(format!("the request \"{other}\" is not supported")),
        }
    }

    fn interrupt(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let cancel_queued = body.get("cancel_queued").and_then(Value::as_bool) == Some(true);
        match send(&open.session, Input::Interrupt { cancel_queued })? {
            InputReceipt::Interrupted { queued } if body.get("cancel_queued").is_some() => {
                let is_one = |item: &Option<InboundId>| {
                    queued.iter().any(|had| Some(&had.id) == item.as_ref())
                };
                let still = self.sent.iter().filter(|sent| is_one(&sent.item));
                let still: Vec<&str> = still.map(|sent| sent.uuid.as_str()).collect();
                Ok(Some(json!({ "still_queued": still })))
            }
            _ => Ok(None),
        }
    }

    fn rewind_files(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let dry_run = body.get("dry_run").and_then(Value::as_bool) == Some(true);
        let turn = self.turn_of(text(body, "user_message_id")?)?;
        let what = Rewinding { files: true, conversation: false };
        let rewind = Rewind { turn, what, dry_run, keep: Vec::new(), shown: None };
        let undone = match send(&open.session, Input::Rewind(rewind)) {
            Ok(InputReceipt::Rewound(undone)) => undone,
            Ok(_) => None,
            // There is nothing to take back.
            Err(why) if why.contains("nothing") => None,
            Err(why) => return Err(why),
        };
        let files = undone.as_deref().map(changed_files).unwrap_or_default();
        Ok(Some(json!({
            "canRewind": true, "filesChanged": files, "insertions": 0, "deletions": 0,
        })))
    }

    fn rewind_conversation(&mut self, body: &Value) -> Answer {
        let id = text(body, "user_message_id").or_else(|_| text(body, "message_uuid"))?;
        let turn = self.turn_of(id)?;
        let Some(open) = &mut self.open else { return Ok(None) };
        let what = Rewinding { files: false, conversation: true };
        let rewind = Rewind { turn, what, dry_run: false, keep: Vec::new(), shown: None };
        send(&open.session, Input::Rewind(rewind))?;
        open.record.rewind(turn);
        Ok(Some(json!({ "rewound": true })))
    }

    fn turn_of(&self, uuid: &str) -> Result<u32, String> {
        let turn = self.open.as_ref().and_then(|open| open.record.turn_of(uuid));
        turn.ok_or_else(|| format!("No file checkpoint found for message {uuid}"))
    }

    /// A task that is gone needs no stopping.
    fn stop_task(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let id = text(body, "task_id")?;
        let input = match open.frames.task(id) {
            Some((Some(job), _)) => Input::StopJob(JobId::new(job)),
            Some((None, Some(agent))) => Input::Agent { agent, input: AgentInput::Stop },
            Some((None, None)) => return Ok(Some(json!({}))),
            None => Input::StopJob(JobId::new(id)),
        };
        let _ = open.session.send(input);
        Ok(Some(json!({})))
    }

    /// These instead of the servers that an earlier request set.
    fn set_servers(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let wanted = body.get("servers").ok_or("the request has no servers")?;
        let (rest, names) = split_servers(wanted);
        let mut servers: Vec<_> =
            names.iter().map(|name| pipe_server(name, &self.opener.callbacks)).collect();
        let mut errors = serde_json::Map::new();
        if let Some(rest) = rest {
            let variable = |name: &str| self.opener.environment.text(name);
            let configured = from_json(&rest.to_string(), ServerScope::Session, &variable);
            for fault in &configured.faults {
                let name = match fault {
                    ConfigFault::Server { server, .. } => server.clone(),
                    ConfigFault::File(_) => "servers".to_owned(),
                };
                errors.insert(name, fault.to_string().into());
            }
            servers.extend(configured.servers);
        }
        let had: Vec<String> =
            open.session.mcp_status().into_iter().map(|server| server.name).collect();
        let added: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
        send(&open.session, Input::Mcp(McpInput::Set(servers)))?;
        let now = open.session.mcp_status();
        let removed = had.iter().filter(|name| now.iter().all(|server| server.name != **name));
        let removed: Vec<&String> = removed.collect();
        Ok(Some(json!({ "added": added, "removed": removed, "errors": errors })))
    }

    fn cancel_message(&mut self, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Ok(None) };
        let uuid = text(body, "message_uuid")?;
        let item =
            self.sent.iter().find(|sent| sent.uuid == uuid).and_then(|sent| sent.item.clone());
        let cancelled =
            item.is_some_and(|item| open.session.send(Input::CancelQueued(Some(item))).is_ok());
        Ok(Some(json!({ "cancelled": cancelled })))
    }
}

fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str, String> {
    body.get(name).and_then(Value::as_str).ok_or_else(|| format!("the request has no {name}"))
}

fn server_name(session: &Session, body: &Value) -> Result<String, String> {
    let name = text(body, "serverName")?;
    match session.mcp_status().iter().any(|server| server.name == name) {
        true => Ok(name.to_owned()),
        false => Err(format!("Server not found: {name}")),
    }
}

fn send(session: &Session, input: Input) -> Result<InputReceipt, String> {
    session.send(input).map_err(|refused| refused.to_string())
}

fn usage(session: &Session) -> Value {
    context_usage(&session.context(), true, &session.mcp_status())
}

fn done<T>(result: Result<T, String>) -> Answer {
    result.map(|_| None)
}

fn changed_files(undone: &Undone) -> Vec<PathBuf> {
    undone.outcomes.iter().map(|outcome| outcome.path.clone()).collect()
}

fn settings(session: &Session) -> Value {
    let control = session.control();
    let SessionRules { allow, ask, deny } = control.rules;
    let effective = json!({
        "model": control.model.as_str(),
        "permissions": {
            "defaultMode": control.mode.name(), "allow": allow, "ask": ask, "deny": deny,
        },
    });
    let applied = json!({ "model": control.model.as_str(), "effort": null });
    json!({ "effective": effective, "sources": [], "applied": applied })
}

/// Settings that can change while a session runs.
fn apply_settings(session: &Session, settings: Option<&Value>) -> Result<(), String> {
    let Some(Value::Object(settings)) = settings else {
        return Err("settings is not an object".into());
    };
    if let Some(model) = settings.get("model").and_then(Value::as_str) {
        send(session, Input::SetModel(model.to_owned()))?;
    }
    if let Some(permissions) = settings.get("permissions") {
        let list = |name: &str| -> Option<Vec<String>> {
            let list = permissions.get(name)?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        let had = session.control().rules;
        let rules = SessionRules {
            allow: list("allow").unwrap_or(had.allow),
            ask: list("ask").unwrap_or(had.ask),
            deny: list("deny").unwrap_or(had.deny),
        };
        send(session, Input::SetRules(rules))?;
        if let Some(name) = permissions.get("defaultMode").and_then(Value::as_str) {
            let mode = mode_named(name).ok_or_else(|| format!("unknown mode \"{name}\""))?;
            send(session, Input::SetMode(mode))?;
        }
    }
    let variables = settings.get("env").and_then(Value::as_object).into_iter().flatten();
    let changes: Vec<(String, Option<String>)> =
        variables.map(|(name, value)| (name.clone(), value.as_str().map(str::to_owned))).collect();
    if !changes.is_empty() {
        send(session, Input::SetEnv(changes))?;
    }
    Ok(())
}
