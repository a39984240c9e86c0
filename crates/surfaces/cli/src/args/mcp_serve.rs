//! `ostler mcp serve` on the command line.

use super::{
    ConfigArgs, LIMITS, MODEL, PERMISSIONS, PermissionMode, SANDBOX, SETTINGS, SandboxFlags, amount,
};
use ostler::Mode;
use ostler_profile::{Flags, split_list};
use std::net::SocketAddr;
use std::path::PathBuf;

const SERVING: &str = "Serving";

#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Serve over HTTP on this port of the loopback interface, or on this address; 0 chooses a free port [default:
    /// standard input and output]
    #[arg(long, value_name = "PORT|ADDRESS:PORT", value_parser = address, help_heading = SERVING)]
    pub http: Option<SocketAddr>,
    /// Read the bearer token that clients must send from this file [default: a new one, printed once]
    #[arg(long, value_name = "FILE", requires = "http", help_heading = SERVING)]
    pub token_file: Option<PathBuf>,
    /// Accept requests for this host name, too (repeatable)
    #[arg(long, value_name = "HOST", requires = "http", help_heading = SERVING)]
    pub allow_host: Vec<String>,
    /// Accept requests from web pages of this origin: scheme, host and port (repeatable)
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = SERVING)]
    pub allow_origin: Vec<String>,
    /// Also offer a whole agent as the tool ostler_agent
    #[arg(long, help_heading = SERVING)]
    pub agent: bool,
    /// Use this model for agents: an alias (opus, sonnet, haiku) or a full name
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub model: Option<String>,
    /// Use this model when the first one is overloaded or unavailable
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub fallback_model: Option<String>,
    /// Append to the system prompt of agents
    #[arg(long, value_name = "TEXT", help_heading = MODEL)]
    pub append_system_prompt: Option<String>,
    /// Stop an agent after this many rounds of tool calls [default: no limit]
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    pub max_turns: Option<u32>,
    /// Send no request that could raise the cost of all agents together above this amount in US dollars
    #[arg(long, value_name = "AMOUNT", value_parser = amount, help_heading = LIMITS)]
    pub max_budget_usd: Option<f64>,
    /// Limit the cost of all sessions in one day, in US dollars; a lower limit in settings still applies
    #[arg(long, value_name = "AMOUNT", value_parser = amount, help_heading = LIMITS)]
    pub max_day_budget_usd: Option<f64>,
    /// Choose what runs without asking [default: "default", or permissions.defaultMode in settings]
    #[arg(long, value_enum, value_name = "MODE", help_heading = PERMISSIONS)]
    pub permission_mode: Option<PermissionMode>,
    /// Allow calls without asking, and offer their tools, e.g. "Bash(git status:*),Edit(./src/**)"
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES", help_heading = PERMISSIONS)]
    pub allowed_tools: Vec<String>,
    /// Deny calls: tool names or rules, e.g. "Write,Read(./secret/**)"
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES", help_heading = PERMISSIONS)]
    pub disallowed_tools: Vec<String>,
    /// Offer only these tools, to clients and to agents, e.g. "Read,Edit,Bash" [default: read-only tools; agents: all]
    #[arg(long, value_name = "TOOLS", help_heading = PERMISSIONS)]
    pub tools: Vec<String>,
    /// Add a working directory (repeatable)
    #[arg(long, value_name = "DIRECTORY", help_heading = PERMISSIONS)]
    pub add_dir: Vec<PathBuf>,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Trust this project's settings files as they are now, until they change
    #[arg(long, help_heading = SETTINGS)]
    pub trust: bool,
    #[command(flatten)]
    pub sandbox: SandboxFlags,
    /// Take no snapshots before commands; what they change cannot be undone
    #[arg(long, help_heading = SANDBOX)]
    pub no_undo: bool,
}

impl ServeArgs {
    pub fn flags(&self) -> Flags {
        Flags {
            add_dirs: self.add_dir.clone(),
            model: self.model.clone(),
            fallback_model: self.fallback_model.clone(),
            append_system_prompt: self.append_system_prompt.clone(),
            max_turns: self.max_turns,
            max_budget_usd: self.max_budget_usd,
            max_day_budget_usd: self.max_day_budget_usd,
            mode: self.permission_mode.map(Mode::from),
            allow: split_list(&self.allowed_tools),
            deny: split_list(&self.disallowed_tools),
            tools: (!self.tools.is_empty()).then(|| split_list(&self.tools)),
            no_undo: self.no_undo,
            ..self.sandbox.added_to(self.config.flags())
        }
    }
}

/// A port without an address means the loopback interface.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
    let whole = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    match port {
        Ok(port) => Ok(SocketAddr::from(([127, 0, 0, 1], port))),
        Err(_) => {
            whole.as_deref().unwrap_or(text).parse().map_err(|_| {
                "give a port such as 8080, or an address such as 127.0.0.1:8080".into()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_the_loopback_interface() {
        for (text, expected) in [
            ("8080", "127.0.0.1:8080"),
            (":0", "127.0.0.1:0"),
            ("localhost:99", "127.0.0.1:99"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected);
        }
        assert!(address("example.com:80").is_err());
        assert!(address("99999").is_err());
    }
}
