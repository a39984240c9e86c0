//! `ostler cluster …` on the command line.

use super::tasks::BoardArgs;
use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub struct ClusterArgs {
    #[command(subcommand)]
    pub command: ClusterCommand,
    #[command(flatten)]
    pub board: BoardArgs,
}

#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Show workers and their leases, tasks by status, waiting mail, throughput and the server
    #[command(after_help = "Example: ostler cluster status --board redis://build-server --watch")]
    Status(ClusterStatusArgs),
}

#[derive(Debug, clap::Args)]
pub struct ClusterStatusArgs {
    /// Print the state again whenever it changes, until interrupted
    #[arg(long)]
    pub watch: bool,
}
