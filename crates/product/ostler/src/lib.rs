//! Ostler as a library: ask a question, or keep a session and talk to it.
//!
//! ```standalone_crate
//! use futures_util::StreamExt;
//! use ostler::{Event, Host, HostOptions, SessionOptions};
//!
//! fn main() -> Result<(), ostler::Error> {
//!     let init = ostler::init(); // first: the same program also serves as its own supervisor
//!     let options = HostOptions::new(ostler::api_key("my key", "sk-ant-…"));
//! #   let (folder, server) = (tempfile::tempdir().unwrap(), scripted());
//! #   std::fs::write(folder.path().join("README"), "It counts horses.").unwrap();
//! #   let options = HostOptions { base_url: Some(server.url()), ..options };
//!     let host = Host::open(&init, options)?;
//!     let options = SessionOptions::new("/path/to/project");
//! #   let options = SessionOptions { cwd: folder.path().into(), model: "scripted".into(), ..options };
//!     let session = host.session(options)?;
//!     ostler::block_on(async {
//!         let mut turn = session.ask("What does this project do?")?;
//! #       let mut told = String::new();
//!         while let Some(envelope) = turn.next().await {
//! #           if let Event::TextDelta { text } = &envelope.event { told += text }
//!             if let Event::TextDelta { text } = &envelope.event { print!("{text}") }
//!         }
//! #       assert_eq!(told, "I look.It counts horses.");
//! #       assert_eq!(server.rejected(), Vec::<String>::new());
//!         Ok(())
//!     })?
//! }
//! #
//! # /// Has the file read by a command, and repeats it.
//! # fn scripted() -> ostler_model_server::ModelServer {
//! #     use ostler_model_server::{ModelServer, Script, text};
//! #     let look = text("I look.").call("Bash", serde_json::json!({"command": "cat README"}));
//! #     let repeat = |request: &ostler_model_server::Recorded| {
//! #         text(request.tool_results()[0]["content"].as_str().unwrap_or("nothing"))
//! #     };
//! #     ModelServer::start(Script::new().answer(look).by(repeat)).unwrap()
//! # }
//! ```
//!
//! Invariants
//! - **A turn is a pull stream.** Nothing runs unless its [`Driver`] is polled; a slow driver slows the model down;
//!   dropping it stops the request and every process it started. Observers can do neither.
//! - **One way in, one way out.** What a surface wants is an [`Input`]; what it shows is in envelopes.
//! - **No environment, no home directory, no terminal.** What a caller wants from those, it passes in options.

mod ask;
mod assembly;
mod calendar;
mod carried_parts;
mod check;
mod command;
mod driver;
mod error;
mod explain;
mod hooks;
mod host;
mod host_options;
mod init;
mod input;
mod instructions_state;
mod jobs;
mod kit;
mod known_instructions;
mod learner;
mod log_choice;
mod machine_agents;
mod mcp;
mod memory;
mod options;
mod patience;
mod plain_threads;
mod plugins;
mod project_worktrees;
mod prompt_front;
mod questions;
mod queue;
mod read_judge;
mod remote_work;
mod report;
mod ring;
mod rule_sets;
mod sandbox;
mod session;
mod session_agents;
mod session_control;
mod session_directories;
mod session_events;
mod session_fork;
mod session_jobs;
mod session_mode;
mod session_options;
mod session_overview;
mod session_parts;
mod session_reach;
mod session_rewind;
mod session_rules;
mod session_searches;
mod session_tools;
mod session_tree;
mod session_web;
mod skills;
mod slow_calls;
mod spending;
mod structured_output;
mod subagents;
mod surroundings;
mod system;
mod task_board;
mod team;
mod transcripts;
mod tree_commands;
mod undo;
mod worker;
mod workspace;

