//! `ostler permissions …` on the command line.

use super::{ConfigArgs, PermissionMode};
use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct PermissionsArgs {
    #[command(subcommand)]
    pub command: PermissionsCommand,
}

#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// Show what a command would touch, whether it is allowed, and which rule decides
    #[command(
        after_help = "Example: ostler permissions explain 'git status && cargo test > log.txt'"
    )]
    Explain(ExplainArgs),
    /// Judge calls given as JSON lines, without running them
    #[command(after_help = "Example: ostler permissions check --batch --file calls.jsonl")]
    Check(CheckArgs),
    /// List the rules in effect, with file and line, and the approvals of this project
    #[command(after_help = "Example: ostler permissions list --json")]
    List(ListArgs),
    /// Revoke an approval of this project
    #[command(after_help = "Example: ostler permissions revoke \"Bash(cargo test:*)\"")]
    Revoke(RevokeArgs),
    /// Print the rules that apply if you have no permissions.yaml
    #[command(after_help = "Example: ostler permissions default > ~/.ostler/permissions.yaml")]
    Default,
    /// Show what this project's settings would allow and start, and ask whether to trust them
    #[command(after_help = "Example: ostler permissions trust --yes")]
    Trust(TrustArgs),
}

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The command; with --tool, a path, an address or the tool's input as JSON (put -- before it if it
    /// begins with a hyphen)
    #[arg(value_name = "COMMAND")]
    pub call: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Judge a call to this tool [default: Bash]
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Judge the call in this mode
    #[arg(long, value_enum, value_name = "MODE")]
    pub permission_mode: Option<PermissionMode>,
    /// Judge the call with these allow rules
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,
    /// Judge the call with these deny rules
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,
    /// Judge the call with this additional working directory (repeatable)
    #[arg(long, value_name = "DIRECTORY")]
    pub add_dir: Vec<PathBuf>,
    /// Judge the call as if all commands had network access
    #[arg(long)]
    pub network: bool,
    /// Judge the call as if missing sandbox layers were accepted
    #[arg(long)]
    pub accept_missing_layers: bool,
    /// Judge the call as if the sandbox were off
    #[arg(long)]
    pub no_sandbox: bool,
    /// Judge the call as if nothing could be undone
    #[arg(long)]
    pub no_undo: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Read one JSON object per line: {"id", "tool", "input", "rules", "cwd"?, "roots"?, "home"?}; rules is "default"
    /// (the built-in rules), "seed" (the rules of the test corpora) or an object such as {"allow": ["Bash(ls:*)"]}
    #[arg(long, required = true)]
    pub batch: bool,
    /// Read from this file instead of standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// The rule as shown by `ostler permissions list`, e.g. "Bash(cargo test:*)"
    pub rule: String,
}

#[derive(Debug, clap::Args)]
pub struct TrustArgs {
    /// Accept without asking
    #[arg(long)]
    pub yes: bool,
}
