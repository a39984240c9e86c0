//! What to run, and within which bounds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::ExecError;
use crate::sandbox::Sandbox;

/// One command. Program and directory are absolute paths; the environment is complete.
#[derive(Debug, Clone)]
pub struct Command {
    pub program: PathBuf,
    /// The arguments after the program's own name.
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub limits: ProcessLimits,
    /// Ends the command by the ladder when it runs longer than this.
    pub time_limit: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    pub output: OutputLimits,
    /// What it reads from standard input, at most [`MAX_INPUT`] bytes; without it that is empty.
    pub input: Option<Vec<u8>>,
    /// Standard input and output are pipes for the caller, who takes them with
    /// [`RunningCommand::take_pipes`](crate::RunningCommand::take_pipes). Nothing of the output is captured then, and
    /// the progress shows standard error.
    pub piped: bool,
    /// Standard error is kept apart, in [`CommandReport::errors`](crate::CommandReport::errors); the sink and
    /// the progress then show standard output only.
    pub separate_errors: bool,
    /// What it may touch; without it, what the user may.
    pub sandbox: Option<Arc<Sandbox>>,
    /// A script that is too long for an argument; the shell reads it from a descriptor.
    pub(crate) script: Option<Vec<u8>>,
}

impl Command {
    pub fn new(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            limits: ProcessLimits::default(),
            time_limit: None,
            grace: Duration::from_secs(2),
            output: OutputLimits::default(),
            input: None,
            piped: false,
            separate_errors: false,
            sandbox: None,
            script: None,
        }
    }
}

/// Resource limits; each is set only if asked for. Core files are always off.
///
/// A limit above what the process may have anyway is lowered to that. The system does not apply
/// `processes` to root. `memory` and `tasks` cover the command with everything it starts: a control
/// group enforces them where one can be had, otherwise the supervisor looks at the processes a few
/// times a second and kills the command (see `docs/sandbox.md`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of address space, for each process of the command.
    pub address_space: Option<u64>,
    /// Processes and threads of the *user*, not only of this command.
    pub processes: Option<u64>,
    pub open_files: Option<u64>,
    /// Bytes in any one file it writes.
    pub file_size: Option<u64>,
    /// Bytes of memory of all its processes together.
    pub memory: Option<u64>,
    /// All its processes and threads together.
    pub tasks: Option<u64>,
}

/// How much of the output is kept, shown and tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes kept from the beginning.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
    /// Bytes handed to the sink; later ones are only counted.
    pub sink: u64,
    /// Bytes after which the command is ended.
    pub total: u64,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { head: 15_000, tail: 15_000, sink: 1 << 30, total: 1 << 30 }
    }
}

const SHELLS: [&str; 2] = ["/bin/bash", "/usr/bin/bash"];

/// The longest script that is passed as an argument. Linux refuses single arguments of 32 pages.
const SCRIPT_AS_ARGUMENT: usize = 120_000;

/// The longest standard input.
pub const MAX_INPUT: usize = 8 << 20;

/// The longest script at all.
pub(crate) const MAX_SCRIPT: usize = 1 << 20;

/// The descriptor on which a long script is handed over.
pub(crate) const SCRIPT_FD: i32 = 3;

// The substitution is expanded first, so the descriptor is closed before the script starts and
// its children do not see it.
const LOADER: &str = r#"eval "exec 3<&-; $(</dev/fd/3)""#;

/// The shell, for a check at start-up.
pub fn find_bash() -> Result<PathBuf, ExecError> {
    find_shell(&SHELLS.map(Path::new))
}

fn find_shell(candidates: &[&Path]) -> Result<PathBuf, ExecError> {
    match candidates.iter().find(|path| is_executable(path)) {
        Some(path) => Ok(path.to_path_buf()),
        None => {
            let tried: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
            Err(ExecError::ShellMissing { tried: tried.join(", ") })
        }
    }
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// A script for bash, which reads no start-up files. If there is no bash, starting it fails with
/// [`ExecError::NotFound`]; [`find_bash`] tells beforehand.
pub fn bash(script: &str, cwd: impl Into<PathBuf>, env: Vec<(OsString, OsString)>) -> Command {
    let [first, second] = SHELLS.map(Path::new);
    let shell = if is_executable(first) || !is_executable(second) { first } else { second };
    let mut command = Command::new(shell, cwd);
    command.env = env;
    command.args = ["--norc", "--noprofile", "-c", "--"].map(OsString::from).to_vec();
    if script.len() > SCRIPT_AS_ARGUMENT {
        command.args.push(LOADER.into());
        command.script = Some(script.as_bytes().to_vec());
    } else {
        command.args.push(script.into());
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_first_executable_shell_is_taken_and_its_absence_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str, mode: u32| {
            let path = dir.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (plain, shell) = (path("plain", 0o644), path("shell", 0o755));
        let missing = dir.path().join("missing");

        assert_eq!(find_shell(&[&missing, &plain, &shell]).unwrap(), shell);
        let error = find_shell(&[&missing, &plain, dir.path()]).unwrap_err();
        assert!(matches!(error, ExecError::ShellMissing { .. }));
        assert!(error.to_string().contains(plain.to_str().unwrap()));
    }

    #[test]
    fn a_long_script_does_not_travel_as_an_argument() {
        let short = bash("echo 1", "/", Vec::new());
        assert_eq!(short.args.last().unwrap(), "echo 1");
        assert!(short.script.is_none());

        let text = ":;".repeat(100_000);
        let long = bash(&text, "/", Vec::new());
        assert_eq!(long.args.last().unwrap(), LOADER);
        assert_eq!(long.script.unwrap(), text.as_bytes());
    }
}
