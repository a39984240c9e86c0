//! `ostler mcp login`, `logout` and the driver of the conformance suite on the command line.

use super::ConfigArgs;
use ostler_profile::Flags;

/// Which server, among those that a session would have.
#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// The name of the server, as `ostler mcp list` shows it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Load MCP servers from a file or a JSON string (repeatable)
    #[arg(long, value_name = "FILE|JSON")]
    pub mcp_config: Vec<String>,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct LoginArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print the address instead of opening a browser, and read the address that the browser ends up at from standard input
    #[arg(long)]
    pub no_browser: bool,
    /// Ask for exactly these scopes, separated by spaces [default: what the server asks for]
    #[arg(long, value_name = "SCOPES")]
    pub scopes: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct ConformanceArgs {
    /// The address of the server that the suite has started
    #[arg(value_name = "URL")]
    pub url: String,
}

impl ServerArgs {
    pub fn flags(&self) -> Flags {
        Flags { mcp_config: self.mcp_config.clone(), ..self.config.flags() }
    }
}
