//! What one session does, and how. Each field has a sensible default except the directory.

use crate::hooks::HookOptions;
use crate::jobs::JobOptions;
use crate::mcp::McpOptions;
use crate::session_tree::{SessionTree, TreeSettings};
use crate::task_board::BoardOptions;
use crate::team::TeamOptions;
use crate::transcripts::TranscriptPlaces;
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::ids::SessionId;
use ostler_core::ledger::Purse;
use ostler_core::model::Effort;
use ostler_core::permission::{Mode, Policy, Rule};
use ostler_core::ports::{Approvals, Hook, Tool};
use ostler_core::session::ForkPoint;
use ostler_engine::Settings;
use ostler_instructions::InstructionPlaces;
use ostler_models::Secret;
use ostler_tools::confine::ConfineOptions;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The model used when nobody chooses one.
pub const DEFAULT_MODEL: &str = "sonnet";

#[derive(Clone)]
pub struct SessionOptions {
    /// Where the agent works.
    pub cwd: PathBuf,
    /// A worktree of its own, which `cwd` is in: nothing else can be changed. See [`SessionTree::entered_by`].
    pub tree: Option<Arc<SessionTree>>,
    /// For worktrees that are made for agents of the session.
    pub worktrees: TreeSettings,
    /// Further directories it may use.
    pub add_dirs: Vec<PathBuf>,
    /// Keep the directories before a command may change them, so that it can be undone. Needs a home.
    pub undo: bool,
    pub model: String,
    pub fallback_model: Option<String>,
    /// How hard the model tries; none: as the host's options say.
    pub effort: Option<Effort>,
    /// A resumed session continues with the model that it was changed to, instead of `model`.
    pub keep_model: bool,
    /// Which session it is.
    pub log: SessionChoice,
    /// Where sessions of other programs are found that are resumed by their id: in a new session.
    pub transcripts: TranscriptPlaces,
    /// Replaces the system prompt.
    pub system_prompt: Option<String>,
    /// Is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// Where instruction files are looked for; none reads none.
    pub instructions: Option<InstructionPlaces>,
    pub mode: Mode,
    /// A surface shows questions to a person: the model is offered the tools that ask them something. While no surface
    /// attends, their calls are refused.
    pub asks_person: bool,
    /// The mode that asks nothing can be chosen later, also if the session does not begin in it.
    pub may_bypass: bool,
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
    /// Tools can be added after the first request: one more tool in the list calls them.
    pub late_tools: bool,
    /// MCP servers, whose tools the session has.
    pub mcp: McpOptions,
    /// Where skills are looked for besides those that ship with the program.
    pub skills: SkillFolders,
    pub web: WebOptions,
    pub max_turns: Option<u32>,
    /// What this session may spend.
    pub max_budget_usd: Option<f64>,
    /// Money that sessions of this process share: what this one spends is also spent there.
    pub purse: Option<Purse>,
    /// Agents that may run at the same time, below this session and each other.
    pub max_agents: usize,
    /// How deep agents may start each other; 0: the session starts none.
    pub max_agent_depth: usize,
    /// How long one agent may work.
    pub max_agent_time: Duration,
    /// Kinds of agents besides those that ship.
    pub agents: Vec<AgentDefinition>,
    /// Agents that keep their context between tasks; needs a home.
    pub team: TeamOptions,
    /// The task board, which its team and its tools use; needs a home.
    pub board: BoardOptions,
    /// Pieces of what agents write are in the events, too, not only whole blocks.
    pub agent_deltas: bool,
    /// What the ledger calls the agent and its task; else "main" and the prompt's first line.
    pub agent: Option<String>,
    pub task: Option<String>,
    /// How long a question waits for an answer.
    pub question_deadline: Duration,
    /// Where rules go that the user accepts for the project.
    pub approvals: Arc<dyn Approvals>,
    /// The environment for commands, already cut down to what they may see.
    pub environment: Vec<(OsString, OsString)>,
    /// How commands are held.
    pub sandbox: ConfineOptions,
    pub hooks: HookOptions,
    pub settings: Settings,
    /// Notes are brought along and kept across sessions; needs a home.
    pub memory: bool,
    /// What may go on in the background.
    pub jobs: JobOptions,
    /// A call that runs longer is reported; none reports no call.
    pub slow_call: Option<Duration>,
    /// Write what happens to `events/` of the home, for `ostler events`.
    pub event_log: bool,
}

