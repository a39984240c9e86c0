//! Arguments of `undo`, `rewind` and `snapshots`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// How many calls to undo, newest first
    #[arg(default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Undo the last undo or rewind
    #[arg(long, conflicts_with = "steps")]
    pub redo: bool,
    /// List what could be undone, newest first, in all sessions of this directory
    #[arg(long, conflicts_with_all = ["steps", "redo", "dry_run", "keep"])]
    pub list: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Common {
    /// Use the session with this id or unique prefix [default: the newest in this directory]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// List every path and what would happen to it, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Leave this path as it is, with everything below it (repeatable; `*`, `?` and `**` are wildcards)
    #[arg(long, value_name = "PATH", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub keep: Vec<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
    /// Print JSON and never ask
    #[arg(long)]
    pub json: bool,
    /// It was entered in a session.
    #[arg(skip)]
    pub in_session: bool,
}

#[derive(Debug, Args)]
pub struct RewindArgs {
    /// Go back to the state before the prompt of this turn, counted from 1 [default: list the turns]
    #[arg(long, value_name = "TURN", value_parser = clap::value_parser!(u32).range(1..))]
    pub to: Option<u32>,
    /// Restore only the files
    #[arg(long, conflicts_with_all = ["conversation", "both"])]
    pub files: bool,
    /// Restore only the conversation
    #[arg(long, conflicts_with = "both")]
    pub conversation: bool,
    /// Restore files and conversation (the default)
    #[arg(long)]
    pub both: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct SnapshotsArgs {
    #[command(subcommand)]
    pub command: SnapshotsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SnapshotsCommand {
    /// List snapshots, oldest first
    #[command(after_help = "Example: ostler snapshots list --json")]
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show the differences between two snapshots, or between one and now
    #[command(after_help = "Example: ostler snapshots diff 12 14")]
    Diff {
        /// The number of the first snapshot [default: the newest]
        a: Option<u64>,
        /// The number of the second snapshot [default: now]
        b: Option<u64>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Delete old snapshots: keep at most 200, none older than 14 days, and at most 2 GB of old content
    #[command(after_help = "Example: ostler snapshots prune --dry-run")]
    Prune {
        /// Only show what would be deleted
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
