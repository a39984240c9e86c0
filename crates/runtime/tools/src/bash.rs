//! Bash: a command in a fresh shell.

mod environment;
mod git;
mod group;
mod judge;
mod places;
mod readings;
mod report;
mod subtree;
mod undo;

use crate::ToolSetup;
use crate::confine::{ConfinedCommand, Confinement, ExactWrites, Terms};
use crate::hypothetical_calls::Paper;
use crate::text::tail;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use crate::workspace::Files;
use environment::CommandEnvironment;
pub use environment::{CommandVariables, may_set_variable};
use ostler_core::event::Notice;
use ostler_core::message::ResultPart;
use ostler_core::output_bound::bound;
use ostler_core::permission::{Access, Backing, Commands, Derived, Live, Policy, Workspace};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use ostler_exec::{
    Command, CommandReport, ExecError, Executor, ExitStatus, OutputLimits, OutputProgress, bash,
};
pub use places::DiskPlaces;
use readings::Readings;
use report::CommandSummary;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
pub use undo::Keeping;
use undo::{Newcomer, Undo};

const DEFAULT_LIMIT: u64 = 120_000;
const MAX_LIMIT: u64 = 600_000;

/// Characters of output; what is longer is kept beside and shown by its ends.
const MAX_CHARS: usize = 30_000;

/// Of the output, this much is kept from each end, and a command that writes more than the total is ended.
/// The text is made of it while it is still held, so all of it counts twice.
const KEPT: OutputLimits = OutputLimits { head: 2 << 20, tail: 2 << 20, sink: 0, total: 1 << 30 };

/// Characters of the newest output shown while a command runs, and how often.
const PROGRESS: usize = 2_000;
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);

pub struct Bash {
    files: Arc<Files>,
    executor: Executor,
    environment: Live<CommandVariables>,
    /// The same for the directories and the environment there are now.
    derived: Derived<Workspace, Derived<CommandVariables, CommandEnvironment>>,
    policy: Live<Policy>,
    readings: Readings,
    confinement: Arc<Confinement>,
    /// The person was told once which layers are missing.
    announced: AtomicBool,
    undo: Undo,
}

#[derive(Deserialize, JsonSchema)]
pub struct BashInput {
    /// The shell command
    command: String,
    /// Time limit in milliseconds: 120000 if not given, at most 600000
    timeout: Option<u64>,
    /// What the command does, in a few words
    #[expect(
        dead_code,
        reason = "for whoever watches the calls; the command itself says what is run"
    )]
    description: Option<String>,
    /// Not available yet
    run_in_background: Option<bool>,
    /// Run outside the sandbox; the user is asked first. Only where the sandbox has refused what the command needs
    #[serde(rename = "dangerouslyDisableSandbox")]
    disable_sandbox: Option<bool>,
}

impl Bash {
    /// As it was judged; with `exact` only the files of its proof are writable for it.
    fn hold(
        &self,
        terms: Terms<'_>,
        exact: Option<ExactWrites>,
    ) -> Result<ConfinedCommand, String> {
        match exact {
            Some(exact) => self.confinement.held_exactly(terms, exact),
            None => self.confinement.held(terms),
        }
    }

    pub fn new(
        files: Arc<Files>,
        executor: Executor,
        environment: Live<CommandVariables>,
        policy: Live<Policy>,
        confinement: Arc<Confinement>,
        keeping: Keeping,
    ) -> Self {
        let derived = Derived::new(files.live_workspace().clone());
        let (readings, announced) = (Readings::default(), AtomicBool::new(false));
        let undo = Undo::new(keeping, Arc::clone(&files));
        Bash {
            files,
            executor,
            environment,
            derived,
            policy,
            readings,
            confinement,
            announced,
            undo,
        }
    }

    /// As it is for commands that start now.
    fn environment(&self) -> Arc<CommandEnvironment> {
        let by_variables = self.derived.get(|_| Derived::new(self.environment.clone()));
        let workspace = || self.files.workspace();
        by_variables.get(|given| CommandEnvironment::new(given.clone(), &workspace()))
    }

    /// What the person is told: what was put back, and once what the sandbox lacks, whoever allowed the command.
    fn notices(&self, only_reads: bool, put_back: &[String]) -> Vec<Notice> {
        let missing = self
            .confinement
            .not_enforced(only_reads)
            .filter(|_| !self.announced.swap(true, Ordering::Relaxed));
        let missing = missing.map(|missing| Notice::Sandbox { text: missing.announced() });
        missing.into_iter().chain(put_back.iter().cloned().map(about_command)).collect()
    }

