//! An agent that lives across turns.

use crate::again::Again;
use crate::error::Error;
use crate::event_stream::{EventStream, SessionEvents};
use crate::hooks;
use crate::init::Init;
use crate::kit::{self, Kit, check_tools, policy, toolbox};
use crate::learner::Learner;
use crate::memory::{Recalling, memories, recall, with_memories, words_of};
use crate::options::Options;
use crate::report::{self, ContextReport};
use crate::session;
use crate::skills::{AgentHost, with_skills};
use crate::spending;
use crate::standing::Standing;
use crate::system::{SystemClock, jitter};
use crate::undo::UndoNews;
use crate::workspace::{at_home, workspace};
use ostler_core::event::{Envelope, Event, Notice};
use ostler_core::ids::{ModelId, SessionId};
use ostler_core::ledger::Purse;
use ostler_core::message::Message;
use ostler_core::permission::{Policy, Workspace};
use ostler_core::ports::{BeforeCompact, Model, Recorder, Reminder, SessionLog};
use ostler_core::rendering::SharedList;
use ostler_core::session::Session;
use ostler_core::todo::Plan;
use ostler_core::tool_facts::{KnownTools, ToolKind};
use ostler_core::turn::Limits;
use ostler_core::view::View;
use ostler_engine::{Agent, Context, Gate, HookDesk, Journal, ModelChoice, compact, run_with};
use ostler_exec::Executor;
use ostler_hooks::Registry;
use ostler_memory::Memories;
use ostler_models::{Credentials, HttpModel, Network, Provider, Providers};
use ostler_skills::Skills;
use ostler_tools::confine::Confinement;
use ostler_tools::workspace::Files;
use ostler_tools::{InUse, Keeping};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const SYSTEM: &str = include_str!("../../../../prompts/system.md").trim_ascii();

/// Runs a future to its end on a runtime of its own: for programs that have none.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| Error::Runtime(error.to_string()))?.block_on(future))
}

pub struct Engine {
    pub(crate) agent: Arc<Agent>,
    workspace: Workspace,
    pub(crate) parts: Parts,
    events: Arc<SessionEvents>,
    interrupt: Mutex<CancellationToken>,
    /// Looking for the layers of the sandbox has begun.
    probing: AtomicBool,
}

/// What lives as long as the session, beside the agent.
pub(crate) struct Parts {
    pub(crate) skills: Arc<Skills>,
    standing: Arc<Standing>,
    in_use: Arc<InUse>,
    memories: Option<Arc<Memories>>,
    /// What was undone outside of the session.
    undo_news: Option<Arc<UndoNews>>,
    /// The search for the memories of the prompt that is being prepared.
    recalling: Mutex<Option<Recalling>>,
    /// The reader was told that memories are found by words only.
    by_words: Arc<AtomicBool>,
    confinement: Arc<Confinement>,
    registry: Option<Arc<Registry>>,
    executor: Executor,
}

impl Parts {
    fn kit(&self, files: Arc<Files>, keeping: Keeping, log: Arc<dyn SessionLog>) -> Kit {
        Kit {
            executor: self.executor.clone(),
            files,
            keeping,
            confinement: self.confinement.clone(),
            skills: self.skills.clone(),
            memories: self.memories.clone(),
            log,
        }
    }

    /// Who says something again after a summary, who adds something after calls, and who looks before it. `window` is
    /// that of the model, if it is told of skills at all.
    fn context(
        &self,
        journal: &Journal,
        tools: &KnownTools,
        window: Option<u64>,
        learner: Option<Arc<Learner>>,
    ) -> Context {
        let mut context = Context::default();
        let (journal, tools) = (journal.clone(), tools.clone());
        let again = Again { journal, skills: self.skills.clone(), window, tools };
        context.carried = vec![self.standing.clone(), Arc::new(again), self.in_use.clone()];
        context.reminders = vec![self.standing.clone(), self.in_use.clone()];
        context.reminders.extend(self.undo_news.clone().map(|news| news as Arc<dyn Reminder>));
        context.before_compact = learner.map(|learner| learner as Arc<dyn BeforeCompact>);
        context
    }

