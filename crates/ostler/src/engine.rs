//! An agent that lives across turns.

use crate::error::Error;
use crate::init::Init;
use crate::options::Options;
use crate::report::{self, ContextReport};
use crate::session;
use crate::standing::Standing;
use crate::system::{SystemClock, jitter};
use ostler_core::ids::{ModelId, SessionId};
use ostler_core::ledger::Budget;
use ostler_core::message::Message;
use ostler_core::permission::{Matcher, Policy, Rule, Workspace};
use ostler_core::ports::{Model, SessionLog};
use ostler_core::session::Session;
use ostler_core::turn::Limits;
use ostler_engine::{
    Agent, Context, Gate, Journal, ModelChoice, Toolbox, TurnStream, compact, run,
};
use ostler_exec::Executor;
use ostler_models::{HttpModel, Provider};
use ostler_store::spill_folder;
use ostler_tools::InUse;
use ostler_tools::workspace::Files;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

const SYSTEM: &str = include_str!("../../../prompts/system.md").trim_ascii();

/// Runs a future to its end on a runtime of its own: for programs that have none.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| Error::Runtime(error.to_string()))?.block_on(future))
}

pub struct Engine {
    agent: Arc<Agent>,
    workspace: Workspace,
    notices: Vec<String>,
    interrupt: Mutex<CancellationToken>,
    executor: Executor,
    standing: Arc<Standing>,
}

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
        // Whatever is wrong with the options is found out before a session is made for them.
        let policy = Arc::new(policy(&options, &workspace)?);
        let model = Arc::new(http_model(&options)?);
        let choice = choice(&options);
        let budget = budget(&options, &choice, model.as_ref())?;
        let executor = Executor::new(init.supervisor.clone());
        check_tools(&options, &policy)?;
        let opened = open(&options, &workspace.cwd)?;
        if let Some(home) = &options.home {
            // Blobs hold what other sessions saw in other projects: only what this one spilled may be read.
            let home = real(home)?;
            workspace.readable.extend(spill_folder(&home, opened.loaded.log.id()));
            workspace.ours.push(home);
        }
        let session = Session::fold(opened.loaded.entries).close();
        let log = opened.loaded.log.clone();
        let files = files(&workspace, &session);
        let standing = Arc::new(Standing::new(&options, workspace.clone(), &session.view));
        let in_use = ostler_tools::in_use(files.clone(), policy.clone(), &session.seen);
        let context = context(&standing, in_use);
        let tools = toolbox(executor.clone(), &options, files, &policy, log);
        let journal =
            Journal::resumed(opened.loaded.log, opened.blobs, Arc::new(SystemClock), session);
        let agent = Agent {
            model,
            limits: limits(&options, &choice),
            choice,
            system: system(&options),
            tools,
            gate: Gate::new(
                Policy::clone(&policy),
                options.mode,
                workspace.clone(),
                options.approver,
                options.approvals,
            ),
            journal,
            budget: Arc::new(Mutex::new(budget)),
            settings: options.settings,
            context,
        };
        let mut notices = opened.loaded.notices;
        notices.extend(standing.notices.iter().cloned());
        Ok(Engine {
            agent: Arc::new(agent),
            workspace,
            notices,
            interrupt: Mutex::default(),
            executor,
            standing,
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

    /// Starts a turn. One at a time: the log has one order.
    pub fn submit(&self, prompt: impl Into<Message>) -> TurnStream {
        let (view, _) = self.agent.journal.conversation();
        let prompt = self.standing.before(prompt.into(), &view);
        run(self.agent.clone(), prompt, self.new_interrupt())
    }

    /// Sums up the conversation now. `words` is what the summary should heed.
    pub fn compact(&self, words: Option<String>) -> TurnStream {
        compact(self.agent.clone(), words, self.new_interrupt())
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

    /// Ends every process that commands left and waits until it is gone. The engine runs no command after this.
    pub async fn close(&self) {
        // If the supervisor does not answer, its socket closes with us, and it ends everything by itself.
        let _ = self.executor.shutdown().await;
    }

    /// Ends the running turn in order: everything done is kept, every open call is answered.
    pub fn interrupt(&self) {
        self.interrupt.lock().unwrap_or_else(std::sync::PoisonError::into_inner).cancel();
    }
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

/// Who says something again after a summary, and who adds something after calls.
fn context(standing: &Arc<Standing>, in_use: Arc<InUse>) -> Context {
    let mut context = Context::default();
    context.carried = vec![standing.clone(), in_use.clone()];
    context.reminders = vec![standing.clone(), in_use];
    context
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
    settings.jitter = Arc::new(jitter);
    HttpModel::new(settings).map_err(|error| wrong(&error))
}

/// A budget that nobody can compute must not look like one.
fn budget(options: &Options, choice: &ModelChoice, model: &dyn Model) -> Result<Budget, Error> {
    let limit = options.max_budget_usd;
    for id in [Some(&choice.primary), choice.fallback.as_ref()].into_iter().flatten() {
        if limit.is_some() && model.info(id).price.is_none() {
            return Err(Error::NoPrice(id.to_string()));
        }
    }
    Ok(Budget { limit, spent: 0.0 })
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

fn files(workspace: &Workspace, session: &Session) -> Arc<Files> {
    let (seen, snapshots) = (session.seen.clone(), session.snapshots.clone());
    Arc::new(Files::new(workspace.clone(), seen, snapshots))
}

fn toolbox(
    executor: Executor,
    options: &Options,
    files: Arc<Files>,
    policy: &Arc<Policy>,
    log: Arc<dyn SessionLog>,
) -> Toolbox {
    let all = ostler_tools::built_in(ostler_tools::Setup {
        files,
        executor,
        environment: options.environment.clone(),
        policy: policy.clone(),
    });
    let offered = |name: &str| is_offered(name, options, policy);
    let all = all.into_iter().chain([ostler_tools::recall(log)]);
    Toolbox::new(all.filter(|tool| offered(&tool.spec().name)))
}
