//! `ostler permissions …` on the command line.

use super::{ConfigArgs, PermissionMode, SandboxFlags};
use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct PermissionsArgs {
    #[command(subcommand)]
    pub command: PermissionsCommand,
}

#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// Show what a command would do, whether it may, and which rule says so
    Explain(ExplainArgs),
    /// Judge calls given as JSON lines, without running them
    Check(CheckArgs),
    /// List the rules in force here, where each stands, and the approvals of this project
    List(ListArgs),
    /// Take back an approval of this project
    Revoke(RevokeArgs),
    /// Print the rules that hold while you have no permissions.yaml of your own
    Default,
    /// Show what the files of this project want, and accept it
    Trust(TrustArgs),
}

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The command; with --tool a path, an address or the tool's input as JSON. After -- it may begin with a hyphen
    #[arg(value_name = "COMMAND")]
    pub call: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// The tool that would be called [default: Bash]
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Judge it in this mode
    #[arg(long, value_enum, value_name = "MODE")]
    pub permission_mode: Option<PermissionMode>,
    /// Judge it as a run with these allow rules would
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,
    /// Judge it as a run with these deny rules would
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,
    /// A further folder to work in; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub add_dir: Vec<PathBuf>,
    #[command(flatten)]
    pub sandbox: SandboxFlags,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Read one JSON object a line: {"id", "tool", "input", "rules", "cwd"?, "roots"?, "home"?}; rules: "default" (the
    /// built-in rules), "seed" (those of the corpora) or an object such as {"allow": ["Bash(ls:*)"]}
    #[arg(long, required = true)]
    pub batch: bool,
    /// Read them from this file, not from standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// The rule as `ostler permissions list` shows it, e.g. "Bash(cargo test:*)"
    pub rule: String,
}

#[derive(Debug, clap::Args)]
pub struct TrustArgs {
    /// Accept without a question
    #[arg(long)]
    pub yes: bool,
}
