//! What a program asks of MCP servers. Whoever connects a server is answered when it is connected, or cannot be.

use super::conversation::Conversation;
use super::opening::OpenSession;
use super::requests::{Answer, send, text};
use futures_util::future::{BoxFuture, FutureExt};
use ostler::mcp_servers::{ConfigFault, ServerScope, ServerState, ServerStatus, from_json};
use ostler::{Input, McpInput, McpOptions, Session};
use ostler_sdk::agent_sdk::{
    Behavior, PipeServerLimits, RuleAct, changed_rules, pipe_server, server_status, split_servers,
};
use serde_json::{Map, Value, json};

/// An answer that comes while everything else goes on.
type Later = BoxFuture<'static, Answer>;

impl Conversation<'_> {
    /// None: the request is not about servers.
    pub(super) fn of_servers(
        &mut self,
        subtype: &str,
        body: &Value,
    ) -> Option<Result<Later, String>> {
        let open = self.open.as_ref()?;
        Some(match subtype {
            "mcp_status" => Ok(status(open)),
            "mcp_set_servers" => self.set_servers(open, body),
            "mcp_toggle" => toggle(&open.session, body),
            "mcp_reconnect" => reconnect(&open.session, body),
            "mcp_authenticate" => authenticate(&open.session, body),
            _ => return None,
        })
    }

    /// These instead of the servers that an earlier request set.
    fn set_servers(&self, open: &OpenSession, body: &Value) -> Result<Later, String> {
        let wanted = body.get("servers").ok_or("the request has no servers")?;
        let (rest, names) = split_servers(wanted);
        let mut servers = Vec::new();
        let mut rules = open.session.control().rules;
        for name in &names {
            let limits = PipeServerLimits::read(name, wanted.get(name));
            servers.push(pipe_server(name, &limits, &self.opener.callbacks));
            rules = changed_rules(rules, RuleAct::Add, Behavior::Ask, &limits.ask);
            rules = changed_rules(rules, RuleAct::Add, Behavior::Deny, &limits.deny);
        }
        send(&open.session, Input::SetRules(rules))?;
        let mut errors = Map::new();
        if let Some(rest) = rest {
            let variable = |name: &str| self.opener.environment.text(name);
            let configured = from_json(&rest.to_string(), ServerScope::Session, &variable);
            for fault in &configured.faults {
                let name = match fault {
                    ConfigFault::Server { server, .. } | ConfigFault::Ignored { server, .. } => {
                        server.clone()
                    }
                    ConfigFault::File(_) => "servers".to_owned(),
                };
                errors.insert(name, fault.to_string().into());
            }
            servers.extend(configured.servers);
        }
        let session = open.session.clone();
        let names = |all: Vec<ServerStatus>| -> Vec<String> {
            all.into_iter().map(|server| server.name).collect()
        };
        let had = names(session.mcp_status());
        let mut added: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
        added.retain(|name| !had.contains(name));
        send(&session, Input::Mcp(McpInput::Set(servers)))?;
        let now = names(session.mcp_status());
        let removed: Vec<String> = had.into_iter().filter(|name| !now.contains(name)).collect();
        let settled = session.mcp_settled(&added);
        Ok(async move {
            settled.await;
            for server in session.mcp_status() {
                if let (Some(why), true) = (failure(&server), added.contains(&server.name)) {
                    errors.insert(server.name, why.into());
                }
            }
            Ok(Some(json!({ "added": added, "removed": removed, "errors": errors })))
        }
        .boxed())
    }
}

/// While the session is new, servers that are on their way may still arrive.
fn status(open: &OpenSession) -> Later {
    let session = open.session.clone();
    let names: Vec<String> = session.mcp_status().into_iter().map(|it| it.name).collect();
    let settled = session.mcp_settled(&names);
    let limit = open.opened + McpOptions::UNATTENDED_WAIT;
    async move {
        // Those that have not answered by then are pending.
        let _ = tokio::time::timeout_at(limit, settled).await;
        let servers: Vec<Value> = session.mcp_status().iter().map(server_status).collect();
        Ok(Some(json!({ "mcpServers": servers })))
    }
    .boxed()
}

fn reconnect(session: &Session, body: &Value) -> Result<Later, String> {
    let name = server_name(session, body)?;
    send(session, Input::Mcp(McpInput::Reconnect { name: name.clone() }))?;
    Ok(connected(session.clone(), name).boxed())
}

fn toggle(session: &Session, body: &Value) -> Result<Later, String> {
    let enabled = body.get("enabled").and_then(Value::as_bool).unwrap_or(true);
    let name = server_name(session, body)?;
    send(session, Input::Mcp(McpInput::Toggle { name: name.clone(), enabled }))?;
    if !enabled {
        return Ok(std::future::ready(Ok(None)).boxed());
    }
    let session = session.clone();
    Ok(async move {
        session.mcp_settled(std::slice::from_ref(&name)).await;
        // Nobody had to ask a server that is known already.
        if state_of(&session, &name).is_some_and(|it| it.status == ServerState::Pending) {
            send(&session, Input::Mcp(McpInput::Reconnect { name: name.clone() }))?;
        }
        connected(session, name).await
    }
    .boxed())
}

/// The program opens the address for its user. When the login is done, the server is connected again.
fn authenticate(session: &Session, body: &Value) -> Result<Later, String> {
    let name = server_name(session, body)?;
    let session = session.clone();
    Ok(async move {
        session.mcp_settled(std::slice::from_ref(&name)).await;
        if state_of(&session, &name).is_some_and(|it| it.status == ServerState::Connected) {
            return Ok(Some(json!({ "requiresUserAction": false })));
        }
        let address = session.begin_mcp_login(&name).await?;
        Ok(Some(json!({ "authUrl": address, "requiresUserAction": true })))
    }
    .boxed())
}

async fn connected(session: Session, name: String) -> Answer {
    session.mcp_settled(std::slice::from_ref(&name)).await;
    let server = state_of(&session, &name).ok_or_else(|| format!("Server not found: {name}"))?;
    failure(&server).map_or(Ok(None), Err)
}

fn state_of(session: &Session, name: &str) -> Option<ServerStatus> {
    session.mcp_status().into_iter().find(|server| server.name == name)
}

/// Why it cannot be used.
fn failure(server: &ServerStatus) -> Option<String> {
    let why = || server.error.clone().unwrap_or_else(|| "Connection failed".into());
    matches!(server.status, ServerState::Failed | ServerState::NeedsAuth).then(why)
}

fn server_name(session: &Session, body: &Value) -> Result<String, String> {
    let name = text(body, "serverName")?;
    match state_of(session, name) {
        Some(server) => Ok(server.name),
        None => Err(format!("Server not found: {name}")),
    }
}
