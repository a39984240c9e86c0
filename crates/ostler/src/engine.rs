//! An agent that lives across turns.

use crate::error::Error;
use crate::hooks;
use crate::init::Init;
use crate::memory::{learn, memories, with_memories};
use crate::options::Options;
use crate::session;
use crate::skills::{self, AgentHost, with_skills};
use crate::spending;
use crate::surroundings::with_surroundings;
use crate::system::{SystemClock, jitter, today};
use crate::undo;
use ostler_core::ids::{ModelId, SessionId};
use ostler_core::ledger::Purse;
use ostler_core::message::Message;
use ostler_core::permission::{Matcher, Policy, Rule, Workspace};
use ostler_core::ports::{Model, Recorder};
use ostler_core::session::Session;
use ostler_core::todo::Plan;
use ostler_core::turn::Limits;
use ostler_engine::{
    Agent, Gate, HookDesk, Journal, ModelChoice, Toolbox, TurnStream, run, run_with,
};
use ostler_exec::Executor;
use ostler_hooks::Registry;
use ostler_memory::Memories;
use ostler_models::{HttpModel, Network, Provider};
use ostler_skills::Skills;
use ostler_store::spill_folder;
use ostler_tools::Keeping;
use ostler_tools::confine::Confinement;
use ostler_tools::workspace::Files;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const SYSTEM: &str = include_str!("../../../prompts/system.md").trim_ascii();

/// Runs a future to its end on a runtime of its own: for programs that have none.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| Error::Runtime(error.to_string()))?.block_on(future))
}

pub struct Engine {
    pub(crate) agent: Arc<Agent>,
    pub(crate) skills: Arc<Skills>,
    workspace: Workspace,
    notices: Vec<String>,
    interrupt: Mutex<CancellationToken>,
    executor: Executor,
    confinement: Arc<Confinement>,
    /// Looking for the layers of the sandbox has begun.
    probing: AtomicBool,
    registry: Option<Arc<Registry>>,
    memories: Option<Arc<Memories>>,
    /// Turns there were when it was opened.
    turns: u32,
}

/// How long the end waits for webhooks that are on their way.
const FLUSH: Duration = Duration::from_secs(2);

impl Engine {
    pub fn open(init: &Init, options: Options) -> Result<Self, Error> {
        let mut workspace = workspace(&options)?;
        // Whatever is wrong with the options is found out before a session is made for them.
        let policy = Arc::new(policy(&options, &workspace)?);
        let model = Arc::new(http_model(&options)?);
        let choice = ModelChoice {
            primary: ostler_models::resolve_model(&options.model),
            fallback: options.fallback_model.as_deref().map(ostler_models::resolve_model),
        };
        let budget = budget(&options, &choice, model.as_ref())?;
        let executor = Executor::new(init.supervisor.clone());
        check_tools(&options, &policy)?;
        let opened = session::open(&options, &workspace.cwd)?;
        let ours = options.home.as_deref().map(real).transpose()?;
        let id = opened.loaded.log.id().clone();
        let skills = skills::open(&options.skills, ours.as_deref(), &id, &mut workspace);
        if let Some(home) = ours {
            // Blobs hold what other sessions saw in other projects: only what this one spilled may be read.
            workspace.readable.extend(spill_folder(&home, &id));
            workspace.ours.push(home);
        }
        let source = hooks::source(&options.session, opened.loaded.entries.is_empty());
        let session = Session::fold(opened.loaded.entries).close();
        let confinement = confinement(&executor, &options, &workspace);
        let memories = remembers(&options, &workspace.cwd);
        let notes = memories.clone().map(|memories| (memories, id.clone()));
        let at = (&workspace, &confinement);
        let tools = toolbox(executor.clone(), &options, at, &session, &policy, &skills, notes);
        let id = id.to_string();
        let registry = hooks::registry(&options, executor.clone(), &workspace, id, &confinement);
        let turns = session.turns;
        let journal = Journal::new(
            opened.loaded.log,
            opened.blobs,
            Arc::new(SystemClock),
            session.view.clone(),
            session.turns,
        )
        .with_plan(session.plan.clone());
        let limits = limits(&options, &choice);
        let agent = Agent {
            meter: spending::meter(&options, &workspace.cwd, journal.log().id()),
            model,
            choice,
            system: system(&options),
            tools,
            gate: gate(&options, &policy, &workspace),
            hooks: HookDesk::new(hooks::port(registry.as_ref()), source),
            journal,
            budget,
            limits,
            settings: options.settings,
        };
        let mut notices = opened.loaded.notices;
        notices.extend(skills.news().iter().map(ToString::to_string));
        let agent = Arc::new(agent);
        skills.serve(AgentHost::new(&agent));
        Ok(Engine {
            agent,
            skills,
            workspace,
            notices,
            interrupt: Mutex::default(),
            executor,
            confinement,
            probing: AtomicBool::new(false),
            registry,
            memories,
            turns,
        })
    }

