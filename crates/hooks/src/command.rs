//! Hooks that are commands: JSON in, an exit code and JSON out.

use crate::fault::Fault;
use crate::payload::About;
use ostler_core::hook::{HookEvent, HookSpec, Outcome, Said, answered};
use ostler_exec::{Command, Executor, ExitStatus, Finished, OutputLimits};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// Has the last word on a hook's command before it starts: this is where a sandbox is put around it. An error says why
/// the hook must not run.
pub type Prepare = Arc<dyn Fn(&HookSpec, &mut Command) -> Result<(), String> + Send + Sync>;

/// Bytes of its output and of its errors, each. A hook that writes more is ended.
const MOST: usize = 1 << 20;
/// Between asking it to end and ending it.
const GRACE: Duration = Duration::from_millis(200);

#[derive(Clone)]
pub(crate) struct Runner {
    pub(crate) executor: Executor,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) prepare: Option<Prepare>,
}

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) exit: String,
    pub(crate) answer: Result<Outcome, Fault>,
}

impl Runner {
    pub(crate) async fn run(
        &self,
        spec: &HookSpec,
        line: (&str, Option<&[String]>),
        about: &About,
        event: &HookEvent,
        payload: &str,
    ) -> Ran {
        let command = match self.command(spec, line, about, payload) {
            Ok(command) => command,
            Err(why) => {
                return Ran { exit: "not started".into(), answer: Err(Fault::CannotStart(why)) };
            }
        };
        match self.executor.run(command, |_| {}).await {
            Ok(finished) => {
                let exit = finished.status.to_string();
                Ran { exit, answer: answer(&finished, spec, event) }
            }
            Err(error) => {
                let fault = Fault::CannotStart(error.to_string());
                Ran { exit: "not started".into(), answer: Err(fault) }
            }
        }
    }

    fn command(
        &self,
        spec: &HookSpec,
        (line, args): (&str, Option<&[String]>),
        about: &About,
        payload: &str,
    ) -> Result<Command, String> {
        let mut environment = self.environment.clone();
        for name in ["CLAUDE_PROJECT_DIR", "OSTLER_PROJECT_DIR"] {
            environment.retain(|(known, _)| known != name);
            environment.push((name.into(), about.project.clone().into()));
        }
        let mut command = match args {
            None => ostler_exec::bash(line, &about.cwd, environment),
            Some(args) => {
                let mut command = ostler_exec::bash(r#"exec "$0" "$@""#, &about.cwd, environment);
                command.args.push(line.into());
                command.args.extend(args.iter().map(OsString::from));
                command
            }
        };
        command.input = Some(payload.as_bytes().to_vec());
        command.separate_errors = true;
        command.time_limit = Some(spec.limit());
        command.grace = GRACE;
        command.output = OutputLimits { head: MOST, tail: 0, sink: 0, total: MOST as u64 };
        if let Some(prepare) = &self.prepare {
            prepare(spec, &mut command)?;
        }
        Ok(command)
    }
}

fn answer(finished: &Finished, spec: &HookSpec, event: &HookEvent) -> Result<Outcome, Fault> {
    if finished.timed_out {
        return Err(Fault::Failed(format!("it took longer than {:?}", spec.limit())));
    }
    if finished.output_capped {
        return Err(Fault::Failed(format!("it wrote more than {MOST} bytes")));
    }
    let output = String::from_utf8_lossy(finished.output.head());
    let errors = finished.errors.as_ref().map(|errors| String::from_utf8_lossy(errors.head()));
    let errors = errors.unwrap_or_default();
    let refused = match finished.status {
        ExitStatus::Code(0) => false,
        ExitStatus::Code(2) => true,
        status => return Err(failure(status, &errors)),
    };
    let said = Said { refused, must_decide: false, output: &output, errors: &errors };
    answered(event, &spec.what(), &said).map_err(Fault::Unclear)
}

/// The status, and the last line that the command itself wrote about it.
fn failure(status: ExitStatus, errors: &str) -> Fault {
    let said: String = errors.trim().lines().last().unwrap_or_default().chars().take(200).collect();
    let said = if said.is_empty() { said } else { format!(": {said}") };
    match status {
        ExitStatus::Code(126) => {
            Fault::CannotStart(format!("{status} (it cannot be executed){said}"))
        }
        ExitStatus::Code(127) => {
            Fault::CannotStart(format!("{status} (it or its interpreter is missing){said}"))
        }
        _ => Fault::Failed(format!("{status}{said}")),
    }
}
