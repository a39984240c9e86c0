//! `ostler import …` on the command line.

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The program that created the sessions [default: list those of all programs]
    #[arg(value_enum)]
    pub program: Option<ProgramName>,
    /// The sessions to import, by id or unique prefix; without one, list them
    #[arg(value_name = "ID", requires = "program")]
    pub ids: Vec<String>,
    /// Import all sessions that were started in this directory and have not been imported yet
    #[arg(long, conflicts_with_all = ["ids", "everywhere"], requires = "program")]
    pub all: bool,
    /// Print the conversations and import nothing
    #[arg(long, requires = "ids", conflicts_with = "all")]
    pub show: bool,
    /// List the sessions of all directories
    #[arg(long)]
    pub everywhere: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramName {
    /// Claude Code (~/.claude/projects)
    Claude,
    /// Codex (~/.codex/sessions)
    Codex,
    /// opencode (~/.local/share/opencode)
    Opencode,
}