/// What tools may do in the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebOptions {
    /// Hosts that may have private addresses: `name` or `name:port`. Rules still decide about each call.
    pub private_hosts: Vec<String>,
    /// The model that reads pages for the session's own, as `--model` takes it; none: pages are given to that one whole.
    pub small_model: Option<String>,
    pub search: SearchChoice,
}

/// Who searches the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SearchChoice {
    /// The model's provider, where it is known to.
    #[default]
    Auto,
    Nobody,
    /// The model's provider, whatever is known of it.
    Provider,
    Endpoint(SearchEndpoint),
}

/// Takes and gives JSON: see `docs/web.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchEndpoint {
    pub url: String,
    pub key: Option<Secret>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillFolders {
    /// In the order in which they count.
    pub folders: Vec<ostler_skills::Folder>,
    /// Contents of the project's skills that the user accepted, by hash: what they run and allow counts.
    pub accepted: Vec<String>,
    /// The only skills that the model may use by itself; none: all that say so.
    pub for_model: Option<Vec<String>>,
    /// The project's directory; none: the working directory.
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
    /// The newest session of this directory.
    Continue,
    Fork(ForkSource),
}

/// What is copied into a new session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForkSource {
    /// A whole id, or enough of its beginning; none means the newest session of this directory.
    pub session: Option<String>,
    pub at: ForkPoint,
    /// The id of the new session; none: a new one.
    pub name: Option<SessionId>,
}

impl SessionOptions {
    pub const SLOW_CALL: Duration = Duration::from_secs(5);
    pub const MAX_AGENTS: usize = 8;
    pub const MAX_AGENT_DEPTH: usize = 3;
    /// A question of an agent may wait for a night as well.
    pub const MAX_AGENT_TIME: Duration = SessionOptions::QUESTION_DEADLINE;
    /// A person may be away for the night.
    pub const QUESTION_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

    /// The directory of the project; for a session in a worktree of its own that of the checkout.
    pub(crate) fn project<'a>(&'a self, cwd: &'a Path) -> &'a Path {
        self.tree.as_ref().map_or(cwd, |tree| tree.project())
    }

    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        SessionOptions {
            cwd: cwd.into(),
            tree: None,
            worktrees: TreeSettings::default(),
            add_dirs: Vec::new(),
            undo: true,
            model: DEFAULT_MODEL.into(),
            fallback_model: None,
            effort: None,
            keep_model: false,
            log: SessionChoice::New,
            transcripts: TranscriptPlaces::default(),
            system_prompt: None,
            append_system_prompt: None,
            instructions: None,
            mode: Mode::Default,
            asks_person: false,
            may_bypass: true,
            policy: Policy::default(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            tools: None,
            more_tools: Vec::new(),
            late_tools: false,
            mcp: McpOptions::default(),
            skills: SkillFolders::default(),
            web: WebOptions::default(),
            max_turns: None,
            max_budget_usd: None,
            purse: None,
            max_agents: SessionOptions::MAX_AGENTS,
            max_agent_depth: SessionOptions::MAX_AGENT_DEPTH,
            max_agent_time: SessionOptions::MAX_AGENT_TIME,
            agents: Vec::new(),
            team: TeamOptions::default(),
            board: BoardOptions::default(),
            agent_deltas: false,
            agent: None,
            task: None,
            question_deadline: SessionOptions::QUESTION_DEADLINE,
            approvals: Arc::new(ForSession),
            environment: Vec::new(),
            sandbox: ConfineOptions::default(),
            hooks: HookOptions::default(),
            settings: Settings::default(),
            memory: true,
            jobs: JobOptions::default(),
            slow_call: Some(SessionOptions::SLOW_CALL),
            event_log: false,
        }
    }

    /// Adds a hook of the calling program. It is asked before those that are configured.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.inside.push(hook);
        self
    }
}

/// Keeps nothing: a rule that is accepted holds until the session ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForSession;

impl Approvals for ForSession {
    fn keep(&self, _rules: &[Rule]) -> Result<(), String> {
        Err("there is nowhere to save it, so it applies to this session only".into())
    }
}
