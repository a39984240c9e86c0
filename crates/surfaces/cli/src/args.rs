//! The command line. Names follow Claude Code's, so that scripts carry over.

pub mod agent_sdk;
pub mod agents;
pub mod cluster;
pub mod cost;
pub mod hooks;
pub mod import;
pub mod jobs;
pub mod mail;
pub mod mcp;
pub mod mcp_login;
pub mod mcp_serve;
pub mod memory;
pub mod permissions;
pub mod plugin;
pub mod tasks;
pub mod undo;
pub mod worker;
pub mod worktrees;

mod flags;

use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// A coding agent for the terminal: the model decides, Ostler runs the tools and enforces permissions
///
/// Without -p, an interactive session starts.
#[derive(Debug, Parser)]
#[command(
    name = "ostler",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = "Example: ostler -p \"why does the build fail?\""
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArgs,
}

impl Args {
    /// # Errors
    /// If the arguments are invalid, or if they ask for a text such as the help.
    pub fn of(words: &[OsString]) -> Result<Args, clap::Error> {
        // No subcommand can follow a flag. Building the parsers of all subcommands would take longer than reading the settings.
        let begins_with_flag =
            words.get(1).is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
        match begins_with_flag.then(|| FlagsOnly::try_parse_from(words)) {
            Some(Ok(FlagsOnly { run })) => Ok(Args { command: None, run }),
            _ => Args::try_parse_from(words),
        }
    }
}

#[derive(Debug, Parser)]
#[command(name = "ostler", version)]
struct FlagsOnly {
    #[command(flatten)]
    run: RunArgs,
}

const OUTPUT: &str = "Output";
const MODEL: &str = "Model and prompt";
const LIMITS: &str = "Limits";
const PERMISSIONS: &str = "Permissions";
const SANDBOX: &str = "Sandbox and undo";
const SETTINGS: &str = "Settings";
const SESSIONS: &str = "Sessions";

#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// What to do; standard input is added to it
    pub prompt: Option<String>,
    /// Run one prompt non-interactively and exit
    #[arg(short, long)]
    pub print: bool,
    /// Choose the format of the result
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = OUTPUT)]
    pub output_format: Format,
    /// Include the provider's own events in stream-json
    #[arg(long, help_heading = OUTPUT)]
    pub include_partial_messages: bool,
    /// Show tool statistics and the cache state of requests (stream-json always includes them)
    #[arg(long, overrides_with = "verbose", help_heading = OUTPUT)]
    pub verbose: bool,
    /// Use this model: an alias (opus, sonnet, haiku) or a full name
    #[arg(long, value_name = "MODEL", overrides_with = "model", help_heading = MODEL)]
    pub model: Option<String>,
    /// Use this model when the first one is overloaded or unavailable
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub fallback_model: Option<String>,
    /// Use the model's fast mode: quicker output at a higher price (also fastMode in settings)
    #[arg(long, help_heading = MODEL)]
    pub fast: bool,
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = MODEL)]
    pub system_prompt: Option<String>,
    /// Append to the system prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = MODEL)]
    pub append_system_prompt: Option<String>,
    /// Stop after this many rounds of tool calls [default: no limit]
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    pub max_turns: Option<u32>,
    /// Send no request that could raise the cost of this run above this amount in US dollars
    #[arg(long, value_name = "AMOUNT", value_parser = amount, help_heading = LIMITS)]
    pub max_budget_usd: Option<f64>,
    /// Limit the cost of all sessions in one day, in US dollars; a lower limit in settings still applies
    #[arg(long, value_name = "AMOUNT", value_parser = amount, help_heading = LIMITS)]
    pub max_day_budget_usd: Option<f64>,
    /// Choose what runs without asking [default: "default", or permissions.defaultMode in settings]
    #[arg(long, value_enum, value_name = "MODE", help_heading = PERMISSIONS)]
    pub permission_mode: Option<PermissionMode>,
    /// Allow calls without asking, e.g. "Bash(git status:*),Edit(./src/**)"
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES", help_heading = PERMISSIONS)]
    pub allowed_tools: Vec<String>,
    /// Deny calls: tool names or rules, e.g. "Write,Read(./secret/**)"
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES", help_heading = PERMISSIONS)]
    pub disallowed_tools: Vec<String>,
    /// Offer only these tools to the model, e.g. "Read,Grep"; "" for none [default: all]
    #[arg(long, value_name = "TOOLS", help_heading = PERMISSIONS)]
    pub tools: Vec<String>,
    /// Add a working directory (repeatable)
    #[arg(long, value_name = "DIRECTORY", help_heading = PERMISSIONS)]
    pub add_dir: Vec<PathBuf>,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Load MCP servers from a file or a JSON string (repeatable)
    #[arg(long, value_name = "FILE|JSON", help_heading = SETTINGS)]
    pub mcp_config: Vec<String>,
    /// Use only the MCP servers of --mcp-config
    #[arg(long, help_heading = SETTINGS)]
    pub strict_mcp_config: bool,
    /// Trust this project's settings files as they are now, until they change
    #[arg(long, help_heading = SETTINGS)]
    pub trust: bool,
    #[command(flatten)]
    pub sandbox: SandboxFlags,
    /// Take no snapshots before commands; what they change cannot be undone
    #[arg(long, help_heading = SANDBOX)]
    pub no_undo: bool,
    /// Resume the session with this id or unique prefix
    #[arg(short, long, value_name = "ID", conflicts_with = "continue_", help_heading = SESSIONS)]
    pub resume: Option<String>,
    /// Resume the newest session in this directory
    #[arg(short, long = "continue", id = "continue_", help_heading = SESSIONS)]
    pub continue_: bool,
    /// Continue in a copy of the session (with --resume or --continue)
    #[arg(long, help_heading = SESSIONS)]
    pub fork_session: bool,
    /// End the copy before this turn (see `ostler rewind`) or after this entry of the log (entry:57); files stay
    /// as they are
    #[arg(long, value_name = "TURN|ENTRY", requires = "fork_session", help_heading = SESSIONS)]
    pub at: Option<String>,
    /// Use this UUID as the id of the new session, or of the copy that --fork-session makes
    #[arg(long, value_name = "UUID", help_heading = SESSIONS)]
    pub session_id: Option<String>,
    /// Let background commands continue after Ostler exits; resume the session to get them back
    #[arg(long, help_heading = SESSIONS)]
    pub keep_jobs: bool,
    #[command(flatten)]
    pub sdk: agent_sdk::AgentSdkArgs,
}

