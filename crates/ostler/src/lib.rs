//! Ostler as a library: ask a question, or keep an engine and talk to it.
//!
//! ```standalone_crate
//! use futures_util::StreamExt;
//! use ostler::{Engine, Event, Options};
//!
//! fn main() -> Result<(), ostler::Error> {
//!     let init = ostler::init(); // first: the same program also serves as its own supervisor
//!     let options = Options::new("/path/to/project", ostler::api_key("my key", "sk-ant-…"));
//! #   let (folder, server) = (tempfile::tempdir().unwrap(), scripted());
//! #   std::fs::write(folder.path().join("README"), "It counts horses.").unwrap();
//! #   let base_url = Some(server.url());
//! #   let options = Options { cwd: folder.path().into(), base_url, model: "scripted".into(), ..options };
//!     let engine = Engine::open(&init, options)?;
//!     ostler::block_on(async {
//!         let mut turn = engine.submit("What does this project do?");
//! #       let mut told = String::new();
//!         while let Some(event) = turn.next().await {
//! #           if let Event::TextDelta(text) = &event { told += text }
//!             if let Event::TextDelta(text) = event { print!("{text}") }
//!         }
//! #       assert_eq!(told, "I look.It counts horses.");
//! #       assert_eq!(server.rejected(), Vec::<String>::new());
//!     })
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
//! - **A turn is a pull stream.** Nothing runs unless it is polled; a slow reader slows the model down; dropping the
//!   stream stops the request and every process it started.
//! - **No environment, no home folder, no terminal.** What a caller wants from those, it passes in [`Options`].

mod ask;
mod check;
mod command;
mod declared;
mod engine;
mod error;
mod init;
mod options;
mod report;
mod rule_sets;
mod session;
mod standing;
mod surroundings;
mod system;
mod url;

pub use ask::ask;
pub use check::{Case, Judged, check, judge, judge_with_path};
pub use command::{allowed_environment, run_command};
pub use engine::{Engine, block_on};
pub use error::Error;
pub use init::{Init, init};
pub use options::{Options, SessionChoice, api_key, bearer};
pub use ostler_config as config;
pub use ostler_core::context::{Bounds, Receipt, Trigger, report::Share};
pub use ostler_core::event::{Denial, Event, Finished, Level, ModelUsage};
pub use ostler_core::ids::{CallId, ModelId, SessionId};
pub use ostler_core::ledger::{Price, Usage};
pub use ostler_core::message::{Block, Image, Message, ResultPart};
pub use ostler_core::model::{Retry, StopReason, Thinking};
pub use ostler_core::permission::script::Word;
pub use ostler_core::permission::{
    Access, Act, Bound, By, Caution, Commands, Decision, Effect, Fallback, Mode, PathScope, Policy,
    Position, Reason, Rule, RuleError, Source, Step, Tier, Touch, TouchKind, Verdict, Workspace,
};
pub use ostler_core::ports::{
    Approvals, Approver, BoxFuture, ModelInfo, Question, Reply, SessionInfo, StoreError, Tool,
};
pub use ostler_core::turn::{Continue, Limits, Terminal};
pub use ostler_engine::{ContextSettings, Settings, TurnStream};
pub use ostler_exec::strip_terminal;
pub use ostler_instructions::Places as InstructionPlaces;
pub use ostler_models::resolve_model as model;
pub use ostler_models::{CaFile, Credentials, Deadlines, ProxySettings};
pub use ostler_store::Fault;
pub use report::{ContextReport, context_report};
pub use rule_sets::{rule_matches, rule_set};
pub use session::list_sessions;
pub use system::{is_uuid, new_uuid, now_ms, now_text};