pub use ask::ask;
pub use calendar::Calendar;
pub use check::{Case, Judged, check, judge, judge_with_path};
pub use command::{ProgramEnd, ProgramRun, allowed_environment, run_command, run_program};
pub use driver::Driver;
pub use error::Error;
pub use explain::explain;
pub use hooks::{HookOptions, verify_hooks, webhook_sender};
pub use host::Host;
pub use host_options::HostOptions;
pub use init::{Init, block_on, init};
pub use input::{Input, InputReceipt, InputRefused, Prompt};
pub use jobs::{
    JobOptions, MachineJob, damaged_jobs, inspect_lost_jobs, machine_jobs, stop_machine_job,
};
pub use log_choice::{check_continue, list_sessions};
pub use machine_agents::{
    AgentActivity, AgentsView, Blocked, CurrentCall, MachineAgent, live_addresses, machine_agents,
};
pub use mcp::{
    McpChoice, McpInput, McpOptions, known_mcp, logins, not_permitted as server_not_permitted,
    probe_mcp,
};
pub use memory::{EmbeddingEndpoint, install_memory, memories, setup_memory};
pub use options::{Options, api_key, bearer};
pub use ostler_board as board;
pub use ostler_config as config;
pub use ostler_core::agent_definition::{AgentDefinition, AgentIsolation};
pub use ostler_core::context::{Receipt, StageName, Trigger, WindowBounds, report::Share};
pub use ostler_core::event::{
    AgentPath, CallOutcome, Control, Denial, Envelope, Event, Finished, Level, ModelUsage,
    NotCompacted, NotRun, Notice, SessionRules, words,
};
pub use ostler_core::hook::{
    EventName, HookAction, HookAnswer, HookEvent, HookMatcher, HookOutcome, HookSecret, HookSpec,
    Stand, answered as hook_answered, merge as merge_outcomes,
};
pub use ostler_core::ids::{
    CallId, CountingIds, IdSource, InboundId, JobId, ModelId, QuestionId, SessionId,
};
pub use ostler_core::inbox::{Delivery, InboundSource, QueuedItem};
pub use ostler_core::job::{JobEnd, JobKind, JobRecord, JobStatus, JobView};
pub use ostler_core::late_tools::{ToolRefusal, ToolRefused, USE_TOOL, as_said};
pub use ostler_core::ledger::{Broken as CacheBroken, Change as CacheChange};
pub use ostler_core::ledger::{ChargeStatus, Forecast, Left, Price, Purpose, Purse, Sum, Usage};
pub use ostler_core::memory::{
    FactKind, KeptMemory, Memory, MemoryChange, MemoryError, MemoryFact, Origin, Scope,
};
pub use ostler_core::message::{Block, Image, Message, ResultPart};
pub use ostler_core::model::{ModelErrorKind, Retry, StopReason, Thinking};
pub use ostler_core::permission::script::Word;
pub use ostler_core::permission::{
    Access, Act, Backing, Bound, By, COMMANDS, Caution, Choice, ChoiceQuestion, CitedRule,
    Commands, Decision, Effect, Fallback, Mode, PathScope, PersonRequest, Policy, Position, Reason,
    Rule, RuleError, Source, Step, Tier, Touch, TouchKind, Verdict, Workspace,
};
pub use ostler_core::ports::{AgentKind, MemoryStore};
pub use ostler_core::ports::{
    Approvals, BoxFuture, Hook, ModelInfo, Reply, SessionInfo, StoreError, Tool, ToolContext,
};
pub use ostler_core::question::{Place, Question, QuestionEnd, Touches};
pub use ostler_core::session::{AgentState, ForkPoint, changed_input_line};
pub use ostler_core::session_state::SessionState;
pub use ostler_core::teammate::{PlanView, TeammatePhase, TeammateStatus};
pub use ostler_core::text::{dollars, thousands};
pub use ostler_core::time::Timestamp;
pub use ostler_core::todo::{Plan, Status, Task};
pub use ostler_core::tool::{ToolOutput, ToolSpec};
pub use ostler_core::tool_facts::{
    Extent, FileInput, KnownTools, ResultView, Subject, ToolFacts, ToolKind,
};
pub use ostler_core::turn::{Continue, Limits, Terminal};
pub use ostler_engine::{CallEnd, CallNews, ContextSettings, ProgramCall, Settings};
pub use ostler_exec::{raise_open_file_limit, start_detached, strip_terminal};
pub use ostler_hooks::{
    Delivered, EventLog, HookProgress, HookRunEnd, HookTrial, HookWatch, Observer, Prepare, Sender,
    ToolStats, WebhookQueue, deliver_all, event_logs, replay, signature,
};
pub use ostler_instructions::InstructionPlaces;
pub use ostler_ledger::{BudgetStatus, LedgerRow as CostRow};
pub use ostler_ledger::{
    CostReport, ReportKey as CostBy, ReportLine as CostLine, SharedLimits as Budgets,
};
pub use ostler_mcp as mcp_servers;
pub use ostler_memory::setup::{
    PACKAGE as MEMORY_PACKAGE, SetupError as MemorySetupError, model_path,
};
pub use ostler_memory::{MARK as EXPORT_MARK, Meaning, Memories, date, to_markdown};
pub use ostler_models::Secret as ApiSecret;
pub use ostler_models::resolve_model as model;
pub use ostler_models::{
    CaFile, Credentials, Deadlines, Effort, Network, PriceBook, Provider, ProxySettings,
    RequestExtras, protocol,
};
pub use ostler_oauth as oauth;
pub use ostler_skills::{Catalog, Problem, Skill, SkillOrigin, one_line};
pub use ostler_snapshots::{Fate, PlanOutcome as Undoing, Pruned};
pub use ostler_store::{Fault, check_home, check_state_directory};
pub use ostler_tools::confine::{ConfineOptions, Confinement, LimitOptions, Missing};
pub use ostler_tools::{JobOutputReader, facts as tool_facts, known_tools, tool_name};
pub use ostler_worktrees as worktrees;
pub use plugins::{FoundPlugin, find_plugin, install_plugin, remove_plugin};
pub use project_worktrees::{open_worktrees, worktrees_path};
pub use questions::Attendance;
pub use remote_work::{LeftOut, task_of_remote_branch};
pub use report::{ContextReport, context_report};
pub use ring::{Cursor, Observed, Observer as SessionObserver};
pub use rule_sets::{rule_matches, rule_set};
pub use sandbox::{Sandboxed, Tested, run_sandboxed, test_sandbox};
pub use session::Session;
pub use session_agents::{AgentInfo, AgentInput};
pub use session_options::{
    ForkSource, SearchChoice, SearchEndpoint, SessionChoice, SessionOptions, SkillFolders,
    WebOptions,
};
pub use session_overview::SessionOverview;
pub use session_rewind::{Rewind, Undo, Undoes};
pub use session_tree::{SessionTree, TreeSettings};
pub use skills::skill_catalog;
pub use spending::{CostQuery, Costs, cost_of_session, costs, rebuild_ledger};
pub use structured_output::{STRUCTURED_OUTPUT, StructuredEnd, StructuredOutput};
pub use system::{SystemIds, is_uuid, new_uuid, now_ms, now_text, time_text};
pub use task_board::{
    BoardOptions, BoardPlace, board_path, open_board, open_board_at, open_board_on_server,
    open_project_board, return_claim,
};
pub use team::{TeamOptions, mail_failed_merge, shipped_teammates};
pub use transcripts::{
    Conversation, ImportedSession, Program, TranscriptInfo, TranscriptPlaces, TranscriptStep,
    import_transcript, imported_from, transcripts,
};
pub use tree_commands::{ProjectCommandOptions, ProjectCommands};
pub use undo::{
    ChangingCall, LineCounts, Review, Rewinding, SnapshotChange, SnapshotLine, TurnLine,
    UndoChoice, UndoStep, UndoSteps, Undone, diff_snapshots, list_snapshots, prune_snapshots, redo,
    rewind, turns, undo, undo_steps,
};
pub use worker::{
    FailedMerge, TaskRef, WorkBranch, WorkerEnd, WorkerEvent, WorkerOptions, WorkerStop,
    resolves_a_merge, return_branch, run_workers,
};
