//! `ostler tasks …` on the command line.

use clap::{Subcommand, ValueEnum};
use ostler::board::{Priority, Status};
use std::num::NonZeroUsize;

#[derive(Debug, clap::Args)]
pub struct TasksArgs {
    #[command(subcommand)]
    pub command: TasksCommand,
    #[command(flatten)]
    pub board: BoardArgs,
}

/// Which board, and how to print.
#[derive(Debug, clap::Args)]
pub struct BoardArgs {
    /// Use the board in this file or on this Redis server; `redis` is REDIS_URL or redis://localhost:6379 [default:
    /// OSTLER_BOARD, or the project's board]
    #[arg(long, global = true, value_name = "PATH|URL")]
    pub board: Option<String>,
    /// Print JSON, one object per line
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    /// Add a task
    #[command(
        after_help = "Example: ostler tasks add \"Write the docs\" --depends-on 3f2a --priority low"
    )]
    Add(AddArgs),
    /// List tasks, oldest first
    #[command(after_help = "Example: ostler tasks list --status pending --watch")]
    List(ListArgs),
    /// Show everything about a task, including its history
    #[command(after_help = "Example: ostler tasks show 3f2a")]
    Show(IdArgs),
    /// Show the task that would be claimed next, without claiming it
    #[command(after_help = "Example: ostler tasks next --json")]
    Next,
    /// Claim the next task, or the one with this id; prints the fence that the other commands need
    #[command(after_help = "Example: ostler tasks claim --worker laptop-1 --lease 600")]
    Claim(ClaimArgs),
    /// Extend the lease on a claimed task
    #[command(after_help = "Example: ostler tasks renew 3f2a --fence 7")]
    Renew(RenewArgs),
    /// Report that a claimed task is done
    #[command(
        after_help = "Example: ostler tasks finish 3f2a --fence 7 --result \"merged as 9c1e\""
    )]
    Finish(FinishArgs),
    /// Report that a claimed task has failed
    #[command(
        after_help = "Example: ostler tasks fail 3f2a --fence 7 --error \"tests do not pass\""
    )]
    Fail(FailArgs),
    /// Make a failed, parked or cancelled task pending again
    #[command(after_help = "Example: ostler tasks retry 3f2a")]
    Retry(IdArgs),
    /// Cancel a task; tasks that depend on it stay blocked
    #[command(after_help = "Example: ostler tasks cancel 3f2a --reason \"no longer needed\"")]
    Cancel(CancelArgs),
    /// Draw the dependencies between tasks
    #[command(after_help = "Example: ostler tasks graph --format svg > tasks.svg")]
    Graph(GraphArgs),
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// What is to be done, in one line
    pub title: String,
    /// Describe the task in detail
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    pub description: String,
    /// Set its priority: tasks with a higher priority are handed out first
    #[arg(long, value_enum, default_value_t = PriorityName::Medium, value_name = "PRIORITY")]
    pub priority: PriorityName,
    /// Wait until this task is done: an id or unique prefix (repeatable)
    #[arg(long, value_name = "ID")]
    pub depends_on: Vec<String>,
    /// Name files that it will change; tasks that overlap are not handed out at the same time (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub touches: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// List only tasks with this status (repeatable)
    #[arg(long, value_enum, value_name = "STATUS")]
    pub status: Vec<StatusName>,
    /// List at most this many
    #[arg(long, default_value = "1000", value_name = "COUNT")]
    pub limit: NonZeroUsize,
    /// Print the list again whenever it changes, until interrupted
    #[arg(long)]
    pub watch: bool,
}

#[derive(Debug, clap::Args)]
pub struct IdArgs {
    /// The id of the task or a unique prefix
    pub id: String,
}

#[derive(Debug, clap::Args)]
pub struct ClaimArgs {
    /// The id of the task or a unique prefix [default: the next one]
    pub id: Option<String>,
    /// Claim it under this name
    #[arg(long, value_name = "NAME")]
    pub worker: String,
    /// Return the task to the board unless the claim is renewed within this time
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub lease: u64,
}

#[derive(Debug, clap::Args)]
pub struct RenewArgs {
    /// The id of the task or a unique prefix
    pub id: String,
    /// The fence of your claim
    #[arg(long, value_name = "FENCE")]
    pub fence: u64,
    /// Extend the lease to this many seconds from now
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub lease: u64,
}

#[derive(Debug, clap::Args)]
pub struct FinishArgs {
    /// The id of the task or a unique prefix
    pub id: String,
    /// The fence of your claim
    #[arg(long, value_name = "FENCE")]
    pub fence: u64,
    /// Record the result
    #[arg(long, value_name = "TEXT")]
    pub result: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct FailArgs {
    /// The id of the task or a unique prefix
    pub id: String,
    /// The fence of your claim
    #[arg(long, value_name = "FENCE")]
    pub fence: u64,
    /// Record what went wrong
    #[arg(long, value_name = "TEXT")]
    pub error: String,
}

#[derive(Debug, clap::Args)]
pub struct CancelArgs {
    /// The id of the task or a unique prefix
    pub id: String,
    /// Record why; shown with the tasks that it blocks
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct GraphArgs {
    /// Choose the format
    #[arg(long, value_enum, default_value_t = GraphFormat::Text, value_name = "FORMAT")]
    pub format: GraphFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// Indented lines
    Text,
    /// Graphviz DOT
    Dot,
    /// An SVG image
    Svg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PriorityName {
    High,
    Medium,
    Low,
}

impl From<PriorityName> for Priority {
    fn from(name: PriorityName) -> Self {
        match name {
            PriorityName::High => Priority::High,
            PriorityName::Medium => Priority::Medium,
            PriorityName::Low => Priority::Low,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum StatusName {
    Pending,
    InProgress,
    Done,
    Failed,
    Parked,
    Cancelled,
}

impl From<StatusName> for Status {
    fn from(name: StatusName) -> Self {
        match name {
            StatusName::Pending => Status::Pending,
            StatusName::InProgress => Status::InProgress,
            StatusName::Done => Status::Done,
            StatusName::Failed => Status::Failed,
            StatusName::Parked => Status::Parked,
            StatusName::Cancelled => Status::Cancelled,
        }
    }
}
