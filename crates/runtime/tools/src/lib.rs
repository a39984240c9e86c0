//! The built-in tools, one file each, and the one door to the disk.
//!
//! Invariants
//! - **Adding a tool is one file and one line** in `TOOLS`; its description is a file under `prompts/tools/`. The file
//!   also declares what rules, the screen, compaction and the memory have to know of it.
//! - **File tools reach the disk only through [`workspace::Files`]**: links are resolved before anything is judged, and
//!   what was judged is what is used: it is opened from the roots' descriptors, and a link on the way is an error.
//!   Pipes and devices are refused without waiting, a file is replaced whole or not at all.
//! - **Nothing is overwritten that the model has not seen as it is now**, all of it if all of it is replaced; an edit
//!   that still fits a file changed meanwhile is made, and the other change told. What was there is kept and recorded
//!   before it is replaced, so that every change can be undone, also after a restart.
//! - **An output says when it is empty, cut or incomplete**, and how to get the rest. Nothing is read, searched or
//!   waited for without a bound.
//! - **A wrong call is an answer, not a failure**: it names what is wrong and what is expected.
//! - **A command is proved harmless or unknown.** What this crate declares for it never loosens on a guess.
//!
//! Deliberately absent: deciding whether a call may run (`core`), when it runs (`engine`), how a process is started
//! and ended (`exec`), reading our own environment, and following the model's `~` or `$HOME`.

#![allow(
    clippy::result_large_err,
    reason = "an output is the error a model reads; it is made once per call"
)]

mod agent;
mod ask_user;
mod bash;
mod blocking_task;
mod board_tools;
pub mod confine;
mod delegate;
mod denied_names;
mod edit;
mod enter_plan_mode;
mod exit_plan_mode;
mod files_in_use;
mod glob;
mod grep;
mod hypothetical_calls;
mod input;
mod job_output;
mod job_tools;
mod list_teammates;
mod memory;
mod notebook;
mod notebook_edit;
mod read;
mod recall;
mod revert;
mod schema;
mod search;
mod send_message;
mod skill;
mod sleep;
mod small_file;
mod tasks;
mod text;
mod todo;
mod typed_tool;
mod url;
mod web_fetch;
mod web_search;
pub mod workspace;
mod write;

pub use bash::{
    CommandVariables, DiskPlaces, Keeping, KeptJob, OwedInspection, command_input, may_set_variable,
};
pub use files_in_use::InUse;
pub use hypothetical_calls::{Paper, access_on_paper, facts, tool_name};
pub use job_output::{JobOutput, JobOutputReader};
use ostler_core::permission::{Live, Policy};
use ostler_core::ports::{
    Delegate, Jobs, MemoryStore, ModeSwitch, SessionLog, TaskBoard, Teamwork, Tool, Web,
};
use ostler_core::tool::Seen;
use ostler_core::tool_facts::KnownTools;
use ostler_exec::Executor;
use ostler_skills::Skills;
pub use small_file::{read_small, read_small_text};
use std::path::Path;
use std::sync::{Arc, LazyLock};
pub use typed_tool::{BuiltIn, erase};
use typed_tool::{ListedTool, listed};
use workspace::Files;

/// Whether the content of a file may be shown unasked. The path is absolute and free of links.
type Readable = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What the tools of one agent share.
#[derive(Clone)]
pub struct ToolSetup {
    pub files: Arc<Files>,
    pub executor: Executor,
    /// The complete environment of commands, already freed of what they must not see.
    pub environment: Live<CommandVariables>,
    /// What a search must not show, and what commands must not be taken to read.
    pub policy: Live<Policy>,
    /// How commands are held.
    pub confinement: Arc<confine::Confinement>,
    /// How the directories are kept before a command may change them.
    pub keeping: Keeping,
    pub session: SessionParts,
}

/// What belongs to a session; without a part the tools that need it are not made.
#[derive(Clone, Default)]
pub struct SessionParts {
    pub skills: Option<Arc<Skills>>,
    pub memory: Option<Arc<dyn MemoryStore>>,
    pub log: Option<Arc<dyn SessionLog>>,
    pub agents: Option<Arc<dyn Delegate>>,
    pub team: Option<Arc<dyn Teamwork>>,
    /// The task board, where the session works with it.
    pub board: Option<Arc<dyn TaskBoard>>,
    /// Where commands go on in the background.
    pub jobs: Option<Arc<dyn Jobs>>,
    /// Where a person can be asked: how the mode changes with what they say.
    pub person: Option<Arc<dyn ModeSwitch>>,
    pub web: Option<Arc<dyn Web>>,
}

impl ToolSetup {
    fn readable(&self) -> Readable {
        let (rules, workspace) = (self.policy.clone(), self.files.live_workspace().clone());
        let names = Arc::clone(&self.confinement);
        Arc::new(move |path| {
            rules.now().may_show(path, &workspace.now()) && !names.may_be_unreadable(path)
        })
    }
}

/// The one list of tools, by name.
const TOOLS: &[ListedTool] = &[
    listed::<agent::AgentTool>(),
    listed::<ask_user::AskUser>(),
    listed::<bash::Bash>(),
    listed::<board_tools::BoardAdd>(),
    listed::<board_tools::BoardList>(),
    listed::<board_tools::BoardNext>(),
    listed::<board_tools::BoardUpdate>(),
    listed::<delegate::DelegateTool>(),
    listed::<edit::Edit>(),
    listed::<enter_plan_mode::EnterPlanMode>(),
    listed::<exit_plan_mode::ExitPlanMode>(),
    listed::<glob::Glob>(),
    listed::<grep::Grep>(),
    listed::<list_teammates::ListTeammates>(),
    listed::<memory::MemoryTool>(),
    listed::<notebook_edit::NotebookEdit>(),
    listed::<read::Read>(),
    listed::<recall::Recall>(),
    listed::<revert::Revert>(),
    listed::<send_message::SendMessage>(),
    listed::<skill::SkillTool>(),
    listed::<sleep::Sleep>(),
    listed::<tasks::TaskCreate>(),
    listed::<tasks::TaskGet>(),
    listed::<tasks::TaskList>(),
    listed::<job_tools::TaskOutput>(),
    listed::<job_tools::TaskStop>(),
    listed::<tasks::TaskUpdate>(),
    listed::<todo::TodoWrite>(),
    listed::<web_fetch::WebFetch>(),
    listed::<web_search::WebSearch>(),
    listed::<write::Write>(),
];

/// What all of them declare, also those that a session does not have.
pub fn known_tools() -> KnownTools {
    static KNOWN: LazyLock<KnownTools> = LazyLock::new(|| {
        KnownTools::new(TOOLS.iter().map(|listed| (listed.name.to_owned(), listed.facts)))
    });
    KNOWN.clone()
}

/// What every member of a team needs to answer the others.
pub fn team_tools() -> Vec<String> {
    [send_message::SendMessage::NAME, list_teammates::ListTeammates::NAME]
        .map(str::to_owned)
        .to_vec()
}

/// What is said of the files that the model works with. `seen` is what the session's log knows.
pub fn in_use(files: Arc<Files>, policy: Live<Policy>, seen: &[Seen]) -> Arc<InUse> {
    let workspace = files.live_workspace().clone();
    let readable: Readable = Arc::new(move |path| policy.now().may_show(path, &workspace.now()));
    Arc::new(InUse::new(files, readable, seen))
}

/// The tools for this setup, sorted by name.
pub fn built_in(setup: &ToolSetup) -> Vec<Arc<dyn Tool>> {
    TOOLS.iter().filter_map(|listed| (listed.make)(setup)).collect()
}
