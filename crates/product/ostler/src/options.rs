//! Everything a caller decides. Each field has a sensible default except the folder and the credential.

use crate::hooks::HookOptions;
use ostler_core::ids::SessionId;
use ostler_core::permission::{Mode, Policy, Rule};
use ostler_core::ports::{Approvals, Approver, BoxFuture, Hook, Question, Reply, Tool};
use ostler_engine::Settings;
use ostler_instructions::InstructionPlaces;
use ostler_ledger::SharedLimits as Budgets;
use ostler_models::protocol::Protocol;
use ostler_models::{
    CaFile, CredentialKind, Credentials, Deadlines, PriceBook, Provider, ProxySettings, Secret,
};
use ostler_tools::confine::ConfineOptions;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The model used when nobody chooses one.
pub const DEFAULT_MODEL: &str = "sonnet";

#[derive(Clone)]
pub struct Options {
    /// Where the agent works.
    pub cwd: PathBuf,
    /// Further folders it may use.
    pub add_dirs: Vec<PathBuf>,
    /// The person's home folder, for rules that begin with `~/`.
    pub user_home: PathBuf,
    /// Where sessions and blobs live; none keeps them in memory.
    pub home: Option<PathBuf>,
    /// Keep the folders before a command may change them, so that it can be undone. Needs `home`.
    pub undo: bool,
    pub credentials: Credentials,
    pub base_url: Option<String>,
    /// Providers besides the default one, which `credentials` and `base_url` are for. Their models are called
    /// `name/model`.
    pub providers: Vec<(Provider, Credentials)>,
    /// Wire protocols of the calling program, for providers that name them.
    pub protocols: Vec<Arc<dyn Protocol>>,
    pub model: String,
    pub fallback_model: Option<String>,
    pub session: SessionChoice,
    /// Replaces the system prompt.
    pub system_prompt: Option<String>,
    /// Is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// Where instruction files are looked for; none reads none.
    pub instructions: Option<InstructionPlaces>,
    pub mode: Mode,
    /// Rules from files; those below are added to them.
    pub policy: Policy,
    /// Rules such as `Read` or `Edit(./src/**)`.
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    /// The tools on offer; none means all of them.
    pub tools: Option<Vec<String>>,
    /// Tools of the calling program. Rules, the screen and compaction treat them by what they declare.
    pub more_tools: Vec<Arc<dyn Tool>>,
    /// Where skills are looked for besides those that ship with the program.
    pub skills: SkillFolders,
    pub max_turns: Option<u32>,
    pub max_budget_usd: Option<f64>,
    /// Sums that all sessions of this home share.
    pub budgets: Budgets,
    /// Prices that count before the built-in ones.
    pub prices: PriceBook,
    /// What the ledger calls the agent and its task; else "main" and the prompt's first line.
    pub agent: Option<String>,
    pub task: Option<String>,
    pub approver: Arc<dyn Approver>,
    /// Where rules go that the user accepts for the project.
    pub approvals: Arc<dyn Approvals>,
    /// The environment for commands, already cut down to what they may see.
    pub environment: Vec<(OsString, OsString)>,
    /// How commands are held.
    pub sandbox: ConfineOptions,
    pub hooks: HookOptions,
    pub proxies: ProxySettings,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<CaFile>,
    pub deadlines: Deadlines,
    /// The first wait before a failed request is repeated; later ones double.
    pub retry_wait: Option<Duration>,
    pub settings: Settings,
    /// Notes are brought along and kept across sessions; needs a home.
    pub memory: bool,
    /// Where vectors come from instead of the installed model.
    pub embeddings: Option<crate::memory::EmbeddingEndpoint>,
    /// A call that runs longer is reported; none reports no call.
    pub slow_call: Option<Duration>,
    /// Stops the process at a chosen write of the log: for crash tests only.
    pub fault: Option<ostler_store::Fault>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillFolders {
    /// In the order in which they count.
    pub folders: Vec<ostler_skills::Folder>,
    /// Contents of the project's skills that the user accepted, by hash: what they run and allow counts.
    pub accepted: Vec<String>,
    /// The project's folder; none: the working folder.
    pub project: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionChoice {
    #[default]
    New,
    /// A new session of this name.
    Named(SessionId),
    /// A whole id, or enough of its beginning to be unique.
    Resume(String),
    /// The newest session of this folder, or a new one if there is none.
    Continue,
    /// A copy of a session; none means the newest of this folder.
    Fork(Option<String>),
}

impl Options {
    pub const SLOW_CALL: Duration = Duration::from_secs(5);

    pub fn new(cwd: impl Into<PathBuf>, credentials: Credentials) -> Self {
        Options {
            cwd: cwd.into(),
            add_dirs: Vec::new(),
            user_home: PathBuf::new(),
            home: None,
            undo: true,
            credentials,
            base_url: None,
            providers: Vec::new(),
            protocols: Vec::new(),
            model: DEFAULT_MODEL.into(),
            fallback_model: None,
            session: SessionChoice::New,
            system_prompt: None,
            append_system_prompt: None,
            instructions: None,
            mode: Mode::Default,
            policy: Policy::default(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            tools: None,
            more_tools: Vec::new(),
            skills: SkillFolders::default(),
            max_turns: None,
            max_budget_usd: None,
            budgets: Budgets::default(),
            prices: PriceBook::default(),
            agent: None,
            task: None,
            approver: Arc::new(Unattended),
            approvals: Arc::new(ForSession),
            environment: Vec::new(),
            sandbox: ConfineOptions::default(),
            hooks: HookOptions::default(),
            proxies: ProxySettings::default(),
            ca_file: None,
            deadlines: Deadlines::default(),
            retry_wait: None,
            settings: Settings::default(),
            memory: true,
            embeddings: None,
            slow_call: Some(Options::SLOW_CALL),
            fault: None,
        }
    }

    /// Adds a hook of the calling program. It is asked before those that are configured.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.inside.push(hook);
        self
    }
}

/// Nobody is there to ask: what would ask is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

impl Approver for Unattended {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            Reply::Unanswered(format!("{}, and nobody is there to ask", question.why))
        })
    }
}

/// Keeps nothing: a rule that is accepted holds until the session ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForSession;

impl Approvals for ForSession {
    fn keep(&self, _rules: &[Rule]) -> Result<(), String> {
        Err("there is no place to keep it, so it holds for this session only".into())
    }
}

/// A key for the provider's own header; `label` says where it came from and is shown when it is refused.
pub fn api_key(label: &str, key: impl AsRef<str>) -> Credentials {
    Credentials { kind: CredentialKind::ApiKey, label: label.into(), secret: Secret::new(key) }
}

/// A token for `authorization: Bearer`.
pub fn bearer(label: &str, token: impl AsRef<str>) -> Credentials {
    Credentials { kind: CredentialKind::Bearer, label: label.into(), secret: Secret::new(token) }
}
