//! `ostler plugin …` on the command line.

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub struct PluginArgs {
    #[command(subcommand)]
    pub command: PluginCommand,
    /// Print one JSON object per line and never ask
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Show what a plugin can do, ask, and install it
    ///
    /// A directory is used where it is. A repository is cloned without running anything in it, and pinned to the commit.
    #[command(
        after_help = "Example: ostler plugin add https://example.com/ann/review-plugin.git#v1.2"
    )]
    Add {
        /// A directory, or a repository: https://…, ssh://…, git://…, user@host:path; #BRANCH, #TAG or #COMMIT may follow
        #[arg(value_name = "PATH|GIT")]
        source: String,
        /// Install it without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// List the installed plugins
    #[command(after_help = "Example: ostler plugin list --json")]
    List,
    /// Show what a plugin can do
    #[command(after_help = "Example: ostler plugin show ./my-plugin")]
    Show {
        /// The name of an installed plugin, or a directory
        #[arg(value_name = "NAME|PATH")]
        name: String,
    },
    /// Enable a plugin, and accept its content as it is now
    #[command(after_help = "Example: ostler plugin enable review")]
    Enable {
        /// The name of the plugin
        name: String,
        /// Accept it without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// Disable a plugin
    #[command(after_help = "Example: ostler plugin disable review")]
    Disable {
        /// The name of the plugin
        name: String,
    },
    /// Remove a plugin; a directory that you added by its path stays
    #[command(after_help = "Example: ostler plugin remove review")]
    Remove {
        /// The name of the plugin
        name: String,
    },
}
