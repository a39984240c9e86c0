//! `ostler hooks …` and `ostler events …` on the command line.

use super::ConfigArgs;
use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub struct HooksArgs {
    #[command(subcommand)]
    pub command: HooksCommand,
}

#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// List active and untrusted hooks, what each runs and where it is configured
    #[command(after_help = "Example: ostler hooks list --json | jq -r .what")]
    List(HooksListArgs),
    /// Send a test event to every hook and show its answer
    #[command(
        after_help = "The test event contains \"canary\": true. The exit code is 1 if a hook gave no verdict.\n\
                      Example: ostler hooks verify"
    )]
    Verify(HooksListArgs),
}

#[derive(Debug, clap::Args)]
pub struct HooksListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct EventsArgs {
    #[command(subcommand)]
    pub command: EventsCommand,
}

#[derive(Debug, Subcommand)]
pub enum EventsCommand {
    /// Show the last events of a session
    #[command(after_help = "Example: ostler events tail -f")]
    Tail(TailArgs),
    /// Send queued events to webhooks
    #[command(
        after_help = "The exit code is 1 if events are left in a queue.\nExample: ostler events deliver"
    )]
    Deliver(DeliverArgs),
    /// Send delivered events to webhooks again
    #[command(after_help = "Events keep their ids, so a receiver can drop duplicates.\n\
                      Example: ostler events replay --from ID --endpoint https://hooks.example/x")]
    Replay(ReplayArgs),
}

#[derive(Debug, clap::Args)]
pub struct TailArgs {
    /// Print the raw lines of the log
    #[arg(long)]
    pub json: bool,
    /// Show the session with this id or prefix [default: the newest]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Show this many events
    #[arg(short = 'n', long = "lines", default_value_t = 20, value_name = "COUNT")]
    pub lines: usize,
    /// Keep printing new events
    #[arg(short, long)]
    pub follow: bool,
}

#[derive(Debug, clap::Args)]
pub struct DeliverArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// Start with the event with this id (X-Ostler-Delivery) [default: the oldest kept]
    #[arg(long, value_name = "ID")]
    pub from: Option<String>,
    /// Send only to this webhook [default: all]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    #[command(flatten)]
    pub config: ConfigArgs,
}
