//! Arguments of `jobs`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct JobsArgs {
    #[command(subcommand)]
    pub command: JobsCommand,
}

#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List the background jobs of all sessions, oldest first
    #[command(after_help = "Example: ostler jobs list --running")]
    List {
        /// List only jobs of the session with this id or prefix
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// List only running jobs
        #[arg(long)]
        running: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show a job and the end of its output
    #[command(after_help = "Example: ostler jobs show b1f03c2 --follow")]
    Show {
        /// The job's id or a unique prefix of it
        id: String,
        /// Print new output until the job ends
        #[arg(short, long, conflicts_with = "json")]
        follow: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Stop a job and wait until it is gone
    #[command(after_help = "Example: ostler jobs stop b1f03c2")]
    Stop {
        /// The job's id or a unique prefix of it
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
