//! Requests that the TypeScript SDK has methods for and that few programs need.

use super::conversation::Conversation;
use super::requests::{Answer, send, text};
use ostler::{CallId, Input, InputRefused, Session};
use ostler_sdk::agent_sdk::{
    Behavior, LiveSession, RuleAct, changed_rules, server_status, skill_commands,
};
use serde_json::{Value, json};

impl Conversation<'_> {
    pub(super) fn further(&self, subtype: &str, body: &Value) -> Answer {
        let Some(open) = &self.open else { return Err("there is no session".into()) };
        let session = &open.session;
        match subtype {
            "background_tasks" => background(session, body),
            "reload_plugins" => Ok(self.parts()),
            "reload_skills" => Ok(Some(json!({ "skills": skill_commands(&session.skills()) }))),
            "reload_output_styles" => {
                Ok(Some(json!({ "available_output_styles": open.output_styles })))
            }
            "list_models" => {
                let models = self.introduction(true).map(|mut body| body["models"].take());
                Ok(Some(json!({ "models": models })))
            }
            "get_usage" => Ok(Some(open.frames.usage(&open.view))),
            "get_binary_version" => Ok(Some(json!({ "version": open.view.version }))),
            "set_mcp_permission_mode_override" => limit_server(session, body),
            // There is nothing that they could change here.
            "set_color" | "set_has_subscribers" | "set_prompt_suggestions_paused" => Ok(None),
            other => Err(format!("the request \"{other}\" is not supported")),
        }
    }

    /// Plugins are read when a session begins: the parts are those that it has.
    fn parts(&self) -> Option<Value> {
        let open = self.open.as_ref()?;
        let mut body = self.introduction(true)?;
        let servers: Vec<Value> = open.session.mcp_status().iter().map(server_status).collect();
        Some(json!({
            "commands": body["commands"].take(), "agents": body["agents"].take(),
            "plugins": open.view.plugins(), "mcpServers": servers, "error_count": 0,
        }))
    }
}

/// Commands and agents that the turn waits for go on in the background.
fn background(session: &Session, body: &Value) -> Answer {
    let call = body.get("tool_use_id").and_then(Value::as_str).map(CallId::new);
    let is_named = call.is_some();
    match session.send(Input::Background { call }) {
        Ok(_) => Ok(Some(json!({ "backgrounded": true }))),
        Err(InputRefused::NothingToMove) => Ok(Some(json!({ "backgrounded": !is_named }))),
        Err(refused) => Err(refused.to_string()),
    }
}

/// Calls to the tools of a server are asked about in every mode, or as usual again.
fn limit_server(session: &Session, body: &Value) -> Answer {
    let name = text(body, "serverName")?;
    let act = match body.get("mode") {
        Some(Value::Null) => RuleAct::Remove,
        Some(Value::String(mode)) if ["default", "auto"].contains(&mode.as_str()) => RuleAct::Add,
        _ => return Err("mode must be \"default\", \"auto\" or null".into()),
    };
    let rule = format!("mcp__{}", name.replace(['.', ' '], "_"));
    let rules = changed_rules(session.control().rules, act, Behavior::Ask, &[rule]);
    send(session, Input::SetRules(rules))?;
    let is_known = session.mcp_status().iter().any(|server| server.name == name);
    let warning = format!("there is no MCP server \"{name}\" in this session yet");
    Ok(Some(if is_known { json!({}) } else { json!({ "warning": warning }) }))
}
