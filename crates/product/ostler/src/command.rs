//! One command of our own, started like every other.

use crate::error::Error;
use crate::init::Init;
use ostler_exec::{Command, ExecError, Executor, ExitStatus, bash};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Runs a shell command and waits for it; anything but success is an error with its output.
pub async fn run_command(
    init: &Init,
    script: &str,
    folder: &Path,
    environment: Vec<(OsString, OsString)>,
) -> Result<String, Error> {
    let executor = Executor::new(init.supervisor.clone());
    let command = bash(script, folder, environment);
    let finished =
        executor.run(command, |_| {}).await.map_err(|error| Error::Exec(error.to_string()))?;
    let text = finished.output.to_text();
    match finished.status.success() {
        true => Ok(text),
        false => Err(Error::Exec(format!("a command failed: {}", text.trim()))),
    }
}

/// A program that is run to its end, or killed.
pub struct ProgramRun {
    /// Its path and its arguments.
    pub words: (PathBuf, Vec<String>),
    pub folder: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    /// Its errors come with its output, in their order, and not at the end.
    pub joined: bool,
}

/// How a program ended.
pub struct ProgramEnd {
    /// None if a signal ended it.
    pub code: Option<i32>,
    pub errors: String,
}

/// Runs a program and gives its output on as it comes. If `kill` is ready first, the program is killed with
/// SIGKILL, which it cannot notice.
///
/// # Errors
/// If it cannot be started.
pub async fn run_program(
    init: &Init,
    run: ProgramRun,
    output: impl FnMut(&[u8]),
    kill: impl Future<Output = ()>,
) -> Result<ProgramEnd, Error> {
    let failed = |error: ExecError| Error::Exec(error.to_string());
    let (file, words) = run.words;
    let mut command = Command::new(file, run.folder);
    command.args = words.into_iter().map(OsString::from).collect();
    command.env = run.environment;
    command.separate_errors = !run.joined;
    let executor = Executor::new(init.supervisor.clone());
    let running = executor.spawn(command).await.map_err(failed)?;
    let pid = Pid::from_raw(running.pid());
    let ended = running.wait_with(output);
    tokio::pin!(ended);
    let report = tokio::select! {
        report = &mut ended => report,
        () = kill => {
            // Not waited for yet, so the number is still its own.
            pid.map(|pid| kill_process(pid, Signal::KILL));
            ended.await
        }
    };
    let report = report.map_err(failed)?;
    let code = match report.status {
        ExitStatus::Code(code) => Some(code),
        ExitStatus::Signal { .. } => None,
    };
    let errors = report.errors.map(|errors| errors.to_text()).unwrap_or_default();
    Ok(ProgramEnd { code, errors })
}

/// The part of an environment that commands may see: what is known to be needed and what is named, but no credentials
/// and nothing that changes how programs start.
pub fn allowed_environment(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    named: &[&str],
) -> Vec<(OsString, OsString)> {
    ostler_exec::allowed_environment(all.into_iter(), named)
}
