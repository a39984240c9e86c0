//! Builds a session from its options, what the host shares, and what its log contains.

use crate::error::Error;
use crate::hooks;
use crate::host::Host;
use crate::instructions_state::InstructionsState;
use crate::kit::{self, ToolChoice, check_tools, policy, toolbox};
use crate::learner::Learner;
use crate::log_choice::Opened;
use crate::memory::memories;
use crate::questions::QuestionDesk;
use crate::session::{Session, SessionShared};
use crate::session_events::{SessionEvents, Voices};
use crate::session_options::SessionOptions;
use crate::session_parts::SessionParts;
use crate::session_rules::RulesInForce;
use crate::skills::AgentHost;
use crate::spending;
use crate::system::SystemClock;
use crate::undo::UndoNews;
use crate::workspace::{at_home, workspace};
use ostler_core::event::Notice;
use ostler_core::ledger::Purse;
use ostler_core::permission::{Live, Policy, Workspace};
use ostler_core::ports::Model;
use ostler_core::rendering::SharedList;
use ostler_core::session::SessionRecord;
use ostler_core::tool_facts::ToolKind;
use ostler_core::turn::Limits;
use ostler_engine::{Agent, Controls, Gate, HookDesk, Journal, ModelChoice, ToolDesk, Toolbox};
use ostler_exec::Executor;
use ostler_memory::Memories;
use ostler_tools::confine::Confinement;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

const SYSTEM: &str = include_str!("../../../../prompts/system.md").trim_ascii();

/// What has to be right before a log is opened.
struct Checked {
    workspace: Workspace,
    policy: Arc<Policy>,
    choice: ModelChoice,
    has_budget: bool,
    notices: Vec<Notice>,
}

fn checked(host: &Host, options: &SessionOptions) -> Result<Checked, Error> {
    let workspace = workspace(host, options)?;
    let policy = Arc::new(policy(options, &workspace)?);
    let choice = choice(options);
    let has_budget = has_budget(host, options)?;
    check_prices(has_budget, &choice, host.model().as_ref())?;
    let notices = check_tools(options, &policy)?;
    Ok(Checked { workspace, policy, choice, has_budget, notices })
}

/// `open` gives the log once nothing is wrong with the options.
pub(crate) fn session(
    host: &Host,
    options: SessionOptions,
    open: impl FnOnce(&Host, &SessionOptions, &Path) -> Result<Opened, Error>,
) -> Result<Session, Error> {
    let Checked { mut workspace, policy, choice, has_budget, mut notices } =
        checked(host, &options)?;
    let Opened { loaded, blobs } = open(host, &options, &workspace.cwd)?;
    notices.extend(loaded.notices.into_iter().map(|text| Notice::SessionLog { text }));
    let log = loaded.log;
    let skills = at_home(host, &options, &policy, log.id(), &mut workspace)?;
    let source = hooks::source(&options.log, loaded.entries.is_empty());
    let folded = SessionRecord::fold_with(workspace.tools.clone(), loaded.entries);
    let scope = host.executor().scope();
    let confinement = confinement(scope.executor(), &options, &workspace, &policy);
    let registry = hooks::registry(host, &options, &scope, &workspace, log.id(), &confinement);
    let place = (host.home(), &options, &workspace);
    let rules = Live::from(policy.clone());
    let (files, keeping, unknown) =
        kit::files_of_session(place, &folded, log.id(), &rules, &confinement);
    notices.extend(unknown);
    let calendar = host.options().calendar.clone();
    let mut parts = SessionParts {
        in_use: ostler_tools::in_use(files.clone(), rules.clone(), &folded.seen),
        instructions: InstructionsState::new(&options, &policy, &workspace, calendar),
        memories: remembers(host, &options, host.home(), &workspace.cwd),
        undo_news: None,
        recalling: Mutex::default(),
        by_words: Arc::default(),
        rules: RulesInForce::new(&policy, &rules, &confinement, &keeping, options.late_tools),
        environment: options.environment.clone().into(),
        skills,
        confinement,
        registry,
        scope,
        has_budget,
        jobs: OnceLock::new(),
    };
    let journal = Journal::resumed(log.clone(), blobs, Arc::new(SystemClock), folded)
        .syncing_with(host.syncs());
    parts.undo_news = UndoNews::of(&keeping, &journal);
    let event_logs = host.home().filter(|_| options.event_log).map(|home| home.join("events"));
    let events = SessionEvents::new(log.id().clone(), event_logs.as_deref());
    parts.open_jobs(host, &options, &workspace, &journal, &events);
    let desk = QuestionDesk::new(events.clone(), options.question_deadline);
    let tools = toolbox(&options, &rules, parts.kit(files, keeping, log));
    let learner = parts.learner(&journal, &workspace);
    let gate = gate(&options, &policy, &workspace, desk.clone());
    let hooks = HookDesk::new(hooks::port(parts.registry.as_ref()), source);
    let made = Made { tools, gate, hooks, journal, learner: learner.clone() };
    let agent = Arc::new(made.agent(host, &options, choice, &workspace, &parts));
    restore_control(&agent, &options, &parts, &workspace)?;
    events.listen_to(Voices { skills: parts.skills.clone(), learner });
    parts.skills.serve(AgentHost::new(&agent));
    events.found_on_opening(notices.into_iter().chain(parts.instructions.serve(&agent)));
    let (voices, chosen) = ((events, desk), ToolChoice::new(&options, &policy));
    let origin = (host.clone(), Arc::new(options));
    Ok(Session::new(SessionShared::new(agent, workspace, parts, voices, chosen, origin)))
}

