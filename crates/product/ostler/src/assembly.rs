//! Builds a session from its options, what the host shares, and what its log contains.

use crate::error::Error;
use crate::hooks;
use crate::host::Host;
use crate::instructions_state::InstructionsState;
use crate::kit::{self, ToolChoice, check_tools, toolbox};
use crate::learner::Learner;
use crate::log_choice::{self, Opened};
use crate::mcp::SessionServers;
use crate::memory::memories;
use crate::questions::QuestionDesk;
use crate::session::{Session, SessionShared};
use crate::session_directories::SessionDirectories;
use crate::session_events::SessionEvents;
use crate::session_mode::SessionMode;
use crate::session_options::SessionOptions;
use crate::session_parts::SessionParts;
use crate::session_reach::SessionReach;
use crate::session_rules::RulesInForce;
use crate::spending;
use crate::subagents::{Lineage, Subagents};
use crate::system::SystemClock;
use crate::workspace::{at_home, workspace_and_rules};
use ostler_core::event::Notice;
use ostler_core::ids::SessionId;
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
use ostler_tools::CommandVariables;
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
    let (workspace, policy) = workspace_and_rules(host, options)?;
    let choice = choice(options);
    let has_budget = has_budget(host, options)?;
    check_prices(has_budget, &choice, host.model().as_ref())?;
    let notices = check_tools(options, &policy)?;
    options.team.check(host.home())?;
    Ok(Checked { workspace, policy, choice, has_budget, notices })
}

/// `open` gives the log once nothing is wrong with the options.
pub(crate) fn session(
    host: &Host,
    options: SessionOptions,
    open: impl FnOnce(&Host, &SessionOptions, &Path) -> Result<Opened, Error>,
) -> Result<Session, Error> {
    assembled(host, options.with_room_for_servers(), None, open)
}

/// The session of an agent that another session starts, or resumes.
pub(crate) fn child(
    host: &Host,
    options: SessionOptions,
    lineage: Lineage,
    resumed: Option<&SessionId>,
) -> Result<Session, Error> {
    assembled(host, options.with_room_for_servers(), Some(&lineage), |host, _, cwd| match resumed {
        Some(id) => log_choice::open_known(host, id),
        None => log_choice::open_child(host, cwd, lineage.started_by()),
    })
}

fn assembled(
    host: &Host,
    options: SessionOptions,
    lineage: Option<&Lineage>,
    open: impl FnOnce(&Host, &SessionOptions, &Path) -> Result<Opened, Error>,
) -> Result<Session, Error> {
    let Checked { mut workspace, policy, choice, has_budget, mut notices } =
        checked(host, &options)?;
    let Opened { loaded, blobs } = open(host, &options, &workspace.cwd)?;
    notices.extend(loaded.notices.into_iter().map(|text| Notice::SessionLog { text }));
    let (log, scope) = (loaded.log, host.executor().scope());
    let skills = at_home(host, &options, &policy, log.id(), &mut workspace)?;
    let source = hooks::source(&options.log, loaded.entries.is_empty());
    let folded = SessionRecord::fold_with(workspace.tools.clone(), loaded.entries);
    let (at, rules) = (Live::from(workspace.clone()), Live::from(policy.clone()));
    let environment = options.environment.clone().into();
    let confinement = confinement(scope.executor(), &options, &at, &environment, &policy);
    let (named, place) = ((log.id(), lineage), (host, &options, &at));
    let registry = hooks::registry(host, &options, &scope, &workspace, named, &confinement);
    let (files, keeping, unknown) =
        kit::files_of_session(place, &folded, log.id(), &rules, &confinement);
    notices.extend(unknown);
    let mut parts = SessionParts {
        in_use: ostler_tools::in_use(files.clone(), rules.clone(), &folded.seen),
        instructions: InstructionsState::new(host, &options, &policy, &at),
        memories: remembers(host, &options, host.home(), options.project(&workspace.cwd)),
        undo_news: None,
        recalling: Mutex::default(),
        by_words: Arc::default(),
        rules: RulesInForce::new(&policy, &rules, &confinement, &keeping, options.late_tools),
        directories: SessionDirectories::new(host, (&at, &rules), &files, &keeping, &confinement),
        servers: SessionServers::new(host, &options, (&at, &environment), &policy),
        environment,
        reach: SessionReach::new(host, &options, lineage.is_some()),
        subagents: Subagents::new(&options, lineage),
        skills,
        confinement,
        registry,
        scope,
        has_budget,
        jobs: OnceLock::new(),
        team: OnceLock::new(),
        board: OnceLock::new(),
    };
    let journal = Journal::resumed(log.clone(), blobs, Arc::new(SystemClock), folded)
        .syncing_with(host.syncs());
    let (events, desk) = voices(host, &options, log.id(), lineage);
    parts.join_log(host, (&options, &workspace), &keeping, &journal, &events);
    let tools = toolbox(&options, &rules, parts.kit((files, keeping), log, lineage));
    let learner = parts.learner(&journal, &workspace);
    let gate = gate(&options, &policy, &at, desk.clone(), lineage);
    let hooks = hooks::desk(host, parts.registry.as_ref(), source, journal.log().id(), lineage);
    let made = Made { tools, gate, hooks, journal, learner: learner.clone() };
    let agent = Arc::new(made.agent(host, (&options, lineage), choice, &workspace, &parts));
    notices.extend(restore_control(&agent, &options, &parts, &workspace)?);
    parts.serve(&agent, &workspace, &events, learner);
    events.found_on_opening(notices.into_iter().chain(parts.instructions.serve(&agent)));
    let (chosen, origin) = (ToolChoice::new(&options, &policy), (host.clone(), Arc::new(options)));
    Ok(serving(SessionShared::new(agent, at, parts, (events, desk), chosen, origin)))
}

