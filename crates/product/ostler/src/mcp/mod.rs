//! The MCP servers of a session: connections belong to the host, tools to the session.

mod asking;
mod choice;
mod counterpart;
mod form;
mod launch;
mod logins;
mod prompt_offers;
mod resource_tools;
mod sampling;
mod schema_room;
mod server_changes;
mod server_permission;
mod session_mcp;
mod session_servers;
mod tool_search;

pub(crate) use choice::MCP_TOOL;
pub use choice::McpChoice;
pub use logins::logins;
pub use server_permission::not_permitted;
pub use session_mcp::{known_mcp, probe_mcp};
pub(crate) use session_servers::SessionServers;

use crate::session_options::SessionOptions;
use ostler_config::ServerLimits;
use ostler_mcp::ServerConfig;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct McpOptions {
    pub servers: Vec<ServerConfig>,
    /// What of these, and of servers that are added later, may be used.
    pub limits: ServerLimits,
    /// Servers can be added while the session is open, also if it begins with none.
    pub may_change: bool,
    /// A program drives the session: the servers that it gives start with the session, also if they are known, and those
    /// that it runs itself are replaced like servers that were set later.
    pub of_program: bool,
    /// How long the first prompt waits for servers whose tools are not known yet.
    pub first_wait: Duration,
    /// The share of the context window that descriptions of tools may take, in percent. Beyond it the model gets only
    /// their names, and looks for the rest.
    pub share: u64,
    /// Which of their tools are on offer.
    pub choice: McpChoice,
}

impl Default for McpOptions {
    fn default() -> Self {
        McpOptions {
            servers: Vec::new(),
            limits: ServerLimits::default(),
            may_change: false,
            of_program: false,
            first_wait: McpOptions::FIRST_WAIT,
            share: McpOptions::SHARE,
            choice: McpChoice::default(),
        }
    }
}

impl McpOptions {
    pub const SHARE: u64 = 10;
    pub const FIRST_WAIT: Duration = Duration::from_millis(200);
    /// The same where nobody is watching: a run that ends with its first answer would end without these tools.
    pub const UNATTENDED_WAIT: Duration = Duration::from_secs(3);
    /// The same for servers whose tools are always to be listed.
    pub const ALWAYS_WAIT: Duration = Duration::from_secs(5);
}

/// What a surface can ask of the servers of a session.
#[derive(Clone, Debug)]
pub enum McpInput {
    /// These instead of the servers that earlier inputs of this kind set. Those of the options stay unless one of these
    /// has the same name.
    Set(Vec<ServerConfig>),
    Toggle {
        name: String,
        enabled: bool,
    },
    Reconnect {
        name: String,
    },
    /// Lets a person log in, and connects again.
    Authenticate {
        name: String,
    },
}

impl SessionOptions {
    /// Tools of servers may arrive at any time.
    pub(crate) fn with_room_for_servers(mut self) -> Self {
        self.late_tools |= !self.mcp.servers.is_empty() || self.mcp.may_change;
        self
    }
}
