//! Arguments of `undo`, `rewind` and `snapshots`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// How many changing calls, newest first
    #[arg(default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Undo the last undo or rewind
    #[arg(long, conflicts_with = "steps")]
    pub redo: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Common {
    /// The session: its id, or the beginning of it [default: the newest of this folder]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// List every path and what would happen to it, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Leave this path as it is, with everything below it (repeatable; `*`, `?` and `**` match any names)
    #[arg(long, value_name = "PATH")]
    pub keep: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    /// Print JSON; never asks
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RewindArgs {
    /// The turn to go back to, counted from 1: as it was before its prompt [default: list the turns]
    #[arg(long, value_name = "TURN", value_parser = clap::value_parser!(u32).range(1..))]
    pub to: Option<u32>,
    /// Only the files
    #[arg(long, conflicts_with_all = ["conversation", "both"])]
    pub files: bool,
    /// Only the conversation
    #[arg(long, conflicts_with = "both")]
    pub conversation: bool,
    /// Files and conversation; the default
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
    /// The kept states, oldest first
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// What differs between two states, or between one and now
    Diff {
        /// The number of the first [default: the last one kept]
        a: Option<u64>,
        /// The number of the second [default: now]
        b: Option<u64>,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Drop what the rule does not keep: the newest 200, none older than 14 days, at most 2 GB
    Prune {
        /// Only say what would go
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