/// Overrides of the sandbox settings.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SandboxFlags {
    /// Give all commands network access, not only those whose hosts were allowed
    #[arg(long, help_heading = SANDBOX)]
    pub network: bool,
    /// Do not ask about commands just because this machine lacks a sandbox layer
    #[arg(long, help_heading = SANDBOX)]
    pub accept_missing_layers: bool,
    /// Run commands outside the sandbox
    #[arg(long, help_heading = SANDBOX)]
    pub no_sandbox: bool,
}

/// Which settings to load.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConfigArgs {
    /// Load additional settings from a file or a JSON string
    #[arg(long, value_name = "FILE|JSON", help_heading = SETTINGS)]
    pub settings: Option<String>,
    /// Load only these settings files: any of user,project,local [default: all]
    #[arg(long, value_name = "SOURCES", help_heading = SETTINGS)]
    pub setting_sources: Option<String>,
    /// Load a plugin from this directory, for this run only (repeatable)
    #[arg(long, value_name = "DIRECTORY", help_heading = SETTINGS)]
    pub plugin_dir: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch Ostler fix a small broken repository with a scripted model (no key needed)
    ///
    /// The short demo takes a few seconds: a plan, searches, a failing test, an edit, a passing test.
    ///
    /// With --long it takes about half a minute and also shows a skill, compaction and its record of what was left out, recall of a detail,
    /// memory across two sessions, what fills the context window, and the cost. Each step is verified; the demo fails if one
    /// did not happen.
    ///
    /// It needs no key, network or settings and changes none of your files. If the output is a pipe or CI is set, it does not
    /// pause for you to read.
    #[command(after_help = "Example: ostler demo --long --clean")]
    Demo(DemoArgs),
    /// Serve a scripted model on a loopback port, for your own tests
    ///
    /// Prints the URL to standard output. Prints a line for each request to standard error (time, status, session, model,
    /// tokens, cost), the reason for each rejection, and the bill when you press Ctrl+C.
    #[command(after_help = "Example: ostler model-server --script demo.yaml --port 8080")]
    ModelServer(ModelServerArgs),
    /// List the sessions of this directory
    #[command(after_help = "Example: ostler sessions --json")]
    Sessions(SessionsArgs),
    /// Import sessions of other coding agents, or list those that can be imported
    ///
    /// An import is a new session with the conversation of the other one. It carries over no rules, trust, approvals or
    /// modes, and never changes the file that it came from. See docs/import.md.
    #[command(after_help = "Example: ostler import claude 0196f3a2")]
    Import(import::ImportArgs),
    /// Show what the agents of all running sessions are doing
    #[command(after_help = "Example: ostler agents --watch")]
    Agents(agents::AgentsArgs),
    /// List, show and stop background jobs of all sessions
    #[command(after_help = "Example: ostler jobs stop b1f03c2")]
    Jobs(jobs::JobsArgs),
    /// Undo what the last calls changed, commands included; your own later changes stay
    #[command(after_help = "Example: ostler undo 2 --dry-run")]
    Undo(undo::UndoArgs),
    /// Go back to the state before a turn: files, conversation or both
    #[command(after_help = "Example: ostler rewind --to 3 --files")]
    Rewind(undo::RewindArgs),
    /// List, compare and prune the snapshots of this directory
    #[command(after_help = "Example: ostler snapshots diff 12")]
    Snapshots(undo::SnapshotsArgs),
    /// List the available skills, or show one
    #[command(after_help = "Example: ostler skills show code-review")]
    Skills(SkillsArgs),
    /// Install, list and remove plugins: skills, commands, agents, hooks and MCP servers that others wrote
    ///
    /// Ostler shows what a plugin can do before it takes effect. If one of its files changes, it is disabled until you accept
    /// it again. See docs/plugins.md.
    #[command(after_help = "Example: ostler plugin add ./review-plugin")]
    Plugin(plugin::PluginArgs),
    /// Show what was spent, grouped by a field, most expensive first, and the state of all budgets
    #[command(after_help = "Example: ostler cost --by tool --since 7d")]
    Cost(cost::CostArgs),
    /// List, search, add, forget and export memories
    #[command(after_help = "Example: ostler memory search \"how do we deploy?\"")]
    Memory(memory::MemoryArgs),
    /// Add, list, claim and finish tasks on the board that people, scripts and workers share
    ///
    /// Exit code 0, or 1 with one line that says why; 3 if there is nothing to claim. See docs/tasks.md.
    #[command(
        after_help = "Example: ostler tasks add \"Port the parser\" --touches 'src/parser/**'"
    )]
    Tasks(tasks::TasksArgs),
    /// Claim tasks from the board and work on each in a worktree of its own, in the sandbox
    ///
    /// A worker's permissions come from the settings and flags of its own machine, never from a task. Exit code 0 when
    /// nothing is left (with --once), 3 if there was nothing to claim, 1 if the model, the board or the remote keeps failing. See
    /// docs/workers.md.
    #[command(
        after_help = "Example: ostler worker --count 4 --permission-mode acceptEdits --check 'cargo test'"
    )]
    Worker(Box<worker::WorkerArgs>),
    /// Send mail to agents, and show their mailboxes without marking anything as read
    #[command(after_help = "Example: ostler mail send --to writer \"Please use the new names.\"")]
    Mail(mail::MailArgs),
    /// Show a board's workers, waiting tasks and mail, throughput, and the state of its server
    ///
    /// Exit code 0, or 1 with one line that says why. See docs/scaling.md.
    #[command(after_help = "Example: ostler cluster status --watch")]
    Cluster(cluster::ClusterArgs),
    /// List, compare, merge and remove the worktrees in which agents work
    ///
    /// Exit code 0, or 1 if something was not done, with a line that says why. See docs/worktrees.md.
    #[command(after_help = "Example: ostler worktrees merge fix-parser --check 'cargo test'")]
    Worktrees(worktrees::WorktreesArgs),
    /// Configure MCP servers, log in to them, or serve Ostler as one
    #[command(
        after_help = "Example: ostler mcp add files -- npx -y @modelcontextprotocol/server-filesystem ."
    )]
    Mcp(mcp::McpArgs),
    /// Show what fills the model's context window in a session
    ///
    /// Groups the content by category: system prompt, tools, instruction files, results and so on.
    #[command(after_help = "Example: ostler context --session 0196f3a2")]
    Context(ContextArgs),
    /// Explain why Ostler asks about a command; list rules, revoke approvals, trust this project
    #[command(after_help = "Example: ostler permissions explain 'cargo test > log.txt'")]
    Permissions(permissions::PermissionsArgs),
    /// Run your own command in the agent's sandbox
    #[command(after_help = "Example: ostler sandbox run -- make test")]
    Sandbox(SandboxArgs),
    /// Check your setup: programs, home directory, settings, environment, credential, sandbox
    #[command(after_help = "Example: ostler doctor --json")]
    Doctor(DoctorArgs),
    /// List configured hooks and test them
    #[command(after_help = "Example: ostler hooks verify")]
    Hooks(hooks::HooksArgs),
    /// Show the events of a session, and deliver queued webhooks
    #[command(after_help = "Example: ostler events tail -f")]
    Events(hooks::EventsArgs),
    /// Print a completion script for your shell
    #[command(
        after_help = "Example: ostler completions bash > ~/.local/share/bash-completion/completions/ostler"
    )]
    Completions {
        /// The shell to generate the script for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Show a longer session: plan, skill, compaction, memory, cost
    #[arg(long)]
    pub long: bool,
    /// Show three agents that work at the same time, while a test runs in the background
    #[arg(long, conflicts_with = "long")]
    pub agents: bool,
    /// Show a team: a lead with two teammates, a board with seven tasks, two workers in worktrees, and a merge
    #[arg(long, conflicts_with_all = ["long", "agents"])]
    pub team: bool,
    /// Show everything in one session, which is killed and resumed three times
    #[arg(long, conflicts_with_all = ["long", "agents", "team"])]
    pub all: bool,
    /// Delete the temporary directory afterwards (default for --team and --all)
    #[arg(long)]
    pub clean: bool,
    /// Keep the temporary directory, so that you can inspect what --team or --all left behind
    #[arg(long, conflicts_with = "clean")]
    pub keep: bool,
}