    pub fn session_id(&self) -> &SessionId {
        self.agent.journal.log().id()
    }

    pub fn model(&self) -> &ModelId {
        &self.agent.choice.primary
    }

    /// The primary model and, if there is one, the fallback.
    pub fn models(&self) -> Vec<ModelId> {
        let choice = &self.agent.choice;
        [Some(choice.primary.clone()), choice.fallback.clone()].into_iter().flatten().collect()
    }

    pub fn model_info(&self, model: &ModelId) -> ostler_core::ports::ModelInfo {
        self.agent.model.info(model)
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub fn mode(&self) -> ostler_core::permission::Mode {
        self.agent.gate.mode()
    }

    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.agent.tools.names()
    }

    /// What was found wrong with the session when it was opened, one line each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The layers of the sandbox are looked for while the model thinks, not when the first command waits for them.
    fn probe_sandbox(&self) {
        let wanted = self.confinement.options().enabled && self.agent.tools.get("Bash").is_some();
        if wanted && !self.probing.swap(true, Ordering::Relaxed) {
            let confinement = Arc::clone(&self.confinement);
            std::thread::spawn(move || {
                confinement.found();
            });
        }
    }

    /// The plan as it stands.
    pub fn plan(&self) -> Arc<Plan> {
        self.agent.journal.plan()
    }

    /// Starts a turn. One at a time: the log has one order.
    pub fn submit(&self, prompt: impl Into<Message>) -> TurnStream {
        self.agent.gate.begin_turn();
        self.skills.catalog().refresh();
        self.submit_prepared(prompt.into())
    }

    /// Starts a turn with what [`Engine::prepare`] gave.
    pub fn submit_prepared(&self, prompt: Message) -> TurnStream {
        let (view, _) = self.agent.journal.conversation();
        let window = self.model_info(self.model()).window;
        let offered = self.agent.tools.get("Skill").is_some();
        let told = if offered { self.skills.told(Some(window)) } else { None };
        let prompt = with_surroundings(
            with_skills(prompt, &view, told),
            &view,
            &self.workspace,
            self.agent.gate.mode(),
            &today(),
        );
        let interrupt = CancellationToken::new();
        *self.interrupt.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            interrupt.clone();
        self.probe_sandbox();
        match &self.memories {
            None => run(self.agent.clone(), prompt, interrupt),
            Some(memories) => {
                let session = self.session_id().clone();
                let prompt = with_memories(memories.clone(), prompt, view, session);
                run_with(self.agent.clone(), prompt, interrupt)
            }
        }
    }

    /// Keeps what the session leaves to later ones, ends every process that commands left and waits until it is gone.
    /// The engine runs no command after this. Hooks are told first, for the reason `other`.
    pub async fn close(&self) {
        self.close_because("other").await;
    }

    /// The same for another reason, such as `prompt_input_exit`. Gives back what hooks want the person to know.
    pub async fn close_because(&self, reason: &str) -> Vec<String> {
        let notices = self.agent.end_session(reason).await;
        if let Some(registry) = &self.registry {
            registry.flush(FLUSH).await;
        }
        self.remember().await;
        self.end_commands().await;
        notices
    }

