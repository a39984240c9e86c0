//! Arguments of `agents`.

use clap::Args;

#[derive(Debug, Args)]
pub struct AgentsArgs {
    /// List the kinds of agents that the model can start here, with their files
    #[arg(long, conflicts_with_all = ["all", "watch"])]
    pub definitions: bool,
    /// Also show agents that have ended, and the newest of the sessions that have ended
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object; with --watch, one per line
    #[arg(long)]
    pub json: bool,
    /// Keep running and show every change; stop with Ctrl+C
    #[arg(long)]
    pub watch: bool,
}
