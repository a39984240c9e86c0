//! The command line. Names follow Claude Code's, so that scripts carry over.

pub mod cost;
pub mod hooks;
pub mod memory;
pub mod permissions;
pub mod undo;

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
    /// Show at the end what the tools did (stream-json is always complete)
    #[arg(long)]
    pub verbose: bool,
    /// The model: an alias (opus, sonnet, haiku) or a full name
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The model to use when the first one is overloaded or unavailable
    #[arg(long, value_name = "NAME")]
    pub fallback_model: Option<String>,
    /// Stop after N rounds of tool calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Send no request that could bring the cost of this run above AMOUNT US dollars
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub max_budget_usd: Option<f64>,
    /// The same for all sessions of a day; the smaller of this and the settings applies
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub max_day_budget_usd: Option<f64>,
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// Add to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,
    /// Allow these without asking: rules, e.g. "Bash(git status:*),Edit(./src/**)"
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,
    /// Never allow these: tool names or rules, e.g. "Write,Read(./secret/**)"
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,
    /// Offer only these tools, e.g. "Read,Grep"; "" for none
    #[arg(long, value_name = "NAMES")]
    pub tools: Vec<String>,
    /// How much runs without a question [default: what the settings say, else "default"]
    #[arg(long, value_enum, value_name = "MODE")]
    pub permission_mode: Option<PermissionMode>,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Trust this project's settings files as they are now, until they change
    #[arg(long)]
    pub trust: bool,
    #[command(flatten)]
    pub sandbox: SandboxFlags,
    /// A further directory to work in; may be given several times
    #[arg(long, value_name = "DIRECTORY")]
    pub add_dir: Vec<PathBuf>,
    /// Resume a session by its id, or the beginning of it
    #[arg(short, long, value_name = "ID", conflicts_with_all = ["continue_", "session_id"])]
    pub resume: Option<String>,
    /// Continue the newest session of this directory
    #[arg(short, long = "continue", id = "continue_")]
    pub continue_: bool,
    /// With --resume or --continue: work on a copy
    #[arg(long)]
    pub fork_session: bool,
    /// Take no snapshots before commands: what they change cannot be undone
    #[arg(long)]
    pub no_undo: bool,
    /// Name the new session (a UUID)
    #[arg(long, value_name = "UUID", conflicts_with = "continue_")]
    pub session_id: Option<String>,
}

impl RunArgs {
    /// As of `ostler` without a single argument.
    pub fn none() -> Self {
        #[derive(Parser)]
        struct Bare {
            #[command(flatten)]
            run: RunArgs,
        }
        Bare::parse_from(["ostler"]).run
    }
}

/// How commands are held, where the settings say otherwise.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SandboxFlags {
    /// Give every command the network, not only those judged by the hosts they name
    #[arg(long)]
    pub network: bool,
    /// Run commands without a question although a layer of the sandbox is missing here
    #[arg(long)]
    pub accept_missing_layers: bool,
    /// Run commands outside the sandbox
    #[arg(long)]
    pub no_sandbox: bool,
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
    /// Watch it fix a small broken repository: no key, a scripted model, everything else real
    ///
    /// The short story, a few seconds: a small broken repository, a plan, searches, a failing test, an edit, a passing test.
    ///
    /// With --long, about half a minute: a plan that is kept up to date, a skill, a window that fills up and is summed up with a
    /// receipt, a detail that is looked up again, facts that are kept, a second session that remembers them, what fills
    /// the window and what it cost. Each step is verified; the demo fails if one did not happen.
    ///
    /// No key, no network and no settings are needed, and nothing of yours is changed. In a pipe, or where CI is set, it does not
    /// wait for a reader.
    ///
    /// Example: ostler demo --long --clean
    Demo(DemoArgs),
    /// Serve a scripted model on a loopback port, for tests of your own
    ModelServer(ModelServerArgs),
    /// List the sessions of this directory
    Sessions(SessionsArgs),
    /// Undo what the last calls changed, commands included; your own changes since stay
    Undo(undo::UndoArgs),
    /// Go back to before a turn: files, conversation or both
    Rewind(undo::RewindArgs),
    /// List, compare and prune the saved states of this directory
    Snapshots(undo::SnapshotsArgs),
    /// List the available skills, or show one
    Skills(SkillsArgs),
    /// Show what was spent, on what, and how much of the budgets is left
    Cost(cost::CostArgs),
    /// List, search, add, forget and export what is remembered across sessions
    Memory(memory::MemoryArgs),
    /// Show what fills the model's context window in a session
    Context(ContextArgs),
    /// Explain why a command asks; list, revoke and trust permissions
    Permissions(permissions::PermissionsArgs),
    /// Run a command of your own in the agent's sandbox: `ostler sandbox run -- make test`
    Sandbox(SandboxArgs),
    /// Check the set-up: programs, home directory, settings, environment, credential, sandbox
    Doctor(DoctorArgs),
    /// List configured hooks and test them
    Hooks(hooks::HooksArgs),
    /// Show the events of a session, and deliver queued webhooks
    Events(hooks::EventsArgs),
    /// Print a completion script for your shell
    Completions {
        /// The shell to write it for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// The whole story: plan, skill, summary, memory, cost
    #[arg(long)]
    pub long: bool,
    /// Remove the temporary folder afterwards
    #[arg(long)]
    pub clean: bool,
}

/// Serve a scripted model on a loopback port, for tests of your own
///
/// Standard output gets the URL. Standard error gets a line for each request (time, status, session, model, tokens, cost), each
/// refusal with its reason, and the bill when you press Ctrl+C.
///
/// Example: ostler model-server --script demo.yaml --port 8080
#[derive(Debug, clap::Args)]
pub struct ModelServerArgs {
    /// The script, in YAML (see docs/model-server.md)
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// Print the URL and nothing else
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Print one JSON object a line on standard output: the URL, each request, the bill
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct SandboxArgs {
    #[command(subcommand)]
    pub command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Run a program, or one shell text, inside the sandbox of this folder, without standard input
    Run(SandboxRunArgs),
}

#[derive(Debug, clap::Args)]
pub struct SandboxRunArgs {
    /// Give it the network
    #[arg(long)]
    pub network: bool,
    /// A further folder it may write to; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub add_dir: Vec<PathBuf>,
    /// The program and its arguments, or one shell text
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct SessionsArgs {
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Written instructions for certain kinds of work. Example: ostler skills show code-review
#[derive(Debug, clap::Args)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: SkillsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// One line a skill, and what is wrong with any
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Everything about one skill, and its text
    Show {
        /// The skill's name
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
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
