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
    /// List the hooks in force here, what each runs and where it stands, and those that are not trusted
    #[command(after_help = "Example: ostler hooks list --json | jq -r .what")]
    List(HooksListArgs),
    /// Try every hook: fire an event that never happened through its real path and show what comes back
    #[command(
        after_help = "The payload has \"canary\": true. The exit code is 1 if a hook gave no verdict.\n\
                      Example: ostler hooks verify"
    )]
    Verify(HooksListArgs),
}

#[derive(Debug, clap::Args)]
pub struct HooksListArgs {
    /// Print one JSON object a line
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
    /// Send what waits for webhooks
    #[command(after_help = "The exit code is 1 if something still waits.")]
    Deliver(DeliverArgs),
    /// Send events again to webhooks, from one on or all that are kept
    #[command(
        after_help = "Events are sent again with the ids they had, so that a receiver can drop twins.\n\
                      Example: ostler events replay --from ID --endpoint https://hooks.example/x"
    )]
    Replay(ReplayArgs),
}

#[derive(Debug, clap::Args)]
pub struct TailArgs {
    /// Print the lines of the log as they are
    #[arg(long)]
    pub json: bool,
    /// The session: its id, or the beginning of it [default: the newest]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// How many events
    #[arg(short = 'n', long = "lines", default_value_t = 20, value_name = "N")]
    pub lines: usize,
    /// Go on as events come
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
    /// The id of the first event (X-Ostler-Delivery) [default: the oldest that is kept]
    #[arg(long, value_name = "ID")]
    pub from: Option<String>,
    /// The webhook [default: all]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    #[command(flatten)]
    pub config: ConfigArgs,
}
