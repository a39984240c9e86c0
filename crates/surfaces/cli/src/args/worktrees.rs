//! `ostler worktrees …` on the command line.

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub struct WorktreesArgs {
    #[command(subcommand)]
    pub command: WorktreesCommand,
    /// Print one JSON object and never ask
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum WorktreesCommand {
    /// List worktrees, their branches, and what is not merged or not committed in them
    #[command(after_help = "Example: ostler worktrees list --json")]
    List,
    /// Show what a worktree changes, committed or not
    #[command(after_help = "Example: ostler worktrees diff fix-parser --stat")]
    Diff(DiffArgs),
    /// Merge branches of worktrees in this order, after a check of the merged files
    ///
    /// If the check fails, Ostler finds the branch that makes it fail and merges the others. Conflicts and failures are
    /// reported; the branches themselves are never changed. The work of a task that cannot be merged goes back to the
    /// board as a task. The files of the checked-out branch are updated only if nothing in them is uncommitted.
    #[command(
        after_help = "Example: ostler worktrees merge fix-parser new-docs --check 'cargo test'"
    )]
    Merge(MergeArgs),
    /// Delete worktrees with their branches, merged or not
    #[command(after_help = "Example: ostler worktrees discard fix-parser")]
    Discard(DiscardArgs),
    /// Remove worktrees that nobody uses and that contain nothing new
    ///
    /// Worktrees with commits that are not merged, with uncommitted changes or with ignored files stay, and are listed
    /// with the reason.
    #[command(after_help = "Example: ostler worktrees prune --dry-run")]
    Prune(PruneArgs),
}

#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The name of the worktree
    pub name: String,
    /// List the changed files with the number of lines
    #[arg(long)]
    pub stat: bool,
}

#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// The names of the worktrees, or with --from of the branches
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub names: Vec<String>,
    /// Merge all worktrees that nobody uses and that have something to merge, oldest first
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Merge branches that workers pushed to this git remote, not those that are here; only the work of tasks that are done
    ///
    /// A branch is merged if the board names it, with its commit, as the result of a task that is done. What is left out is
    /// listed with the reason. With --all: all such branches that are not merged yet.
    #[arg(long, value_name = "REMOTE", conflicts_with_all = ["commit", "committed_only"])]
    pub from: Option<String>,
    /// Merge into this branch [default: the one that is checked out here]
    #[arg(long, value_name = "BRANCH")]
    pub into: Option<String>,
    /// Run this command on the merged files in the sandbox; merge only if it succeeds
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
    /// Give the check network access
    #[arg(long, requires = "check")]
    pub network: bool,
    /// Commit uncommitted changes of the worktrees first
    #[arg(long, conflicts_with = "committed_only")]
    pub commit: bool,
    /// Leave uncommitted changes out
    #[arg(long)]
    pub committed_only: bool,
    /// If the work on a task cannot be merged, return it to this board; with --from, look here for tasks that are done [default: OSTLER_BOARD, or the project's board]
    #[arg(long, value_name = "PATH|URL")]
    pub board: Option<String>,
    /// Report overlaps and conflicts between these worktrees, and merge nothing; with --all, including those in use
    #[arg(long, conflicts_with_all = ["check", "commit", "committed_only"])]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct DiscardArgs {
    /// The names of the worktrees
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, clap::Args)]
pub struct PruneArgs {
    /// Also remove worktrees that contain ignored files, such as build output
    #[arg(long)]
    pub ignored: bool,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}
