//! Arguments of `agents`.

use clap::Args;

#[derive(Debug, Args)]
pub struct AgentsArgs {
    /// List the kinds of agents that the model can start here, with their files
    #[arg(long, conflicts_with_all = ["all", "watch"])]
    pub definitions: bool,
    /// Also show agents that have ended, and the 10 newest sessions, even if they have ended
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object; with --watch, one per line
    #[arg(long)]
    pub json: bool,
    /// Keep running and show every change; stop with Ctrl+C
    #[arg(long)]
    pub watch: bool,
}
