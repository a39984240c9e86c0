//! Exit codes, decided in one place.

use crate::output::printer;
use ostler::{Error, Event, Finished, StoreError, Terminal, words as event_words};
use ostler_profile::{Environment, ProfileError};
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Config = 3,
    Refused = 4,
    Limit = 5,
    Internal = 70,
    Store = 74,
    Busy = 75,
    Interrupted = 130,
    Terminated = 143,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        ExitCode::from(code as u8)
    }
}

/// How a finished turn ends the program.
pub fn of_turn(finished: &Finished) -> Code {
    match finished.terminal {
        Terminal::Completed if !finished.denials.is_empty() && finished.calls_run == 0 => {
            Code::Refused
        }
        // A hook that ended the turn did what it is for.
        Terminal::Completed | Terminal::ToolDeferred | Terminal::HookStopped => Code::Done,
        Terminal::MaxTurns | Terminal::MaxBudget => Code::Limit,
        Terminal::AbortedStreaming | Terminal::AbortedTools => Code::Interrupted,
        Terminal::StoreFailed | Terminal::LedgerFailed => Code::Store,
        _ => Code::Failed,
    }
}

/// A mistake in how the program was called or set up, found by a command of this program.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Config(String),
}

/// Says what went wrong in one line and gives the code for it.
pub fn report(error: &anyhow::Error) -> Code {
    let code = code_of(error);
    // A reader that went away wants no message.
    if !is_broken_pipe(error) {
        warn(&words(error));
    }
    code
}

/// What went wrong, and what to do where only this program knows it.
pub fn words(error: &anyhow::Error) -> String {
    let said = format!("{error:#}");
    if code_of(error) == Code::Usage || says_where_home_can_be(error) {
        return said;
    }
    let home = Environment::read().state_directory().ok();
    match home.is_some_and(|home| ostler::check_home(&home).is_err()) {
        true => format!("{}. {CHOOSE_HOME}", said.trim_end_matches('.')),
        false => said,
    }
}

fn says_where_home_can_be(error: &anyhow::Error) -> bool {
    let refused = match (error.downcast_ref::<ProfileError>(), error.downcast_ref::<Error>()) {
        (Some(ProfileError::State(refused)), _) | (_, Some(Error::Store(refused))) => refused,
        _ => return false,
    };
    matches!(refused, StoreError::OtherOwner { .. })
}

/// What to do about a home that cannot be written.
pub const CHOOSE_HOME: &str =
    "Set OSTLER_HOME to a directory that you can write, e.g. OSTLER_HOME=/var/tmp/ostler";

fn code_of(error: &anyhow::Error) -> Code {
    if let Some(wrong) = error.downcast_ref::<Wrong>() {
        return match wrong {
            Wrong::Usage(_) => Code::Usage,
            Wrong::Config(_) => Code::Config,
        };
    }
    if let Some(error) = error.downcast_ref::<ProfileError>() {
        return match error {
            ProfileError::Usage(_) => Code::Usage,
            ProfileError::Config(_) => Code::Config,
            ProfileError::State(_) => Code::Store,
        };
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Rule(_) | Error::RuleRoot(_) | Error::UnknownTool { .. }) => Code::Usage,
        Some(
            Error::Workspace { .. }
            | Error::NoPrice(_)
            | Error::NoLedger
            | Error::Team(_)
            | Error::NoTrees
            | Error::Model(_)
            | Error::Exec(_),
        ) => Code::Config,
        Some(Error::Store(StoreError::NoSuchPoint { .. })) => Code::Usage,
        Some(Error::Store(StoreError::NotFound(_) | StoreError::Exists(_))) => Code::Failed,
        Some(
            Error::Find(_)
            | Error::Transcript(_)
            | Error::NoTranscript { .. }
            | Error::Plugin(_)
            | Error::Worktree(_)
            | Error::Board(_)
            | Error::NothingToContinue(_)
            | Error::NothingToFork
            | Error::NothingToLookAt
            | Error::NothingToUndo
            | Error::NothingCovered(_)
            | Error::UndoableElsewhere { .. }
            | Error::NothingToRedo
            | Error::RedoNotKept(_)
            | Error::Jobs(_)
            | Error::SummedUp { .. },
        ) => Code::Failed,
        Some(Error::NoSuchTurn { .. } | Error::KeepsNothing(_) | Error::ForkOfTranscript(..)) => {
            Code::Usage
        }
        Some(Error::CommandRunning(_)) => Code::Busy,
        Some(Error::Snapshots(_) | Error::NotKept(_) | Error::Store(_) | Error::Ledger(_)) => {
            Code::Store
        }
        Some(Error::Runtime(_) | Error::AlreadyDriven | Error::Input(_)) => Code::Internal,
        None => Code::Failed,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
    };
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}

/// One line on standard error; if even that is closed, there is nobody to tell.
pub fn warn(text: &str) {
    let line = ostler::strip_terminal(text).replace('\n', " ");
    printer::print_error(&format!("ostler: {line}\n"));
}

/// How work is going, on standard error.
pub fn progress(text: &str) {
    let line = ostler::strip_terminal(text).replace('\n', " ");
    printer::print_error(&format!("{line}\n"));
}

/// What an event outside of a turn has to say, on standard error.
pub fn warn_of(event: &Event) {
    match event {
        Event::Notice { notice, .. } => warn(&event_words::notice(notice)),
        Event::MemoryChanged(change) => warn(&change.to_string()),
        _ => {}
    }
}

/// A defect of ours: say so in a line, without a stack.
pub fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    // The second reader of shell texts fails on some hostile ones. That is caught, and the text is asked about.
    if info.location().is_some_and(|place| place.file().contains("brush-parser")) {
        return;
    }
    let place = info
        .location()
        .map(|place| format!("{}:{}", place.file(), place.line()))
        .unwrap_or_default();
    let text = info.payload_as_str().unwrap_or("no message");
    warn(&format!(
        "internal error at {place}: {text}. The session is on disk; please report this."
    ));
}
