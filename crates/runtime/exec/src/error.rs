//! Why a command could not be run, in words that say what to do.

use std::io;
use std::path::PathBuf;

use crate::wire::{LaunchStage, WireFailure};

#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("no shell found: none of {tried} can be executed; install bash")]
    ShellMissing { tried: String },

    #[error("the command is not valid: {what}")]
    Invalid { what: String },

    #[error(
        "the command is too long: {bytes} bytes with its environment are more than the system \
         accepts; write the text to a file and run that"
    )]
    TooLong { bytes: usize },

    #[error("{} was not found, or the interpreter it names was not; check the path", program.display())]
    NotFound { program: PathBuf },

    #[error("{} cannot be executed ({source}); check that it is a program with execute permission", program.display())]
    NotExecutable { program: PathBuf, source: io::Error },

    #[error("the working directory {} cannot be entered ({source}); check that it exists", cwd.display())]
    Directory { cwd: PathBuf, source: io::Error },

    #[error("{} cannot be started: {step} failed ({source})", program.display())]
    Start { program: PathBuf, step: &'static str, source: io::Error },

    #[error("the sandbox cannot be set up, so the command was not run: {reason}")]
    Sandbox { reason: String },

    #[error("cannot {doing} ({source}); run fewer commands at once or raise the limit")]
    Resources { doing: &'static str, source: io::Error },

    #[error("the supervisor {} did not start: {reason}", program.display())]
    SupervisorStart { program: PathBuf, reason: String },

    #[error(
        "the supervisor process died while the command was running; the command was ended and \
         may have taken effect in part; the next command starts a new supervisor"
    )]
    SupervisorLost,

    #[error(
        "the supervisor process died {deaths} times within a few minutes; find out what ends it, \
         commands can run again in {seconds} s"
    )]
    SupervisorGivenUp { deaths: u32, seconds: u64 },

    #[error(
        "process {pid} does not end even after SIGKILL; it may hang in the kernel, look at it with ps"
    )]
    Unkillable { pid: i32 },

    #[error("commands have been shut down; no further ones are run")]
    Closed,

    #[error("some commands did not end within {seconds} s of being killed; look for them with ps")]
    StillEnding { seconds: u64 },
}

impl ExecError {
    pub(crate) fn from_failure(
        failure: WireFailure,
        program: PathBuf,
        cwd: PathBuf,
        bytes: usize,
        words: String,
    ) -> Self {
        let source = io::Error::from_raw_os_error(failure.errno);
        match (failure.stage, failure.errno) {
            (LaunchStage::Exec, libc::E2BIG) => ExecError::TooLong { bytes },
            (LaunchStage::Exec, libc::ENOENT | libc::ENOTDIR) => ExecError::NotFound { program },
            (LaunchStage::Exec, libc::EACCES | libc::ENOEXEC | libc::EISDIR | libc::EPERM) => {
                ExecError::NotExecutable { program, source }
            }
            (LaunchStage::Sandbox, errno) => {
                let reason =
                    if words.is_empty() && errno != 0 { source.to_string() } else { words };
                ExecError::Sandbox { reason }
            }
            (LaunchStage::Directory, _) => ExecError::Directory { cwd, source },
            (LaunchStage::Descriptors, _) => {
                ExecError::Resources { doing: "hand the command to the supervisor", source }
            }
            (LaunchStage::Fork, _) => {
                ExecError::Resources { doing: "create a process for the command", source }
            }
            (stage, _) => ExecError::Start { program, step: stage.name(), source },
        }
    }
}