    fn events(
        &self,
        journal: &Journal,
        learner: Option<Arc<Learner>>,
        slow_call: Option<Duration>,
    ) -> Arc<SessionEvents> {
        let (clock, skills) = (Arc::new(SystemClock), self.skills.clone());
        let session = journal.log().id().clone();
        Arc::new(SessionEvents::new(session, clock, skills, learner, slow_call))
    }

    /// There is an agent. `notices` is what was found on the way there.
    fn serve(&self, agent: &Arc<Agent>, notices: Vec<Notice>, events: &SessionEvents) {
        self.skills.serve(AgentHost::new(agent));
        events.found_on_opening(notices.into_iter().chain(self.standing.serve(agent)));
    }

    fn learner(&self, journal: &Journal, workspace: &Workspace) -> Option<Arc<Learner>> {
        let (memories, journal) = (self.memories.clone()?, journal.clone());
        let Workspace { cwd: folder, tools, .. } = workspace.clone();
        Some(Arc::new(Learner::new(memories, journal, folder, tools)))
    }
}

/// How long the end waits for webhooks that are on their way.
const FLUSH: Duration = Duration::from_secs(2);

impl Engine {
    pub fn open(init: &Init, options: Options) -> Result<Self, Error> {
        Engine::over(init, options, session::open)
    }

    /// `open` gives the session once nothing is wrong with the options.
    pub(crate) fn over(
        init: &Init,
        options: Options,
        open: impl FnOnce(&Options, &Path) -> Result<session::Opened, Error>,
    ) -> Result<Self, Error> {
        let mut workspace = workspace(&options)?;
        let policy = Arc::new(policy(&options, &workspace)?);
        let model = Arc::new(providers(&options)?);
        let choice = choice(&options);
        let budget = budget(&options, &choice, model.as_ref())?;
        let executor = Executor::new(init.supervisor.clone());
        let mut notices = check_tools(&options, &policy)?;
        let session::Opened { loaded, blobs } = open(&options, &workspace.cwd)?;
        notices.extend(loaded.notices.into_iter().map(|text| Notice::SessionLog { text }));
        let log = loaded.log;
        let skills = at_home(&options, &policy, log.id(), &mut workspace)?;
        let source = hooks::source(&options.session, loaded.entries.is_empty());
        let session = Session::fold_with(workspace.tools.clone(), loaded.entries).close();
        let confinement = confinement(&executor, &options, &workspace, &policy);
        let id = log.id().to_string();
        let registry = hooks::registry(&options, executor.clone(), &workspace, id, &confinement);
        let (files, keeping, unknown) =
            kit::files_of_session(&options, &workspace, &session, log.id(), &policy, &confinement);
        notices.extend(unknown);
        let mut parts = Parts {
            in_use: ostler_tools::in_use(files.clone(), policy.clone(), &session.seen),
            standing: Arc::new(Standing::new(&options, &policy, workspace.clone())),
            memories: remembers(&options, &workspace.cwd),
            undo_news: None,
            recalling: Mutex::default(),
            by_words: Arc::default(),
            skills,
            confinement,
            registry,
            executor,
        };
        let journal = Journal::resumed(log.clone(), blobs, Arc::new(SystemClock), session);
        parts.undo_news = UndoNews::of(&keeping, &journal);
        let tools = toolbox(&options, &policy, parts.kit(files, keeping, log));
        let window = tools.of_kind(ToolKind::Instructs).map(|_| model.info(&choice.primary).window);
        let learner = parts.learner(&journal, &workspace);
        let events = parts.events(&journal, learner.clone(), options.slow_call);
        let agent = Arc::new(Agent {
            meter: spending::meter(&options, &workspace.cwd, &journal),
            context: parts.context(&journal, &workspace.tools, window, learner),
            model,
            limits: limits(&options, &choice),
            choice,
            system: system(&options),
            tools,
            gate: gate(&options, &policy, &workspace),
            hooks: HookDesk::new(hooks::port(parts.registry.as_ref()), source),
            journal,
            budget,
            settings: options.settings,
        });
        parts.serve(&agent, notices, &events);
        let (interrupt, probing) = (Mutex::default(), false.into());
        Ok(Engine { agent, workspace, parts, events, interrupt, probing })
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

    /// What tools declare, also those that are not on offer.
    pub fn known_tools(&self) -> &KnownTools {
        self.agent.tools.known()
    }

    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.agent.tools.names()
    }