#[derive(Debug, clap::Args)]
pub struct ModelServerArgs {
    /// Answer from this YAML script (see docs/model-server.md)
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// Listen on this port on 127.0.0.1; 0 chooses a free one
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// Print only the URL
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Print one JSON object per line to standard output: the URL, each request, the bill
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
    /// Run a program or a shell command line in the sandbox of this directory, without standard input
    #[command(after_help = "Example: ostler sandbox run --network -- cargo fetch")]
    Run(SandboxRunArgs),
}

#[derive(Debug, clap::Args)]
pub struct SandboxRunArgs {
    /// Give it network access
    #[arg(long)]
    pub network: bool,
    /// Let it write to this directory, too (repeatable)
    #[arg(long, value_name = "DIRECTORY")]
    pub add_dir: Vec<PathBuf>,
    /// The program and its arguments, or one shell command line
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct SessionsArgs {
    /// List Claude Code's sessions in this directory; resume or import one by its id
    #[arg(long)]
    pub claude: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: SkillsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List skills, one per line, and report problems
    #[command(after_help = "Example: ostler skills list --json")]
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Show everything about one skill, including its text
    #[command(after_help = "Example: ostler skills show code-review")]
    Show {
        /// The name of the skill
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

#[derive(Debug, clap::Args)]
pub struct ContextArgs {
    /// Show the session with this id or unique prefix [default: the newest in this directory]
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
    /// The answer as plain text
    Text,
    /// One JSON object with the result, at the end
    Json,
    /// One JSON object per line, for everything that happens
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Run calls that only read inside the working directory; ask about everything else
    Default,
    /// Also change files inside the working directory, with the file tools or with rm, mv, cp and the like
    AcceptEdits,
    /// Run nothing that changes anything
    Plan,
    /// Deny whatever Ostler would ask about
    DontAsk,
    /// Do not ask, except for ask rules and protected files
    BypassPermissions,
    /// The same as default, as Claude Code calls it
    #[value(hide = true, alias = "manual")]
    Auto,
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("give an amount in US dollars above 0, e.g. 0.50".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    /// Scripts use them.
    #[test]
    fn the_flags_of_the_first_release_still_exist() {
        let root = Args::command();
        let flags = include_str!("../../../../fixtures/stage1/flags.txt");
        assert!(flags.lines().count() > 100);
        for line in flags.lines() {
            let (command, flag) = line.split_once(" --").expect(line);
            let mut names = command.split(' ').skip(1);
            let command = names.try_fold(&root, |at, name| at.find_subcommand(name));
            let has = |arg: &clap::Arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(flag) || aliases.contains(&flag)
            };
            assert!(command.is_some_and(|command| command.get_arguments().any(has)), "{line}");
        }
    }

    /// The fast path parses every line as the full parser does, and leaves errors to the full parser.
    #[test]
    fn a_line_that_begins_with_a_flag_means_the_same_without_subcommands() {
        for line in [
            "-p demo",
            "-p",
            "--print tasks --model opus",
            "-- demo",
            "--model opus demo",
            "--model opus tasks list",
            "-p x --allowedTools Read,Grep --output-format stream-json",
            "--output-format=json -p x",
            "--continue",
            "--resume",
            "--add-dir mcp -p worker",
            "--help",
            "-h",
            "--version",
            "-V",
            "--unknown",
            "-p --output-format odd x",
            "-",
            "--mcp-config demo",
        ] {
            let words: Vec<OsString> =
                std::iter::once("ostler").chain(line.split(' ')).map(OsString::from).collect();
            let said = |read: Result<Args, clap::Error>| match read {
                Ok(args) => format!("{args:?}"),
                Err(error) => error.render().to_string(),
            };
            let whole = Args::try_parse_from(&words);
            assert_eq!(said(Args::of(&words)), said(whole), "{line}");
        }
    }

    #[test]
    fn a_prompt_may_be_named_like_a_command() {
        let args = Args::try_parse_from(["ostler", "-p", "demo"]).unwrap();
        assert!(args.command.is_none());
        assert_eq!(args.run.prompt.as_deref(), Some("demo"));
        assert!(Args::try_parse_from(["ostler", "demo"]).unwrap().command.is_some());
    }
}
