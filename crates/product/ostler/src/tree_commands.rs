//! Commands that the harness runs in a worktree, in the sandbox that an agent has there.

use crate::error::Error;
use crate::host::Host;
use crate::sandbox::{Sandboxed, run_with};
use crate::session_options::SessionOptions;
use ostler_core::permission::Workspace;
use ostler_exec::strip_terminal;
use ostler_worktrees::{CommandFuture, TreeCommands, TreeRecord, Worktree, Worktrees};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Bytes of the output of a failed command that are reported: its end.
const REPORTED: usize = 2_000;
const MOST_TIME: Duration = Duration::from_secs(3600);

pub(crate) struct TreeRunner<'a> {
    host: &'a Host,
    trees: &'a Worktrees,
    session: &'a SessionOptions,
}

impl<'a> TreeRunner<'a> {
    /// For trees of sessions with these options.
    pub(crate) fn new(host: &'a Host, trees: &'a Worktrees, session: &'a SessionOptions) -> Self {
        TreeRunner { host, trees, session }
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
        let mut options = self.session.sandbox.clone();
        options.enabled = true;
        let policy = self.session.policy.covering_copy(&self.trees.repository().top, path);
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
        let run = run_with(self.host.executor(), place, &words, &mut sink, |_| {});
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
            home: self.host.options().user_home.clone(),
            ours: self.host.home().and_then(|home| home.canonicalize().ok()).into_iter().collect(),
            isolated: true,
            tools: ostler_tools::known_tools(),
            ..Workspace::default()
        }
    }

    fn environment(&self, record: &TreeRecord) -> Vec<(OsString, OsString)> {
        let variables = record.variables();
        let mut environment = self.session.environment.clone();
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
        let command = self.session.worktrees.setup.as_deref();
        Box::pin(self.run_command(tree.record(), command))
    }

    fn tear_down<'a>(&'a self, record: &'a TreeRecord) -> CommandFuture<'a> {
        let command = self.session.worktrees.teardown.as_deref();
        Box::pin(self.run_command(record, command))
    }
}