    fn not_run(&self, error: &ExecError, notes: Vec<String>) -> ToolOutput {
        let notes = notes.into_iter().map(about_command);
        let notices = self.unheld(error).into_iter().chain(notes).collect();
        let told = format!("The command could not be run: {error}.");
        ToolOutput { notices, ..ToolOutput::error(told) }
    }

    /// A layer that was there and is gone, which only the person can change. Said once, too.
    fn unheld(&self, error: &ExecError) -> Option<Notice> {
        let ExecError::Sandbox { reason } = error else { return None };
        let is_new = !self.announced.swap(true, Ordering::Relaxed);
        let text = || format!("sandbox: {reason}; commands that need it are not run");
        is_new.then(|| Notice::Sandbox { text: text() })
    }

    /// Git is kept from running what a repository names, as far as what was allowed still works.
    fn command(&self, input: &BashInput, commands: &Commands) -> Command {
        let script = if commands.runs_git() {
            format!("{}{}", ostler_shell::GIT_PRELUDE, input.command)
        } else {
            input.command.clone()
        };
        let environment = self.environment();
        let environment = if commands.only_reads() {
            environment.for_proved()
        } else if commands.git_only_reads() {
            environment.with_reading_git()
        } else {
            environment.for_others()
        };
        let mut command = bash(&script, self.files.cwd(), environment);
        command.time_limit = Some(limit(input));
        command.output = KEPT;
        command
    }
}

impl BuiltIn for Bash {
    const NAME: &'static str = "Bash";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/bash.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Runs,
        subject: Subject::Inputs(&["command"]),
        ..ToolFacts::UNDECLARED
    };
    type Input = BashInput;

    fn access(&self, input: &BashInput) -> Result<Access, ToolOutput> {
        check(input)?;
        if lifts(input) && !self.confinement.options().may_lift {
            return Err(ToolOutput::misuse(
                "The settings do not let commands run outside the sandbox. Send it without dangerouslyDisableSandbox.",
            ));
        }
        let mut commands = Commands::clone(&self.readings.of(&input.command));
        let environment = self.environment();
        let places = DiskPlaces::new(&self.files, environment.programs(&commands));
        commands.look_up(&places);
        let hold = self.confinement.hold(&commands, lifts(input));
        let denials = self.confinement.denials(&commands, lifts(input));
        let policy = self.policy.now();
        let access = commands.access(&places, |tree| policy.spoken_of(tree));
        let unkept = self.undo.unkept(&access);
        let missing = self.confinement.not_whole(lifts(input));
        let missing = missing.or_else(|| self.undo.not_kept(&access));
        let backing = missing.map_or(Backing::Whole, Backing::Missing);
        self.undo.expect(&access, &input.command);
        Ok(Access { hold, denials, unkept, backing, ..access })
    }

    fn access_on_paper(input: &Value, paper: &Paper<'_>) -> Result<Access, String> {
        let text = input.get("command").and_then(Value::as_str).unwrap_or_default();
        let mut commands = ostler_shell::steps(text);
        commands.look_up(paper.places);
        Ok(commands.access(paper.places, |tree| paper.policy.spoken_of(tree)))
    }

    async fn run(&self, input: BashInput, cx: ToolContext) -> ToolOutput {
        if let Err(misuse) = check(&input) {
            return misuse;
        }
        let (commands, environment) = (self.readings.of(&input.command), self.environment());
        let path = environment.programs(&commands);
        let terms = Terms::of(&commands, &cx.judged, path, lifts(&input));
        let inspection = self.confinement.inspection(terms, self.undo.is_off(), || self.undo.now());
        let exact = || self.confinement.exact_writes(&commands, &cx.judged, lifts(&input));
        let exact = cx.beside_others.then(exact).flatten();
        let (command, only_reads) = (input.command.as_str(), commands.only_reads());
        let newcomer = Newcomer { command, only_reads, inspection };
        let kept = match self.undo.begin(newcomer, exact.as_ref(), &cx).await {
            Ok(kept) => kept,
            Err(refused) => return refused,
        };
        let mut held = match self.hold(terms, exact) {
            Ok(held) => held,
            Err(why) => return ToolOutput::error(format!("The command was not run: {why}.")),
        };
        let mut command = self.command(&input, &commands);
        self.confinement.confine(&mut command, &held);
        let oom_kills = if commands.only_reads() { None } else { ostler_exec::oom_kills() };
        let finished = execute(&self.executor, command, &cx).await;
        let mut notes = held.settle(|path| self.files.name(path));
        let kept = kept.end().await;
        if !kept.notes.is_empty() {
            self.confinement.forget_repositories();
            notes.extend(kept.notes.iter().cloned());
        }
        let finished = match finished {
            Ok(finished) => finished,
            Err(error) => return self.not_run(&error, notes),
        };
        let stopped = self.confinement.stopped(&finished);
        let untold = self.undo.untold().into_iter().map(about_command);
        let notices = untold.chain(self.notices(commands.only_reads(), &notes));
        let notices: Vec<Notice> = notices.chain(stopped.clone().map(about_command)).collect();
        notes.extend(held.denied(&finished));
        notes.extend(self.confinement.limit_hint(&finished, oom_kills));
        let one_is_an_answer = commands.only_reads()
            && finished.status == ExitStatus::Code(1)
            && judge::one_is_an_answer(&input.command);
        let limit = limit(&input);
        let short = finished.output.total() <= MAX_CHARS as u64;
        let show = move || {
            let report = CommandSummary::of(&finished, limit, one_is_an_answer);
            drop(finished);
            let ending = stopped.or(report.ending);
            shown(CommandSummary { notes, ending, ..report }, &cx)
        };
        if short {
            return ToolOutput { notices, ..kept.told(show()) };
        }
        // The text may be long and the store touches the disk.
        let output = tokio::task::spawn_blocking(show).await.unwrap_or_else(|error| {
            ToolOutput::error(format!("The output could not be shown: {error}"))
        });
        ToolOutput { notices, ..kept.told(output) }
    }
}

