//! Commands that the harness runs in a worktree, in the sandbox that an agent has there.

use crate::error::Error;
use crate::host::Host;
use crate::init::Init;
use crate::sandbox::{Sandboxed, run_with};
use crate::session_options::SessionOptions;
use crate::session_tree::TreeSettings;
use ostler_core::permission::{Policy, Workspace};
use ostler_exec::{Executor, strip_terminal};
use ostler_tools::confine::ConfineOptions;
use ostler_worktrees::{CommandFuture, TreeCommands, TreeRecord, Worktree, Worktrees};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of the output of a failed command that are reported: its end.
const REPORTED: usize = 2_000;
const MOST_TIME: Duration = Duration::from_secs(3600);

pub(crate) struct TreeRunner<'a> {
    executor: &'a Executor,
    trees: &'a Worktrees,
    settings: &'a TreeSettings,
    sandbox: &'a ConfineOptions,
    policy: &'a Policy,
    environment: &'a [(OsString, OsString)],
    user_home: &'a Path,
    /// Where we keep our state.
    home: Option<&'a Path>,
}

/// What the commands of a project need that are run outside of any session.
pub struct ProjectCommandOptions {
    /// Only what the person trusts.
    pub settings: TreeSettings,
    pub sandbox: ConfineOptions,
    pub policy: Policy,
    pub environment: Vec<(OsString, OsString)>,
    pub user_home: PathBuf,
    /// Where we keep our state.
    pub home: PathBuf,
}

/// Runs the commands of a project when its worktrees are removed by a person's command.
pub struct ProjectCommands {
    executor: Executor,
    options: ProjectCommandOptions,
}

impl ProjectCommands {
    pub fn new(init: &Init, options: ProjectCommandOptions) -> Self {
        ProjectCommands { executor: Executor::new(init.supervisor.clone()), options }
    }

    pub fn of<'a>(&'a self, trees: &'a Worktrees) -> impl TreeCommands + 'a {
        let ProjectCommandOptions { settings, sandbox, policy, environment, user_home, home } =
            &self.options;
        TreeRunner {
            executor: &self.executor,
            trees,
            settings,
            sandbox,
            policy,
            environment,
            user_home,
            home: Some(home),
        }
    }

    /// Ends whatever they left running.
    pub async fn close(self) {
        // If the supervisor does not answer, its socket closes with us, and it ends everything by itself.
        let _ = self.executor.shutdown().await;
    }
}

impl<'a> TreeRunner<'a> {
    /// For trees of sessions with these options.
    pub(crate) fn new(host: &'a Host, trees: &'a Worktrees, session: &'a SessionOptions) -> Self {
        TreeRunner {
            executor: host.executor(),
            trees,
            settings: &session.worktrees,
            sandbox: &session.sandbox,
            policy: &session.policy,
            environment: &session.environment,
            user_home: &host.options().user_home,
            home: host.home(),
        }
    }

    /// None if it succeeds; else its exit code and the end of its output.
    ///
    /// # Errors
    /// If it could not be run in the sandbox.
    pub(crate) async fn run(
        &self,
        record: &TreeRecord,
        command: &str,
    ) -> Result<Option<String>, Error> {
        self.run_at(&record.path, record, command).await
    }

    /// The same in another checkout of the repository, which then is all that it can write. Name and ports are still those
    /// of the tree.
    ///
    /// # Errors
    /// If it could not be run in the sandbox.
    pub(crate) async fn run_at(
        &self,
        path: &Path,
        record: &TreeRecord,
        command: &str,
    ) -> Result<Option<String>, Error> {
        let access = self.trees.access_of(path).await?;
        let mut options = self.sandbox.clone();
        options.enabled = true;
        let policy = self.policy.covering_copy(&self.trees.repository().top, path);
        let place = Sandboxed {
            options,
            workspace: self.workspace(path),
            policy: &policy,
            environment: self.environment(record),
            access: Some(&access),
        };
        let mut output = Vec::new();
        let mut sink = |bytes: &[u8]| {
            output.extend_from_slice(bytes);
            let surplus = output.len().saturating_sub(REPORTED);
            output.drain(..surplus);
            true
        };
        let words = [command.to_owned()];
        let run = run_with(self.executor, place, &words, &mut sink, |_| {});
        let end = match tokio::time::timeout(MOST_TIME, run).await {
            Ok(code) => match code? {
                0 => return Ok(None),
                code => format!("exit code {code}"),
            },
            Err(_) => format!("it did not end within {} s", MOST_TIME.as_secs()),
        };
        let said = strip_terminal(&String::from_utf8_lossy(&output)).trim().to_owned();
        Ok(Some(format!("{end}\n{said}").trim_end().to_owned()))
    }

    fn workspace(&self, path: &Path) -> Workspace {
        Workspace {
            cwd: path.to_path_buf(),
            roots: vec![path.to_path_buf()],
            home: self.user_home.to_path_buf(),
            ours: self.home.and_then(|home| home.canonicalize().ok()).into_iter().collect(),
            isolated: true,
            tools: ostler_tools::known_tools(),
            ..Workspace::default()
        }
    }

    fn environment(&self, record: &TreeRecord) -> Vec<(OsString, OsString)> {
        let variables = record.variables();
        let mut environment = self.environment.to_vec();
        environment.retain(|(name, _)| !variables.iter().any(|(own, _)| own == name));
        environment.extend(variables);
        environment
    }
}

impl TreeRunner<'_> {
    async fn run_command(&self, record: &TreeRecord, command: Option<&str>) -> Result<(), String> {
        let Some(command) = command else { return Ok(()) };
        match self.run(record, command).await {
            Ok(None) => Ok(()),
            Ok(Some(report)) => Err(report.split_whitespace().collect::<Vec<_>>().join(" ")),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl TreeCommands for TreeRunner<'_> {
    fn set_up<'a>(&'a self, tree: &'a Worktree) -> CommandFuture<'a> {
        let command = self.settings.setup.as_deref();
        Box::pin(self.run_command(tree.record(), command))
    }

    fn tear_down<'a>(&'a self, record: &'a TreeRecord) -> CommandFuture<'a> {
        let command = self.settings.teardown.as_deref();
        Box::pin(self.run_command(record, command))
    }
}
