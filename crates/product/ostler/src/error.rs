//! Errors before a turn begins. Errors during a turn are events.

use ostler_core::ids::SessionId;
use ostler_core::permission::RuleError;
use ostler_core::ports::StoreError;
use ostler_store::FindError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot work in {path}: {why}")]
    Workspace { path: PathBuf, why: String },
    #[error(
        "there is nothing to undo: no call of the session changed a file, or everything has been undone"
    )]
    NothingToUndo,
    #[error(
        "there is nothing to undo: no call of the session changed a file that snapshots cover. {0}"
    )]
    NothingCovered(String),
    #[error(
        "there is nothing to undo in session {newest}, the newest one here. The last change was made in another session ({call}): ostler undo --session {session}"
    )]
    UndoableElsewhere { newest: SessionId, session: SessionId, call: String },
    #[error("nothing was undone, so there is nothing to redo")]
    NothingToRedo,
    #[error("cannot undo: {0}")]
    CommandRunning(String),
    #[error(
        "--keep \"{0}\" matches nothing that would be undone, so nothing was changed (--dry-run lists every path)"
    )]
    KeepsNothing(String),
    #[error("there is no turn {turn}: the session has {turns}")]
    NoSuchTurn { turn: u32, turns: u32 },
    #[error(
        "the conversation before turn {turn} has been summarized since and cannot be restored; use --files to restore only the files"
    )]
    SummedUp { turn: u32 },
    #[error("{0}")]
    Snapshots(String),
    #[error("{0}")]
    NotKept(String),
    #[error("the last undo cannot be redone: its snapshots no longer exist ({0})")]
    RedoNotKept(String),
    #[error("{0}")]
    Plugin(String),
    #[error("worktrees need a state directory")]
    NoTrees,
    #[error(transparent)]
    Worktree(#[from] ostler_worktrees::WorktreeError),
    #[error(transparent)]
    Board(#[from] ostler_board::BoardError),
    #[error("cannot use the team: {0}")]
    Team(String),
    #[error("this session already has a driver")]
    AlreadyDriven,
    #[error("{0}")]
    Input(String),
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(
        "\"{0}\": a pattern that begins with / is relative to the working directory. Write // for an absolute path"
    )]
    RuleRoot(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Transcript(#[from] ostler_transcripts::TranscriptError),
    #[error(
        "--at needs a session of Ostler's own: import this one first with `ostler import {0} {1}`"
    )]
    ForkOfTranscript(&'static str, String),
    #[error(
        "there is no session {id} of {program} here. `ostler import {word}` lists those that can be imported"
    )]
    NoTranscript { program: String, word: &'static str, id: String },
    #[error(
        "there is no session to continue in {}. Start one without --continue; `ostler sessions` lists those of a directory, --resume ID opens one of another",
        .0.display()
    )]
    NothingToContinue(PathBuf),
    #[error("there is no session in this directory to fork")]
    NothingToFork,
    #[error("there is no session in this directory to show")]
    NothingToLookAt,
    #[error("unknown tool \"{name}\" (did you mean \"{meant}\"?)")]
    UnknownTool { name: String, meant: String },
    #[error(
        "no price is known for the model \"{0}\", and a budget needs one. Add it to prices.toml, remove the budget, or choose another model"
    )]
    NoPrice(String),
    #[error("budgets for a day, a project or an agent need a home directory")]
    NoLedger,
    #[error(transparent)]
    Ledger(#[from] ostler_ledger::Error),
    #[error("{0}")]
    Model(String),
    #[error("{0}")]
    Jobs(String),
    #[error("{0}")]
    Exec(String),
    #[error("the async runtime cannot start: {0}")]
    Runtime(String),
}

impl From<ostler_snapshots::Error> for Error {
    fn from(error: ostler_snapshots::Error) -> Self {
        match error {
            ostler_snapshots::Error::Running(_) => Error::CommandRunning(error.to_string()),
            ostler_snapshots::Error::Unknown(_) | ostler_snapshots::Error::Broken(..) => {
                Error::NotKept(error.to_string())
            }
            _ => Error::Snapshots(error.to_string()),
        }
    }
}