fn about_command(text: String) -> Notice {
    Notice::Command { text }
}

impl Shipped for Bash {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let ToolSetup { files, executor, environment, policy, confinement, keeping, .. } =
            setup.clone();
        Some(erase(Bash::new(files, executor, environment, policy, confinement, keeping)))
    }
}

/// The input of a call that runs this command, for callers other than a model.
pub fn command_input(command: &str, timeout: Duration) -> Value {
    json!({ "command": command, "timeout": timeout.as_millis() as u64 })
}

fn lifts(input: &BashInput) -> bool {
    input.disable_sandbox == Some(true)
}

fn check(input: &BashInput) -> Result<(), ToolOutput> {
    let misuse = |why: &str| Err(ToolOutput::misuse(why));
    if input.command.trim().is_empty() {
        return misuse("`command` is empty. Give a shell command.");
    }
    if input.command.contains('\0') {
        return misuse("`command` contains a NUL character. Send it without.");
    }
    if input.timeout == Some(0) {
        return misuse("`timeout` is in milliseconds and must be at least 1.");
    }
    if input.run_in_background == Some(true) {
        return misuse(
            "Running in the background is not available yet. Run the command in the foreground with a time limit, \
             without run_in_background.",
        );
    }
    Ok(())
}

fn limit(input: &BashInput) -> Duration {
    Duration::from_millis(input.timeout.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT))
}

async fn execute(
    executor: &Executor,
    command: Command,
    cx: &ToolContext,
) -> Result<CommandReport, ExecError> {
    let mut running = executor.spawn(command).await?;
    let newest = running.progress();
    tokio::select! {
        finished = running.wait() => finished,
        never = follow(newest, cx) => match never {},
    }
}

/// Hands on the newest output from time to time, however fast it comes.
async fn follow(
    mut newest: watch::Receiver<OutputProgress>,
    cx: &ToolContext,
) -> std::convert::Infallible {
    while newest.changed().await.is_ok() {
        let text = newest.borrow_and_update().text();
        cx.progress.tail(tail(&text, PROGRESS));
        tokio::time::sleep(PROGRESS_PAUSE).await;
    }
    std::future::pending().await
}

/// How it ended stands first and what the harness has to say last, also when the rest is too long to show.
fn shown(report: CommandSummary, cx: &ToolContext) -> ToolOutput {
    let body = bound(ToolOutput::text(report.body), MAX_CHARS, cx.blobs.as_ref());
    let body = body.content.iter().filter_map(|part| match part {
        ResultPart::Text { text } => Some(text.as_str()),
        ResultPart::Image(_) => None,
    });
    let notes = report.notes.iter().map(String::as_str);
    let parts = report.ending.iter().map(String::as_str).chain(body).chain(notes);
    let text = parts.collect::<Vec<_>>().join("\n");
    ToolOutput { is_error: report.is_error, detail: Some(report.detail), ..ToolOutput::text(text) }
}
