//! The command with which merged files are checked.

use crate::exit::warn;
use anyhow::Result;
use ostler::worktrees::{Check, CheckFuture, ObjectId, Verdict, Worktrees};
use ostler_profile::{Environment, Flags, Profile};
use std::path::Path;

/// Bytes of the output of a failed check that are reported: its end.
const REPORTED: usize = 2_000;

/// The user's command, in the sandbox, with nothing writable but the merged files.
pub struct CommandCheck<'a> {
    init: &'a ostler::Init,
    trees: &'a Worktrees,
    profile: Profile,
    command: &'a str,
}

impl<'a> CommandCheck<'a> {
    pub fn new(
        init: &'a ostler::Init,
        environment: &Environment,
        trees: &'a Worktrees,
        command: &'a str,
        network: bool,
    ) -> Result<Self> {
        let profile = Profile::load(environment, Flags { network, ..Flags::default() })?;
        for notice in profile.notices() {
            warn(&notice);
        }
        Ok(CommandCheck { init, trees, profile, command })
    }

    async fn verdict(&self, files: &Path) -> Result<Verdict> {
        let mut workspace = self.profile.workspace();
        workspace.cwd = files.to_path_buf();
        workspace.roots = vec![files.to_path_buf()];
        let access = self.trees.access_of(files).await?;
        let place = ostler::Sandboxed {
            options: self.profile.sandbox(),
            workspace,
            policy: &self.profile.loaded.policy,
            environment: self.profile.environment.for_commands(&self.profile.loaded.env),
            access: Some(&access),
        };
        let mut output = Vec::new();
        let sink = |bytes: &[u8]| {
            output.extend_from_slice(bytes);
            let surplus = output.len().saturating_sub(REPORTED);
            output.drain(..surplus);
            true
        };
        let words = [self.command.to_owned()];
        let code = ostler::run_sandboxed(self.init, place, &words, sink, warn).await?;
        if code == 0 {
            return Ok(Verdict::Green);
        }
        let said = ostler::strip_terminal(&String::from_utf8_lossy(&output));
        let report = format!("exit code {code}\n{said}");
        Ok(Verdict::Red { report: report.trim().to_owned() })
    }
}

impl Check for CommandCheck<'_> {
    fn check<'a>(&'a mut self, files: &'a Path, _commit: &'a ObjectId) -> CheckFuture<'a> {
        Box::pin(async move {
            let verdict = self.verdict(files).await;
            verdict.unwrap_or_else(|error| Verdict::Unable {
                why: format!("cannot run the check: {error:#}"),
            })
        })
    }
}
