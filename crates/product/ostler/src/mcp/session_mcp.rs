//! What a surface sees and asks of the MCP servers of a session.

use super::{McpInput, SessionServers};
use crate::error::Error;
use crate::host::Host;
use crate::input::{InputReceipt, InputRefused};
use crate::session::Session;
use crate::session_options::SessionOptions;
use crate::workspace::workspace_and_rules;
use ostler_core::permission::Live;
use ostler_mcp::ServerStatus;
use serde_json::{Map, Value};
use std::sync::Arc;

/// How the servers of such a session are known to be, without starting any.
///
/// # Errors
/// If the options cannot be used.
pub fn known_mcp(host: &Host, options: &SessionOptions) -> Result<Vec<ServerStatus>, Error> {
    Ok(servers(host, options)?.status())
}

/// Starts one server of such a session, asks what it offers, and ends it.
///
/// # Errors
/// If the options cannot be used, or there is no such server.
pub async fn probe_mcp(
    host: &Host,
    options: &SessionOptions,
    name: &str,
) -> Result<ServerStatus, Error> {
    servers(host, options)?.probe(name).await.map_err(Error::Input)
}

fn servers(host: &Host, options: &SessionOptions) -> Result<Arc<SessionServers>, Error> {
    let (workspace, policy) = workspace_and_rules(host, options)?;
    let (at, environment) = (Live::from(workspace), options.environment.clone().into());
    Ok(SessionServers::new(host, options, (&at, &environment), &policy))
}

impl Session {
    /// How its MCP servers are. Starts nothing.
    pub fn mcp_status(&self) -> Vec<ServerStatus> {
        self.shared().parts.servers.status()
    }

    /// Comes back when none of these servers is being started or asked what it offers, however that ended.
    pub fn mcp_settled(&self, names: &[String]) -> impl Future<Output = ()> + Send + use<> {
        self.shared().parts.servers.settled(names)
    }

    /// Asks a tool of a server something outside of the conversation, such as what a person would decide. Nobody is asked
    /// about it, and the model does not learn of it.
    ///
    /// # Errors
    /// In words, if there is no such tool or it fails.
    pub async fn ask_server(
        &self,
        tool: &str,
        input: Map<String, Value>,
    ) -> Result<String, String> {
        let found = self.shared().parts.servers.server_of(tool);
        let (server, name) = found.ok_or_else(|| format!("there is no tool {tool}"))?;
        server.call_for_text(&name, input).await.map_err(|error| error.to_string())
    }

    pub(crate) fn serve_mcp(&self) {
        self.shared().parts.servers.serve(self);
    }

    pub(crate) fn change_mcp(&self, input: McpInput) -> Result<InputReceipt, InputRefused> {
        let servers = &self.shared().parts.servers;
        let changed = match input {
            McpInput::Set(configs) => servers.set(configs),
            McpInput::Toggle { name, enabled } => servers.toggle(&name, enabled),
            McpInput::Reconnect { name } => servers.reconnect(&name),
            // The address is a notice.
            McpInput::Authenticate { name } => servers.begin_login(&name).map(drop),
        };
        changed.map(|()| InputReceipt::Done).map_err(InputRefused::Mcp)
    }
}