fn serving(shared: SessionShared) -> Session {
    let session = SessionMode::serving(Subagents::serving(Session::new(shared)));
    session.serve_mcp();
    session
}

/// What is said, and where a person answers: for all agents at the desk of the first of them.
fn voices(
    host: &Host,
    options: &SessionOptions,
    id: &SessionId,
    lineage: Option<&Lineage>,
) -> (Arc<SessionEvents>, Arc<QuestionDesk>) {
    let logs = host.home().filter(|_| options.event_log).map(|home| home.join("events"));
    let events = SessionEvents::new(id.clone(), logs.as_deref());
    let desk = match lineage {
        Some(lineage) => lineage.desk.clone(),
        None => QuestionDesk::new(events.clone(), options.question_deadline),
    };
    (events, desk)
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
        (options, lineage): (&SessionOptions, Option<&Lineage>),
        choice: ModelChoice,
        workspace: &Workspace,
        parts: &SessionParts,
    ) -> Agent {
        let Made { tools, gate, hooks, journal, learner } = self;
        let model: Arc<dyn Model> = match options.effort {
            Some(effort) => Arc::new(host.model().with_effort(effort)),
            None => host.model().clone(),
        };
        let window = tools.of_kind(ToolKind::Instructs).map(|_| model.info(&choice.primary).window);
        Agent {
            meter: spending::meter(
                host,
                options,
                options.project(&workspace.cwd),
                &journal,
                lineage,
            ),
            context: parts.context(&journal, &workspace.tools, window, learner),
            model,
            limits: limits(options, &choice),
            controls: Controls::new(choice, options.settings.thinking),
            system: system(options),
            tools: ToolDesk::new(tools, journal.listed_tools()),
            gate: Arc::new(gate),
            hooks,
            journal,
            budget: purse(options),
            settings: options.settings.clone(),
        }
    }
}

/// A session that was made stricter stays so, and has the rules and directories it was given. The model it was changed to counts where
/// nobody chose another one.
fn restore_control(
    agent: &Agent,
    options: &SessionOptions,
    parts: &SessionParts,
    workspace: &Workspace,
) -> Result<Vec<Notice>, Error> {
    let Some(control) = agent.journal.control() else { return Ok(Vec::new()) };
    if control.mode.is_stricter_than(options.mode) {
        agent.set_mode(control.mode);
    }
    if options.keep_model {
        agent.set_model(control.model);
        agent.set_thinking(control.thinking);
    }
    if !control.rules.is_empty() {
        parts.rules.set(agent, workspace, control.rules)?;
    }
    agent.set_directories(control.dirs.clone());
    Ok(parts.directories.restore(&control.dirs))
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
    workspace: &Live<Workspace>,
    environment: &Live<CommandVariables>,
    policy: &Policy,
) -> Arc<Confinement> {
    let (held_by, environment) = (options.sandbox.clone(), environment.clone());
    let made = Confinement::new(executor.clone(), held_by, workspace.clone(), environment);
    let made = match &options.tree {
        Some(tree) => made.narrowed(tree.narrowing()),
        None => made,
    };
    Arc::new(made.denying(policy))
}

fn gate(
    options: &SessionOptions,
    policy: &Policy,
    workspace: &Live<Workspace>,
    desk: Arc<QuestionDesk>,
    lineage: Option<&Lineage>,
) -> Gate {
    let approvals = options.approvals.clone();
    let gate = Gate::new(policy.clone(), options.mode, workspace.clone(), desk, approvals);
    match lineage {
        Some(lineage) => gate.below(lineage.gate.clone()).in_copy(lineage.copy.clone()),
        None => gate,
    }
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