    /// What nobody has read yet, such as what was found wrong when the session was opened. Otherwise the next stream
    /// begins with it.
    pub fn waiting(&self) -> Vec<Envelope> {
        self.stamped(self.events.waiting())
    }

    fn stamped(&self, events: Vec<Event>) -> Vec<Envelope> {
        events.into_iter().map(|event| self.events.stamp(event)).collect()
    }

    pub fn confinement(&self) -> &Confinement {
        &self.parts.confinement
    }

    /// The layers of the sandbox are looked for while the model thinks, not when the first command waits for them.
    fn probe_sandbox(&self) {
        let runs = self.agent.tools.of_kind(ToolKind::Runs).is_some();
        let wanted = self.parts.confinement.options().enabled && runs;
        if wanted && !self.probing.swap(true, Ordering::Relaxed) {
            let confinement = Arc::clone(&self.parts.confinement);
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
    pub fn submit(&self, prompt: impl Into<Message>) -> EventStream {
        self.agent.gate.begin_turn();
        self.parts.skills.catalog().refresh();
        self.submit_prepared(prompt.into())
    }

    /// Starts a turn with what [`Engine::prepare`] gave.
    pub fn submit_prepared(&self, prompt: Message) -> EventStream {
        let recalling = self.recalling(words_of(&prompt));
        let (view, _) = self.agent.journal.conversation();
        let window = self.model_info(self.model()).window;
        let offered = self.agent.tools.of_kind(ToolKind::Instructs).is_some();
        let told = if offered { self.parts.skills.told(Some(window)) } else { None };
        let prompt = with_skills(prompt, &view, told);
        let interrupt = self.new_interrupt();
        self.probe_sandbox();
        let Parts { standing, in_use, undo_news, .. } = &self.parts;
        let parts = (standing.clone(), in_use.clone(), undo_news.clone(), recalling);
        let turn =
            run_with(self.agent.clone(), furnished(parts, prompt, view), Vec::new(), interrupt);
        EventStream::new(turn, self.events.clone())
    }

    /// Begins to look for the memories of a prompt, while it is being prepared.
    pub(crate) fn begin_recall(&self, words: &str) {
        let begun = self.recalling(words.to_owned());
        *self.parts.recalling.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = begun;
    }

    /// The search that was begun for these words, or a new one.
    fn recalling(&self, words: String) -> Option<Recalling> {
        let memories = self.parts.memories.as_ref()?;
        let begun =
            self.parts.recalling.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        begun.filter(|begun| begun.is_for(&words)).or_else(|| {
            let (view, _) = self.agent.journal.conversation();
            let (session, said) = (self.session_id().clone(), self.parts.by_words.clone());
            Some(recall(memories.clone(), words, view, session, said))
        })
    }

    /// Opens what a search in the memory needs, so that the first prompt need not wait for it.
    pub fn warm_up(&self) {
        if let Some(memories) = self.parts.memories.clone() {
            std::thread::spawn(move || memories.warm_up());
        }
    }

    /// Sums up the conversation now. `words` is what the summary should heed.
    pub fn compact(&self, words: Option<String>) -> EventStream {
        let turn = compact(self.agent.clone(), words, self.new_interrupt());
        EventStream::new(turn, self.events.clone())
    }

    /// What fills the window, by owner.
    pub fn context(&self) -> ContextReport {
        let (view, _) = self.agent.journal.conversation();
        report::of(&self.agent, &view)
    }

    fn new_interrupt(&self) -> CancellationToken {
        let interrupt = CancellationToken::new();
        *self.interrupt.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            interrupt.clone();
        interrupt
    }

    /// Keeps what the session leaves to later ones, ends every process that commands left and waits until it is gone.
    /// The engine runs no command after this. Hooks are told first, for the reason `other`.
    pub async fn close(&self) {
        self.close_because("other").await;
    }

    /// The same for another reason, such as `prompt_input_exit`. Gives back the events of the end: what hooks and the
    /// memory have to say, and what nobody has read.
    pub async fn close_because(&self, reason: &str) -> Vec<Envelope> {
        let mut events = self.events.waiting();
        events.extend(self.agent.end_session(reason).await.into_iter().map(Event::notice));
        if let Some(registry) = &self.parts.registry {
            registry.flush(FLUSH).await;
        }
        if let Some(learner) = &self.events.learner {
            events.extend(learner.learn_new_turns().await);
        }
        self.end_commands().await;
        self.stamped(events)
    }

    async fn end_commands(&self) {
        // If the supervisor does not answer, its socket closes with us, and it ends everything by itself.
        let _ = self.parts.executor.shutdown().await;
    }

    /// Ends the running turn in order: everything done is kept, every open call is answered.
    pub fn interrupt(&self) {
        self.interrupt.lock().unwrap_or_else(std::sync::PoisonError::into_inner).cancel();
    }
}

/// The prompt with what belongs in front of it, and what the reader should know.
async fn furnished(
    parts: (Arc<Standing>, Arc<InUse>, Option<Arc<UndoNews>>, Option<Recalling>),
    prompt: Message,
    view: View,
) -> (Message, Vec<Notice>) {
    let (standing, in_use, undo_news, recalling) = parts;
    let bare = prompt.clone();
    let work = move || {
        let undone = undo_news.map(|news| news.texts()).unwrap_or_default();
        standing.before(prompt, &view, [undone, in_use.changes()].concat())
    };
    let (prompt, mut notices) =
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| (bare, Vec::new()));
    let Some(recalling) = recalling else { return (prompt, notices) };
    let (prompt, more) = with_memories(recalling, prompt).await;
    notices.extend(more);
    (prompt, notices)
}

fn choice(options: &Options) -> ModelChoice {
    ModelChoice {
        primary: ostler_models::resolve_model(&options.model),
        fallback: options.fallback_model.as_deref().map(ostler_models::resolve_model),
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

pub(crate) fn confinement(
    executor: &Executor,
    options: &Options,
    workspace: &Workspace,
    policy: &Policy,
) -> Arc<Confinement> {
    let (held_by, environment) = (options.sandbox.clone(), options.environment.clone());
    let made = Confinement::new(executor.clone(), held_by, workspace.clone(), environment);
    Arc::new(made.denying(policy))
}

fn gate(options: &Options, policy: &Policy, workspace: &Workspace) -> Gate {
    let (approver, approvals) = (options.approver.clone(), options.approvals.clone());
    Gate::new(policy.clone(), options.mode, workspace.clone(), approver, approvals)
}

/// Without a home there is nothing that could outlive the session.
pub(crate) fn remembers(options: &Options, cwd: &Path) -> Option<Arc<Memories>> {
    let home = options.home.as_ref().filter(|_| options.memory)?;
    let network = Network { proxies: options.proxies.clone(), ca_file: options.ca_file.clone() };
    Some(Arc::new(memories(home, cwd, options.embeddings.clone(), network)))
}

fn providers(options: &Options) -> Result<Providers, Error> {
    let default = match &options.base_url {
        Some(url) => Provider::default().at(url.as_str()),
        None => Provider::default(),
    };
    let default = http_model(options, default, &options.credentials).map_err(Error::Model)?;
    let mut all = Providers::new(default);
    for (provider, credentials) in &options.providers {
        let name = provider.prefix.clone();
        let model = http_model(options, provider.clone(), credentials)
            .map_err(|why| Error::Model(format!("provider {name}: {why}")))?;
        all = all.with(name, model);
    }
    Ok(all)
}

fn http_model(
    options: &Options,
    provider: Provider,
    credentials: &Credentials,
) -> Result<HttpModel, String> {
    let mut settings = ostler_models::Settings::new(provider, credentials.clone());
    settings.protocols.clone_from(&options.protocols);
    settings.proxies = options.proxies.clone();
    settings.ca_file = options.ca_file.clone();
    settings.deadlines = options.deadlines;
    if let Some(wait) = options.retry_wait {
        settings.retry.base = wait;
    }
    settings.prices = options.prices.clone();
    settings.jitter = Arc::new(jitter);
    settings.clock = Some(Arc::new(SystemClock));
    HttpModel::new(settings).map_err(|error| error.to_string())
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

fn system(options: &Options) -> SharedList<String> {
    let first = options.system_prompt.clone().unwrap_or_else(|| SYSTEM.to_owned());
    [Some(first), options.append_system_prompt.clone()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect()
}
