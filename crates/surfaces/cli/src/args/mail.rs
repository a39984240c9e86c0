//! `ostler mail …` on the command line.

use super::tasks::BoardArgs;
use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub struct MailArgs {
    #[command(subcommand)]
    pub command: MailCommand,
    #[command(flatten)]
    pub board: BoardArgs,
}

#[derive(Debug, Subcommand)]
pub enum MailCommand {
    /// Send mail to an agent; the mail is stored when the command returns
    #[command(after_help = "Example: ostler mail send --to writer \"Please use the new names.\"")]
    Send(SendArgs),
    /// List mail, oldest first
    #[command(after_help = "Example: ostler mail list --to writer --all")]
    List(MailListArgs),
    /// Show the unread mail of an agent; it stays unread
    #[command(after_help = "Example: ostler mail peek writer")]
    Peek(PeekArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub struct SendArgs {
    /// The text
    pub text: String,
    /// The agent that reads it: a teammate or lead of a running team by its name alone, or an address such as
    /// writer@1f2e3d4c
    #[arg(long, value_name = "NAME")]
    pub to: String,
    /// Send it even if no agent of this name is known yet
    #[arg(long)]
    pub force: bool,
    /// The sender, who gets the reply
    #[arg(long, default_value = "user", value_name = "NAME")]
    pub from: String,
    /// The id of the message that this one answers
    #[arg(long, value_name = "ID")]
    pub in_reply_to: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct MailListArgs {
    /// List only mail to this agent; its name alone is enough, as for send
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// List only mail from this sender
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// List settled mail, too: acknowledged, bounced, dead
    #[arg(long)]
    pub all: bool,
    /// List at most this many
    #[arg(long, default_value_t = 1000, value_name = "COUNT")]
    pub limit: usize,
}

#[derive(Debug, clap::Args)]
pub struct PeekArgs {
    /// The agent; its name alone is enough, as for send
    pub name: String,
    /// Show at most this many
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    pub limit: usize,
}
