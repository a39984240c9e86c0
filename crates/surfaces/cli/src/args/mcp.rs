//! Arguments of `mcp`.

use super::ConfigArgs;
use super::mcp_login::{ConformanceArgs, LoginArgs, ServerArgs};
use super::mcp_serve::ServeArgs;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Offer Ostler's tools, and a whole agent, to MCP clients over standard input and output, or over HTTP
    ///
    /// By default, only read-only tools are offered. Each call is judged, confined and recorded like a call in a session;
    /// a call that needs approval is denied unless the client can ask a person. See docs/mcp-server.md.
    #[command(after_help = "Example: ostler mcp serve --http 8080 --agent")]
    Serve(Box<ServeArgs>),
    /// Log in to an MCP server on the network with a browser
    ///
    /// The tokens are stored in ~/.ostler/oauth, are sent to this server only, and are refreshed as needed. See
    /// docs/mcp-login.md.
    #[command(after_help = "Example: ostler mcp login tracker")]
    Login(LoginArgs),
    /// Delete the tokens of an MCP server
    #[command(after_help = "Example: ostler mcp logout tracker")]
    Logout(ServerArgs),
    /// Take part in a scenario of the official MCP conformance suite, as its client
    #[command(hide = true)]
    Conformance(ConformanceArgs),
    /// Add a server: a program with its arguments, or the URL of a service
    #[command(
        after_help = "Examples:\n  ostler mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n  ostler mcp add --transport http search https://mcp.example.com/mcp"
    )]
    Add(McpAddArgs),
    /// List the configured servers and what is known about them, without starting any
    #[command(after_help = "Example: ostler mcp list --json")]
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Show one server and its tools, as far as they are known
    #[command(after_help = "Example: ostler mcp get files")]
    Get {
        /// The name of the server
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Remove a server
    #[command(after_help = "Example: ostler mcp remove files --scope user")]
    Remove {
        /// The name of the server
        name: String,
        /// Remove it from this scope [default: the only one that has it]
        #[arg(short, long, value_enum, value_name = "SCOPE")]
        scope: Option<McpScope>,
    },
    /// Start a server, ask what it offers, and stop it
    #[command(after_help = "Example: ostler mcp test files")]
    Test {
        /// The name of the server
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

#[derive(Debug, Args)]
pub struct McpAddArgs {
    /// A name for the server: letters, digits, - and _
    pub name: String,
    /// The program, or the URL
    #[arg(value_name = "COMMAND|URL")]
    pub target: String,
    /// The arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub args: Vec<String>,
    /// Where to keep it
    #[arg(short, long, value_enum, default_value_t = McpScope::Local, value_name = "SCOPE")]
    pub scope: McpScope,
    /// How to reach it [default: http for a URL, else stdio]
    #[arg(short, long, value_enum, value_name = "TRANSPORT")]
    pub transport: Option<McpTransport>,
    /// Set an environment variable of the program (repeatable)
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Send a header with each request (repeatable)
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum McpScope {
    /// For you, in this project
    Local,
    /// For everybody who works in this project: .mcp.json
    Project,
    /// For you, in all projects
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum McpTransport {
    /// A program, over its standard input and output
    Stdio,
    /// Streamable HTTP
    Http,
    /// The older HTTP transport with a stream of events
    Sse,
}
