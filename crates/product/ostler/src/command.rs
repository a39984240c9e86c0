//! One command of our own, started like every other.

use crate::error::Error;
use crate::init::Init;
use ostler_exec::{Executor, bash};
use std::ffi::OsString;
use std::path::Path;

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

/// The part of an environment that commands may see: what is known to be needed and what is named, but no credentials
/// and nothing that changes how programs start.
pub fn allowed_environment(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    named: &[&str],
) -> Vec<(OsString, OsString)> {
    ostler_exec::allowed_environment(all.into_iter(), named)
}
