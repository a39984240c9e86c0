//! The sandbox without a session: one command in it, and a test of its layers.

use crate::{Confinement, Error, Init};
use ostler_core::permission::{Policy, Workspace};
use ostler_exec::{Executor, ExitStatus, Mechanism, Sandbox, bash};
use ostler_tools::confine::{ConfineOptions, Missing, Terms};
use ostler_worktrees::TreeAccess;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// What a command outside of any session is given, and what it is kept from.
pub struct Sandboxed<'a> {
    pub options: ConfineOptions,
    pub workspace: Workspace,
    pub policy: &'a Policy,
    pub environment: Vec<(OsString, OsString)>,
    /// Of a worktree: narrows the sandbox to its files.
    pub access: Option<&'a TreeAccess>,
}

/// Runs a shell text, or a program with its arguments, as commands of an agent are run, without standard input, and hands
/// its output on as it comes until `sink` says that nobody reads it any more; then it is ended. `warn` gets what the
/// sandbox cannot enforce on this machine. Gives the exit code.
/// Files that deny rules of the policy cover are hidden from it or cannot be changed, as for an agent.
///
/// # Errors
/// If it could not be started, or not be held as the options say.
pub async fn run_sandboxed(
    init: &Init,
    place: Sandboxed<'_>,
    words: &[String],
    mut sink: impl FnMut(&[u8]) -> bool + Send,
    warn: impl FnOnce(&str),
) -> Result<i32, Error> {
    let executor = Executor::new(init.supervisor.clone());
    let code = run_with(&executor, place, words, &mut sink, warn).await;
    let _ = executor.shutdown().await;
    code
}

/// The same with a supervisor that runs already.
pub(crate) async fn run_with(
    executor: &Executor,
    place: Sandboxed<'_>,
    words: &[String],
    sink: &mut (dyn FnMut(&[u8]) -> bool + Send),
    warn: impl FnOnce(&str),
) -> Result<i32, Error> {
    let Sandboxed { options, workspace, policy, environment, access } = place;
    let cwd = workspace.cwd.clone();
    let confinement =
        Confinement::new(executor.clone(), options, workspace, environment.clone()).denying(policy);
    let wrong = |why: String| Error::Exec(why);
    // A person who calls for the sandbox does not want to run without one.
    match confinement.missing() {
        None => {}
        Some(missing @ Missing::Bubblewrap(_)) => warn(&missing.announced()),
        Some(missing) => return Err(wrong(missing.plainly())),
    }
    let mut held = confinement.held(Terms::default()).map_err(wrong)?;
    let mut command = match words {
        [text] => bash(text, cwd, environment),
        _ => {
            let mut command = bash("\"$0\" \"$@\"", cwd, environment);
            command.args.extend(words.iter().map(OsString::from));
            command
        }
    };
    command.output.total = u64::MAX;
    command.output.sink = u64::MAX;
    confinement.confine(&mut command, &held);
    if let (Some(access), Some(sandbox)) = (access, &command.sandbox) {
        let mut narrowed = Sandbox::clone(sandbox);
        access.apply(&mut narrowed);
        command.sandbox = Some(Arc::new(narrowed));
    }
    let failed = |error: ostler_exec::ExecError| wrong(error.to_string());
    let running = executor.spawn(command).await.map_err(failed)?;
    let stopper = running.stopper();
    let show = |bytes: &[u8]| {
        if !sink(bytes) {
            stopper.stop();
        }
    };
    let finished = running.wait_with(show).await.map_err(failed)?;
    let mut put_back = held.settle(|path| path.display().to_string());
    put_back.extend(confinement.stopped(&finished));
    if !put_back.is_empty() {
        return Err(wrong(put_back.join(" ")));
    }
    Ok(match finished.status {
        ExitStatus::Code(code) => code,
        ExitStatus::Signal { number, .. } => 128 + number,
    })
}

/// A layer, or one thing it is to refuse.
#[derive(Clone, Debug)]
pub struct Tested {
    pub name: String,
    /// What was found, or why it is missing or does not hold.
    pub outcome: Result<String, String>,
}

/// Looks for every layer and has it refuse something for real. `scratch` is where it may make a directory for that.
pub async fn test_sandbox(init: &Init, scratch: &Path) -> Vec<Tested> {
    let executor = Executor::new(init.supervisor.clone());
    let found = executor.probe().await;
    let mut tested = Vec::new();
    for (name, refused) in ostler_exec::self_test(&executor, scratch).await {
        let there = match name {
            "Landlock" => {
                found.landlock.as_ref().ok().map(|version| format!("version {version}, "))
            }
            "bubblewrap" => {
                found.bubblewrap.as_ref().ok().map(|path| format!("{}, ", path.display()))
            }
            _ => None,
        };
        let said = format!("{}works (tested)", there.unwrap_or_default());
        tested.push(Tested { name: name.into(), outcome: refused.map(|()| said) });
    }
    let _ = executor.shutdown().await;
    tested.push(Tested { name: "limits".into(), outcome: Ok(limits()) });
    tested
}

/// What enforces the limits of memory and processes of commands.
fn limits() -> String {
    match ostler_exec::limit_mechanism() {
        Mechanism::ControlGroup(path) => {
            format!(
                "the kernel limits memory and processes, by control groups in {}",
                path.display()
            )
        }
        Mechanism::Watched(why) => {
            format!("the supervisor checks memory and processes four times a second: {why}")
        }
    }
}
