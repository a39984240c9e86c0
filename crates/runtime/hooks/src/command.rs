//! Hooks that are commands: JSON in, an exit code and JSON out.

use crate::fault::HookFault;
use crate::payload::About;
use ostler_core::hook::{HookAnswer, HookEvent, HookOutcome, HookSpec, Stand, answered};
use ostler_exec::{Command, CommandReport, Executor, ExitStatus, OutputLimits};
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
pub(crate) struct HookRun {
    pub(crate) exit: String,
    pub(crate) exit_code: Option<i32>,
    /// The beginning of what it printed.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) answer: Result<HookOutcome, HookFault>,
}

impl HookRun {
    fn not_started(why: String) -> Self {
        HookRun {
            exit: "not started".into(),
            exit_code: None,
            stdout: String::new(),
            stderr: String::new(),
            answer: Err(HookFault::CannotStart(why)),
        }
    }
}

/// Characters of its output that those who watch are shown.
const SHOWN: usize = 10_000;

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(SHOWN).collect()
}

impl Runner {
    pub(crate) async fn run(
        &self,
        spec: &HookSpec,
        line: (&str, Option<&[String]>),
        about: &About,
        event: &HookEvent,
        payload: &str,
    ) -> HookRun {
        let command = match self.command(spec, line, about, payload) {
            Ok(command) => command,
            Err(why) => {
                return HookRun::not_started(why);
            }
        };
        match self.executor.run(command, |_| {}).await {
            Ok(finished) => {
                let exit = finished.status.to_string();
                let exit_code = match finished.status {
                    ExitStatus::Code(code) => Some(code),
                    _ => None,
                };
                let answer = answer(&finished, spec, line, event);
                let stderr = finished.errors.as_ref().map(|errors| shown(errors.head()));
                let (stdout, stderr) = (shown(finished.output.head()), stderr.unwrap_or_default());
                HookRun { exit, exit_code, stdout, stderr, answer }
            }
            Err(error) => HookRun::not_started(error.to_string()),
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
        if let Some(root) = &spec.plugin {
            for name in ["CLAUDE_PLUGIN_ROOT", "OSTLER_PLUGIN_ROOT"] {
                environment.retain(|(known, _)| known != name);
                environment.push((name.into(), root.into()));
            }
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

fn answer(
    finished: &CommandReport,
    spec: &HookSpec,
    line: (&str, Option<&[String]>),
    event: &HookEvent,
) -> Result<HookOutcome, HookFault> {
    if finished.timed_out {
        return Err(HookFault::Failed(format!("it took longer than {:?}", spec.limit())));
    }
    // It may have ended by itself before it could be ended for it.
    if finished.output_capped || finished.output.dropped() > 0 {
        return Err(HookFault::Failed(format!("it wrote more than {MOST} bytes")));
    }
    let output = String::from_utf8_lossy(finished.output.head());
    let errors = finished.errors.as_ref().map(|errors| String::from_utf8_lossy(errors.head()));
    let errors = errors.unwrap_or_default();
    if !matches!(finished.status, ExitStatus::Code(0))
        && output.trim().is_empty()
        && let Some(script) = missing_script(line, &errors)
    {
        return Err(HookFault::CannotStart(format!("{} ({script} is missing)", finished.status)));
    }
    let read = |refused| {
        let said = HookAnswer { refused, must_decide: false, output: &output, errors: &errors };
        answered(event, &spec.what(), &said).map_err(HookFault::Unclear)
    };
    match finished.status {
        ExitStatus::Code(0) => read(false),
        ExitStatus::Code(2) => read(true),
        // A deny that it printed counts, however it ended.
        status => match read(false) {
            Ok(outcome) if outcome.stand >= Stand::Block => Ok(outcome),
            _ => Err(failure(status, &errors)),
        },
    }
}

/// The status, and the last line that the command itself wrote about it.
fn failure(status: ExitStatus, errors: &str) -> HookFault {
    let said: String = errors.trim().lines().last().unwrap_or_default().chars().take(200).collect();
    let said = if said.is_empty() { said } else { format!(": {said}") };
    match status {
        ExitStatus::Code(126) => {
            HookFault::CannotStart(format!("{status} (it cannot be executed){said}"))
        }
        ExitStatus::Code(127) => {
            HookFault::CannotStart(format!("{status} (it or its interpreter is missing){said}"))
        }
        _ => HookFault::Failed(format!("{status}{said}")),
    }
}

/// How interpreters say that there is no file to run: what stands before and behind its name.
const NO_SCRIPT: [(&str, &str); 6] = [
    ("can't open file '", "': [Errno 2] No such file or directory"),
    ("Error: Cannot find module '", "'"),
    ("Can't open perl script \"", "\": No such file or directory"),
    ("ruby: No such file or directory -- ", " (LoadError)"),
    ("cannot open ", ": No such file"),
    ("error: Module not found \"", "\""),
];

/// The script of an interpreter's own line that is not there. Python and dash end with exit code 2 then, which is a
/// refusal only if the hook itself says it.
fn missing_script<'a>((line, args): (&str, Option<&[String]>), errors: &'a str) -> Option<&'a str> {
    let script = errors.lines().find_map(|said| {
        NO_SCRIPT.iter().find_map(|(before, behind)| {
            let (_, rest) = said.split_once(before)?;
            rest.split_once(behind).map(|(script, _)| script)
        })
    })?;
    let name = script.rsplit('/').next().filter(|name| !name.is_empty())?;
    let named = line.contains(name) || args.into_iter().flatten().any(|word| word.contains(name));
    named.then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_say_which_script_is_missing() {
        for (line, errors, script) in [
            (
                "python3 .claude/guard.py",
                "python3: can't open file '/p/.claude/guard.py': [Errno 2] No such file or directory",
                Some("/p/.claude/guard.py"),
            ),
            (
                "node $CLAUDE_PROJECT_DIR/guard.js",
                "node:internal/modules/cjs/loader:1\n  throw err;\n\nError: Cannot find module '/p/guard.js'\n    at x",
                Some("/p/guard.js"),
            ),
            (
                "perl guard.pl",
                "Can't open perl script \"guard.pl\": No such file or directory",
                Some("guard.pl"),
            ),
            ("ruby g.rb", "ruby: No such file or directory -- g.rb (LoadError)", Some("g.rb")),
            ("sh ./guard.sh", "sh: 0: cannot open ./guard.sh: No such file", Some("./guard.sh")),
            ("bun run g.ts", "error: Module not found \"g.ts\"", Some("g.ts")),
            // A module that the script itself misses, a file that it was to judge, and plain words.
            ("node guard.js", "Error: Cannot find module 'lodash'", None),
            (
                "./guard",
                "python3: can't open file '/p/x.py': [Errno 2] No such file or directory",
                None,
            ),
            ("python3 guard.py", "guard.py: cannot open it", None),
            ("python3 guard.py", "", None),
        ] {
            assert_eq!(missing_script((line, None), errors), script, "{line}");
        }
        let args = ["hooks/guard.py".to_owned()];
        let errors =
            "python3: can't open file '/p/hooks/guard.py': [Errno 2] No such file or directory";
        assert_eq!(missing_script(("python3", Some(&args)), errors), Some("/p/hooks/guard.py"));
    }
}
