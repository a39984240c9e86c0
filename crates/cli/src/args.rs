//! The command line. Names follow Claude Code's, so that scripts carry over.

pub mod permissions;

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A coding agent: the model decides, Ostler executes, constrains and connects.
///
/// Without -p an interactive session starts. Example: ostler -p "why does the build fail?"
#[derive(Debug, Parser)]
#[command(name = "ostler", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// What to do. Text on standard input is added to it.
    pub prompt: Option<String>,
    /// Run one prompt without a terminal and exit
    #[arg(short, long)]
    pub print: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub output_format: Format,
    /// With stream-json: also pass the model's own events through
    #[arg(long)]
    pub include_partial_messages: bool,
    /// Accepted for compatibility; stream-json is always complete
    #[arg(long)]
    pub verbose: bool,
    /// The model: an alias (opus, sonnet, haiku) or a full name
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The model to go to when the first one is overloaded or unavailable
    #[arg(long, value_name = "NAME")]
    pub fallback_model: Option<String>,
    /// Stop after so many rounds of tool calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Stop before a request that could cost more than is left of this
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub max_budget_usd: Option<f64>,
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// Add to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,
    /// What runs without a question: rules, e.g. "Bash(git status:*),Edit(./src/**)"
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,
    /// Tools that are not offered or may not be used so, e.g. "Write,Read(./secret/**)"
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,
    /// The only tools on offer, e.g. "Read,Grep"; "" for none
    #[arg(long, value_name = "NAMES")]
    pub tools: Vec<String>,
    /// How much runs without a question [default: what the settings say, else "default"]
    #[arg(long, value_enum, value_name = "MODE")]
    pub permission_mode: Option<PermissionMode>,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Accept what the files of this project want, now and until they change
    #[arg(long)]
    pub trust: bool,
    /// A further folder to work in; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub add_dir: Vec<PathBuf>,
    /// Go on with a session: its id, or the beginning of it
    #[arg(short, long, value_name = "ID", conflicts_with_all = ["continue_", "session_id"])]
    pub resume: Option<String>,
    /// Go on with the newest session of this folder
    #[arg(short, long = "continue", id = "continue_")]
    pub continue_: bool,
    /// With --resume or --continue: work on a copy
    #[arg(long)]
    pub fork_session: bool,
    /// Name the new session (a UUID)
    #[arg(long, value_name = "UUID", conflicts_with = "continue_")]
    pub session_id: Option<String>,
}

/// Which settings count.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConfigArgs {
    /// Further settings: a file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub settings: Option<String>,
    /// The settings files to read: any of user,project,local [default: all]
    #[arg(long, value_name = "NAMES")]
    pub setting_sources: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// See it work: a small broken repository, a scripted model, everything else real
    Demo(DemoArgs),
    /// Serve a scripted model on a loopback port, for tests of your own
    ModelServer(ModelServerArgs),
    /// List the sessions of this folder
    Sessions(SessionsArgs),
    /// What fills the model's window in a session
    Context(ContextArgs),
    /// What may run here: explain, check, list, revoke, trust
    Permissions(permissions::PermissionsArgs),
    /// Print a completion script for your shell
    Completions {
        /// The shell to write it for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Remove the temporary folder afterwards
    #[arg(long)]
    pub clean: bool,
}

#[derive(Debug, clap::Args)]
pub struct ModelServerArgs {
    /// The script, in YAML (see docs/model-server.md)
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
}

#[derive(Debug, clap::Args)]
pub struct SessionsArgs {
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// What fills the model's window in a session, by owner: system text, tools, instruction files, results …
///
/// Example: ostler context --session 0196f3a2
#[derive(Debug, clap::Args)]
pub struct ContextArgs {
    /// The session: its id, or the beginning of it [default: the newest of this folder]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The answer
    Text,
    /// One JSON object with the result
    Json,
    /// One JSON object a line for everything that happens
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Reading inside the folder runs, everything else asks
    Default,
    /// File edits inside the folder run, too
    AcceptEdits,
    /// Nothing may change anything
    Plan,
    /// What would ask is refused
    DontAsk,
    /// Nothing asks
    BypassPermissions,
}

impl From<PermissionMode> for ostler::Mode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Default => ostler::Mode::Default,
            PermissionMode::AcceptEdits => ostler::Mode::AcceptEdits,
            PermissionMode::Plan => ostler::Mode::Plan,
            PermissionMode::DontAsk => ostler::Mode::DontAsk,
            PermissionMode::BypassPermissions => ostler::Mode::BypassPermissions,
        }
    }
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("give an amount in US dollars above 0, e.g. 0.50".into()),
    }
}

/// Splits `Read,Edit(./a,b/**) Bash` at commas and blanks outside parentheses.
pub fn split_list(values: &[String]) -> Vec<String> {
    let mut items = Vec::new();
    for value in values {
        let (mut item, mut depth) = (String::new(), 0usize);
        for c in value.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (c == ',' || c.is_whitespace()) {
                items.push(std::mem::take(&mut item));
            } else {
                item.push(c);
            }
        }
        items.push(item);
    }
    items.retain(|item| !item.is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn lists_split_outside_parentheses() {
        let split = |text: &str| split_list(&[text.to_owned()]);
        assert_eq!(split("Read,Edit(./a, b/**) Bash"), ["Read", "Edit(./a, b/**)", "Bash"]);
        assert_eq!(split(""), [] as [&str; 0]);
        assert_eq!(split("  Read ,, Grep "), ["Read", "Grep"]);
    }

    #[test]
    fn a_prompt_may_be_named_like_a_command() {
        let args = Args::try_parse_from(["ostler", "-p", "demo"]).unwrap();
        assert!(args.command.is_none());
        assert_eq!(args.run.prompt.as_deref(), Some("demo"));
        assert!(Args::try_parse_from(["ostler", "demo"]).unwrap().command.is_some());
    }
}
