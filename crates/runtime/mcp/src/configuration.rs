//! What is known about a server before it runs.

use crate::sampling::SamplingTerms;
use crate::tunnel::Tunnel;
use ostler_core::ports::{HttpServer, LoginSettings};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// As people write it; `mcp__<name>__<tool>` is made of it.
    pub name: String,
    pub transport: ServerTransport,
    pub scope: ServerScope,
    /// Its tools are in the list from the first request on, and it starts with the session.
    pub always_load: bool,
    /// What it says about its tools counts: those that it calls read-only may run side by side.
    pub trusted: bool,
    /// The longest time between the start and the first answer.
    pub start_limit: Duration,
    /// The longest time without an answer or news of a call.
    pub call_limit: Duration,
    /// What its program may reach beyond the default.
    pub reach: ServerReach,
    /// How a person logs in to it, if it is on the network.
    pub login: LoginSettings,
    /// It may ask for texts of the model.
    pub sampling: Option<SamplingTerms>,
}

/// What the program of a server may reach. By default it reads the project, writes only to a private temporary directory,
/// sees nothing of the home directory and uses the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReach {
    /// Runs outside of the sandbox.
    pub unconfined: bool,
    pub network: bool,
    /// May change files of the project.
    pub write_project: bool,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

impl Default for ServerReach {
    fn default() -> Self {
        ServerReach {
            unconfined: false,
            network: true,
            write_project: false,
            read: Vec::new(),
            write: Vec::new(),
        }
    }
}

#[derive(Clone)]
pub enum ServerTransport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        /// None: the project's directory.
        cwd: Option<PathBuf>,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
    /// The older HTTP transport with a stream of events beside it.
    Sse {
        url: String,
        headers: Vec<(String, String)>,
    },
    Tunnel(Arc<dyn Tunnel>),
}

/// Where a server was configured. A later one wins over an earlier one of the same name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ServerScope {
    Plugin,
    User,
    Project,
    Local,
    /// A flag, or a program that drives the session.
    Session,
}

impl ServerScope {
    pub fn name(self) -> &'static str {
        match self {
            ServerScope::Plugin => "plugin",
            ServerScope::User => "user",
            ServerScope::Project => "project",
            ServerScope::Local => "local",
            ServerScope::Session => "session",
        }
    }
}

impl ServerConfig {
    pub const START_LIMIT: Duration = Duration::from_secs(30);
    pub const CALL_LIMIT: Duration = Duration::from_secs(600);

    pub fn new(name: impl Into<String>, transport: ServerTransport, scope: ServerScope) -> Self {
        ServerConfig {
            name: name.into(),
            transport,
            scope,
            always_load: false,
            trusted: false,
            start_limit: ServerConfig::START_LIMIT,
            call_limit: ServerConfig::CALL_LIMIT,
            reach: ServerReach::default(),
            login: LoginSettings::default(),
            sampling: None,
        }
    }

    /// The same configuration has the same key, whatever the server is called. A tunnel is like no other.
    pub(crate) fn key(&self) -> String {
        let own = match &self.transport {
            ServerTransport::Stdio { command, args, env, cwd } => json!([command, args, env, cwd]),
            ServerTransport::Http { url, headers } => json!(["http", url, headers]),
            ServerTransport::Sse { url, headers } => json!(["sse", url, headers]),
            ServerTransport::Tunnel(tunnel) => {
                json!(["tunnel", format!("{:p}", Arc::as_ptr(tunnel))])
            }
        };
        let reach = format!("{:?}", self.reach);
        let mut parts = json!([2, own, reach, self.login.client_id]);
        if let (Some(sampling), Some(parts)) = (self.sampling, parts.as_array_mut()) {
            // Whoever shares a connection allows the same: which call a request belongs to is for the server to say.
            parts.push(format!("{sampling:?}").into());
        }
        let text = parts.to_string();
        hex(&Sha256::digest(text.as_bytes()))
    }

    /// Its messages travel through whoever drives the session.
    pub fn is_tunnel(&self) -> bool {
        matches!(self.transport, ServerTransport::Tunnel(_))
    }

    /// The server as it is known to whoever authorizes requests to it.
    pub fn http_server(&self) -> Option<HttpServer> {
        match &self.transport {
            ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. } => {
                let (name, url) = (self.name.clone(), url.clone());
                Some(HttpServer { name, url, login: self.login.clone() })
            }
            _ => None,
        }
    }

    /// Its name as a part of other names.
    pub fn shown_name(&self) -> String {
        crate::metadata::server_name(&self.name).unwrap_or_else(|_| "server".into())
    }

    /// The configuration without values that may be secrets.
    pub fn public(&self) -> Value {
        let names = |pairs: &[(String, String)]| -> Vec<Value> {
            pairs.iter().map(|(name, _)| Value::from(name.as_str())).collect()
        };
        match &self.transport {
            ServerTransport::Stdio { command, args, env, .. } => {
                json!({"type": "stdio", "command": command, "args": args, "env": names(env)})
            }
            ServerTransport::Http { url, headers } => {
                json!({"type": "http", "url": url, "headers": names(headers)})
            }
            ServerTransport::Sse { url, headers } => {
                json!({"type": "sse", "url": url, "headers": names(headers)})
            }
            ServerTransport::Tunnel(_) => json!({"type": "sdk"}),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Without values that may be secrets.
impl std::fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ServerTransport::Stdio { command, args, .. } => {
                f.debug_struct("Stdio").field("command", command).field("args", args).finish()
            }
            ServerTransport::Http { url, .. } => f.debug_tuple("Http").field(url).finish(),
            ServerTransport::Sse { url, .. } => f.debug_tuple("Sse").field(url).finish(),
            ServerTransport::Tunnel(_) => f.write_str("Tunnel"),
        }
    }
}

impl PartialEq for ServerTransport {
    fn eq(&self, other: &Self) -> bool {
        use ServerTransport::{Http, Sse, Stdio, Tunnel};
        match (self, other) {
            (
                Stdio { command: a, args: b, env: c, cwd: d },
                Stdio { command: e, args: f, env: g, cwd: h },
            ) => (a, b, c, d) == (e, f, g, h),
            (Http { url: a, headers: b }, Http { url: c, headers: d })
            | (Sse { url: a, headers: b }, Sse { url: c, headers: d }) => (a, b) == (c, d),
            (Tunnel(a), Tunnel(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
