//! Bash: a command in a fresh shell.

mod background;
mod environment;
mod execution;
mod git;
mod group;
mod job_settling;
mod judge;
mod kept_job;
mod owed_inspections;
mod places;
mod readings;
mod report;
mod subtree;
mod undo;

use crate::ToolSetup;
use crate::confine::{ConfinedCommand, Confinement, ExactWrites, Inspection, Terms};
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use crate::workspace::Files;
use background::{Followed, job_limit};
use environment::CommandEnvironment;
pub use environment::{CommandVariables, may_set_variable};
use execution::Execution;
use group::KeptFolders;
pub use kept_job::{KeptJob, OwedInspection};
use ostler_core::event::Notice;
use ostler_core::ids::JobId;
use ostler_core::message::ResultPart;
use ostler_core::output_bound::bound;
use ostler_core::permission::{Access, Backing, Commands, Derived, Live, Policy, Workspace};
use ostler_core::ports::{Jobs, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use ostler_exec::{Command, CommandReport, ExecError, Executor, ExitStatus, bash};
use owed_inspections::CommandInspections;
pub use places::DiskPlaces;
use readings::Readings;
use report::CommandSummary;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
pub use undo::Keeping;
use undo::{Newcomer, Undo};

const DEFAULT_LIMIT: u64 = 120_000;
const MAX_LIMIT: u64 = 600_000;

/// Characters of output; what is longer is kept beside and shown by its ends.
const MAX_CHARS: usize = 30_000;

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
    /// Where commands go on in the background; none: they cannot.
    jobs: Option<Arc<dyn Jobs>>,
    /// Running jobs of which the person was told that they may change files beside commands.
    told_jobs: Mutex<Vec<JobId>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct BashInput {
    /// The shell command
    command: String,
    /// Time limit in milliseconds: 120000 if not given, at most 600000; in the background 300000, at most 86400000
    timeout: Option<u64>,
    /// What the command does, in a few words
    description: Option<String>,
    /// Return at once and let the command run on; you are told when it ends
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
        let (jobs, told_jobs) = Default::default();
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
            jobs,
            told_jobs,
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
        command.output = execution::LIMITS;
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
        let place = match check(&input).and_then(|()| self.place(&input)) {
            Ok(place) => place,
            Err(misuse) => return misuse,
        };
        let wish = self.wish(&cx);
        let (commands, environment) = (self.readings.of(&input.command), self.environment());
        let path = environment.programs(&commands);
        let terms = Terms::of(&commands, &cx.judged, path, lifts(&input));
        let inspections = match self.inspections(terms, place.is_some()) {
            Ok(inspections) => inspections,
            Err(why) => return ToolOutput::error(format!("The command was not run: {why}.")),
        };
        let CommandInspections { inspection, late } = inspections;
        let exact = || self.confinement.exact_writes(&commands, &cx.judged, lifts(&input));
        let exact = (cx.beside_others && place.is_none()).then(exact).flatten();
        let (command, only_reads) = (input.command.as_str(), commands.only_reads());
        let newcomer = Newcomer { command, only_reads, inspection };
        let kept = match self.undo.begin(newcomer, exact.as_ref(), &cx).await {
            Ok(kept) => kept,
            Err(refused) => return refused,
        };
        let held = match self.hold(terms, exact) {
            Ok(held) => held,
            Err(why) => return ToolOutput::error(format!("The command was not run: {why}.")),
        };
        let mut command = self.command(&input, &commands);
        let moves_after = self.moves_after(&input);
        if let Some(place) = &place {
            command.time_limit = Some(job_limit(&input, place));
        } else if moves_after.is_some() {
            command.time_limit = None;
        }
        self.confinement.confine(&mut command, &held);
        let oom_kills = if commands.only_reads() { None } else { ostler_exec::oom_kills() };
        let begun = BegunCommand { input, commands, held, late, kept, oom_kills };
        let place = match place {
            Some(place) if place.kept => return self.keep(begun, command, place, &cx).await,
            place => place,
        };
        let mut execution = match Execution::start(&self.executor, command).await {
            Ok(execution) => execution,
            Err(error) => return self.ended(begun, Err(error), cx).await,
        };
        match self.follow(&mut execution, place, (wish, moves_after), &cx).await {
            Followed::Ended(finished) => self.ended(begun, finished, cx).await,
            Followed::Moved { place, why } => self.detach(begun, execution, place, why, &cx).await,
        }
    }
}

/// A command that was let run, and what is settled after it.
struct BegunCommand {
    input: BashInput,
    commands: Arc<Commands>,
    held: ConfinedCommand,
    /// The look at what it changes in the background.
    late: Option<Inspection>,
    kept: KeptFolders,
    oom_kills: Option<u64>,
}

impl Bash {
    /// What became of a command that its call waited for.
    async fn ended(
        &self,
        begun: BegunCommand,
        finished: Result<CommandReport, ExecError>,
        cx: ToolContext,
    ) -> ToolOutput {
        let BegunCommand { input, commands, mut held, kept, oom_kills, .. } = begun;
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
        let beside = if kept.has_changes() { self.beside_jobs() } else { None };
        let told = stopped.clone().into_iter().chain(beside).map(about_command);
        let notices: Vec<Notice> = notices.chain(told).collect();
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
        let ToolSetup { files, executor, environment, policy, confinement, keeping, session } =
            setup.clone();
        let bash = Bash::new(files, executor, environment, policy, confinement, keeping);
        Some(erase(Bash { jobs: session.jobs, ..bash }))
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
        return misuse("`command` contains a NUL character. Remove it.");
    }
    if input.timeout == Some(0) {
        return misuse("`timeout` is in milliseconds and must be at least 1.");
    }
    Ok(())
}

fn limit(input: &BashInput) -> Duration {
    Duration::from_millis(input.timeout.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT))
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