    async fn remember(&self) {
        let (view, turns) = self.agent.journal.conversation();
        if let Some(memories) = self.memories.clone().filter(|_| turns > self.turns) {
            let (session, folder) = (self.session_id().clone(), self.workspace.cwd.clone());
            // The session is over; what could not be kept is told by the next look at the memory.
            let _ = learn(memories, view, session, folder).await;
        }
    }

    async fn end_commands(&self) {
        // If the supervisor does not answer, its socket closes with us, and it ends everything by itself.
        let _ = self.executor.shutdown().await;
    }

    /// Ends the running turn in order: everything done is kept, every open call is answered.
    pub fn interrupt(&self) {
        self.interrupt.lock().unwrap_or_else(std::sync::PoisonError::into_inner).cancel();
    }
}

fn limits(options: &Options, choice: &ModelChoice) -> Limits {
    Limits {
        max_iterations: options.max_turns,
        may_escalate: options.settings.output_limit.is_none(),
        has_fallback: choice.fallback.is_some(),
        ..Limits::default()
    }
}

fn confinement(executor: &Executor, options: &Options, workspace: &Workspace) -> Arc<Confinement> {
    let (held_by, environment) = (options.sandbox.clone(), options.environment.clone());
    Arc::new(Confinement::new(executor.clone(), held_by, workspace.clone(), environment))
}

fn gate(options: &Options, policy: &Policy, workspace: &Workspace) -> Gate {
    let (approver, approvals) = (options.approver.clone(), options.approvals.clone());
    Gate::new(policy.clone(), options.mode, workspace.clone(), approver, approvals)
}

/// Without a home there is nothing that could outlive the session.
fn remembers(options: &Options, cwd: &Path) -> Option<Arc<Memories>> {
    let home = options.home.as_ref().filter(|_| options.memory)?;
    let network = Network { proxies: options.proxies.clone(), ca_file: options.ca_file.clone() };
    Some(Arc::new(memories(home, cwd, options.embeddings.clone(), network)))
}

fn workspace(options: &Options) -> Result<Workspace, Error> {
    let cwd = real(&options.cwd)?;
    let mut roots = vec![cwd.clone()];
    for folder in &options.add_dirs {
        roots.push(real(&cwd.join(folder))?);
    }
    Ok(Workspace { cwd, roots, home: options.user_home.clone(), ..Workspace::default() })
}

fn real(path: &Path) -> Result<PathBuf, Error> {
    let wrong = |why: String| Error::Workspace { path: path.to_owned(), why };
    let real = std::fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(wrong("not a folder".into())) }
}

fn http_model(options: &Options) -> Result<HttpModel, Error> {
    let wrong = |error: &dyn std::fmt::Display| Error::Model(error.to_string());
    let provider = Provider::named("anthropic")
        .ok_or_else(|| wrong(&"the provider table has no anthropic"))?;
    let provider = match &options.base_url {
        Some(url) => provider.at(url.as_str()),
        None => provider,
    };
    let mut settings = ostler_models::Settings::new(provider, options.credentials.clone());
    settings.proxies = options.proxies.clone();
    settings.ca_file = options.ca_file.clone();
    settings.deadlines = options.deadlines;
    if let Some(wait) = options.retry_wait {
        settings.retry.base = wait;
    }
    settings.prices = options.prices.clone();
    settings.jitter = Arc::new(jitter);
    HttpModel::new(settings).map_err(|error| wrong(&error))
}

/// A budget that nobody can compute must not look like one.
fn budget(options: &Options, choice: &ModelChoice, model: &dyn Model) -> Result<Purse, Error> {
    let shared = options.budgets.any();
    if shared && options.home.is_none() {
        return Err(Error::NoLedger);
    }
    let limit = options.max_budget_usd;
    for id in [Some(&choice.primary), choice.fallback.as_ref()].into_iter().flatten() {
        if (shared || limit.is_some()) && model.info(id).price.is_none() {
            return Err(Error::NoPrice(id.to_string()));
        }
    }
    Ok(Purse::new(limit))
}

