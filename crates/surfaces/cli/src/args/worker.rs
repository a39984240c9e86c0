//! `ostler worker …` on the command line.

use super::tasks::BoardArgs;
use super::{
    ConfigArgs, LIMITS, MODEL, PERMISSIONS, PermissionMode, SETTINGS, SandboxFlags, amount,
};
use ostler::Mode;
use ostler_profile::{Flags, split_list};

const WORK: &str = "Work";

#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    /// Run this many workers in this process
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = WORK)]
    pub count: u16,
    /// Run this shell command in a clean checkout of each commit; the task fails if it fails [default: worktrees.check in
    /// settings]
    #[arg(long, value_name = "COMMAND", help_heading = WORK)]
    pub check: Option<String>,
    /// Fetch the base of each task from this git remote, and push the task's branch to it, never with --force [default:
    /// push nothing]
    #[arg(long, value_name = "REMOTE", help_heading = WORK)]
    pub push: Option<String>,
    /// Exit when there is nothing left to claim
    #[arg(long, help_heading = WORK)]
    pub once: bool,
    /// Use this name on the board [default: the name of this machine and a process id]
    #[arg(long, value_name = "NAME", help_heading = WORK)]
    pub name: Option<String>,
    /// Release this worker's tasks if it does not renew them within this time
    #[arg(long, default_value_t = 60, value_name = "SECONDS", help_heading = WORK)]
    pub lease: u64,
    #[command(flatten)]
    pub board: BoardArgs,
    /// Use this model: an alias (opus, sonnet, haiku) or a full name
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub model: Option<String>,
    /// Use this model when the first one is overloaded or unavailable
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub fallback_model: Option<String>,
    /// Append to the system prompt
    #[arg(long, value_name = "TEXT", help_heading = MODEL)]
    pub append_system_prompt: Option<String>,
    /// Stop work on a task after this many rounds of tool calls [default: no limit]
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    pub max_turns: Option<u32>,
    /// Send no request that could raise the cost of all tasks of this run above this amount in US dollars
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
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Trust this project's settings files as they are now, until they change
    #[arg(long, help_heading = SETTINGS)]
    pub trust: bool,
    #[command(flatten)]
    pub sandbox: SandboxFlags,
}

impl WorkerArgs {
    pub fn flags(&self) -> Flags {
        Flags {
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
            ..self.sandbox.added_to(self.config.flags())
        }
    }
}