/// The parts of an agent that were made one by one.
struct Made {
    tools: Toolbox,
    gate: Gate,
    hooks: HookDesk,
    journal: Journal,
    learner: Option<Arc<Learner>>,
}

impl Made {
    fn agent(
        self,
        host: &Host,
        options: &SessionOptions,
        choice: ModelChoice,
        workspace: &Workspace,
        parts: &SessionParts,
    ) -> Agent {
        let Made { tools, gate, hooks, journal, learner } = self;
        let model: Arc<dyn Model> = host.model().clone();
        let window = tools.of_kind(ToolKind::Instructs).map(|_| model.info(&choice.primary).window);
        Agent {
            meter: spending::meter(host, options, &workspace.cwd, &journal),
            context: parts.context(&journal, &workspace.tools, window, learner),
            model,
            limits: limits(options, &choice),
            controls: Controls::new(choice, options.settings.thinking),
            system: system(options),
            tools: ToolDesk::new(tools, journal.listed_tools()),
            gate,
            hooks,
            journal,
            budget: purse(options),
            settings: options.settings.clone(),
        }
    }
}

/// A session that was made stricter stays so, and has the rules it was given. The model it was changed to counts where
/// nobody chose another one.
fn restore_control(
    agent: &Agent,
    options: &SessionOptions,
    parts: &SessionParts,
    workspace: &Workspace,
) -> Result<(), Error> {
    let Some(control) = agent.journal.control() else { return Ok(()) };
    if control.mode.is_stricter_than(options.mode) {
        agent.set_mode(control.mode);
    }
    if options.keep_model {
        agent.set_model(control.model);
        agent.set_thinking(control.thinking);
    }
    match control.rules.is_empty() {
        true => Ok(()),
        false => parts.rules.set(agent, workspace, control.rules),
    }
}

fn choice(options: &SessionOptions) -> ModelChoice {
    ModelChoice {
        primary: ostler_models::resolve_model(&options.model),
        fallback: options.fallback_model.as_deref().map(ostler_models::resolve_model),
    }
}

fn limits(options: &SessionOptions, choice: &ModelChoice) -> Limits {
    Limits {
        max_iterations: options.max_turns,
        may_escalate: options.settings.output_limit.is_none(),
        has_fallback: choice.fallback.is_some(),
        ..Limits::default()
    }
}

pub(crate) fn confinement(
    executor: &Executor,
    options: &SessionOptions,
    workspace: &Workspace,
    policy: &Policy,
) -> Arc<Confinement> {
    let (held_by, environment) = (options.sandbox.clone(), options.environment.clone());
    let made = Confinement::new(executor.clone(), held_by, workspace.clone(), environment);
    Arc::new(made.denying(policy))
}

fn gate(
    options: &SessionOptions,
    policy: &Policy,
    workspace: &Workspace,
    desk: Arc<QuestionDesk>,
) -> Gate {
    let approvals = options.approvals.clone();
    Gate::new(policy.clone(), options.mode, workspace.clone(), desk, approvals)
}

/// Without a home there is nothing that could outlive the session.
pub(crate) fn remembers(
    host: &Host,
    options: &SessionOptions,
    home: Option<&Path>,
    cwd: &Path,
) -> Option<Arc<Memories>> {
    let home = home.filter(|_| options.memory)?;
    Some(Arc::new(memories(home, cwd, host.options().embeddings.clone(), host.network())))
}

fn has_budget(host: &Host, options: &SessionOptions) -> Result<bool, Error> {
    let shared = host.options().budgets.any();
    let has_own =
        options.max_budget_usd.is_some() || options.purse.as_ref().is_some_and(Purse::is_limited);
    match shared && host.home().is_none() {
        true => Err(Error::NoLedger),
        false => Ok(shared || has_own),
    }
}

fn purse(options: &SessionOptions) -> Purse {
    match &options.purse {
        Some(shared) => shared.child(options.max_budget_usd),
        None => Purse::new(options.max_budget_usd),
    }
}

/// A budget that cannot be computed must be an error.
fn check_prices(has_budget: bool, choice: &ModelChoice, model: &dyn Model) -> Result<(), Error> {
    let models = [Some(&choice.primary), choice.fallback.as_ref()];
    match models.into_iter().flatten().find(|id| has_budget && model.info(id).price.is_none()) {
        Some(id) => Err(Error::NoPrice(id.to_string())),
        None => Ok(()),
    }
}

fn system(options: &SessionOptions) -> SharedList<String> {
    let first = options.system_prompt.clone().unwrap_or_else(|| SYSTEM.to_owned());
    [Some(first), options.append_system_prompt.clone()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect()
}