fn system(options: &Options) -> Arc<[String]> {
    let first = options.system_prompt.clone().unwrap_or_else(|| SYSTEM.to_owned());
    [Some(first), options.append_system_prompt.clone()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect()
}

fn policy(options: &Options, workspace: &Workspace) -> Result<Policy, Error> {
    let parse = |texts: &[String]| {
        texts.iter().map(|text| rule(text, workspace)).collect::<Result<Vec<_>, _>>()
    };
    let mut policy = options.policy.clone();
    policy.add(Policy {
        allow: parse(&options.allow)?,
        ask: parse(&options.ask)?,
        deny: parse(&options.deny)?,
        ..Policy::default()
    });
    Ok(policy)
}

/// A rule that would silently mean something else than it seems to is refused.
fn rule(text: &str, workspace: &Workspace) -> Result<Rule, Error> {
    let rule = Rule::parse(text, workspace)?;
    let twin = |name: &&&str| name.eq_ignore_ascii_case(&rule.tool) && **name != rule.tool;
    if let Some(name) = ostler_tools::NAMES.iter().find(twin) {
        return Err(Error::RuleCase { rule: text.to_owned(), name: (*name).to_owned() });
    }
    let pattern = text.split_once('(').map_or("", |(_, rest)| rest);
    let first = pattern.trim_start_matches('/').split('/').next().unwrap_or_default();
    let on_files = matches!(rule.matcher, Matcher::Files(_));
    let absolute =
        on_files && pattern.starts_with('/') && !pattern.starts_with("//") && !first.is_empty();
    if absolute && Path::new("/").join(first).exists() && !workspace.cwd.join(first).exists() {
        return Err(Error::RuleRoot(text.to_owned()));
    }
    Ok(rule)
}

/// A tool that is denied as a whole is not offered at all.
fn is_offered(name: &str, options: &Options, policy: &Policy) -> bool {
    let named = |names: &Vec<String>| names.iter().any(|other| other == name);
    options.tools.as_ref().is_none_or(named) && policy.offers(name)
}

fn check_tools(options: &Options, policy: &Policy) -> Result<(), Error> {
    let all = ostler_tools::NAMES;
    let mut names = options.tools.iter().flatten();
    if let Some(name) = names.find(|name| !all.contains(&name.as_str())) {
        return Err(Error::UnknownTool { name: name.clone(), known: all.join(", ") });
    }
    // Said now and not by the first command, when work has been done already.
    if is_offered("Bash", options, policy) {
        ostler_exec::find_bash().map_err(|error| Error::Exec(error.to_string()))?;
    }
    Ok(())
}

fn toolbox(
    executor: Executor,
    options: &Options,
    (workspace, confinement): (&Workspace, &Arc<Confinement>),
    session: &Session,
    policy: &Arc<Policy>,
    skills: &Arc<Skills>,
    notes: Option<(Arc<Memories>, SessionId)>,
) -> Toolbox {
    let keeping = undo::keeping(options, workspace, session);
    let snapshots = match &keeping {
        Keeping::By { snapshots, .. } => undo::levels(session, snapshots),
        _ => session.snapshots.clone(),
    };
    let files = Files::new(workspace.clone(), session.seen.clone(), snapshots);
    if let Keeping::By { snapshots, .. } = &keeping {
        files.remember_contents(snapshots);
    }
    let mut all = ostler_tools::built_in(ostler_tools::Setup {
        files: Arc::new(files),
        executor,
        environment: options.environment.clone(),
        policy: policy.clone(),
        confinement: confinement.clone(),
        keeping,
    });
    all.push(ostler_tools::skill_tool(skills.clone()));
    all.extend(notes.map(|(memories, session)| ostler_tools::memory(memories, session)));
    all.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
    let offered = |name: &str| is_offered(name, options, policy);
    Toolbox::new(all.into_iter().filter(|tool| offered(&tool.spec().name)))
}
