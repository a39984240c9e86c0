//! What the engine needs from the world, one trait each. Test doubles and real parts implement the same.

pub mod approver;
pub mod authorizer;
pub mod blobs;
pub mod context;
pub mod delegate;
pub mod hooks;
pub mod jobs;
pub mod ledger;
pub mod memory;
pub mod mode_switch;
pub mod model;
pub mod session_store;
pub mod task_board;
pub mod teamwork;
pub mod tool;
pub mod web;

pub use approver::{Approvals, Approver, Reply};
pub use authorizer::{Authorizer, HttpServer, LoginSettings, NeedsAuth};
pub use blobs::Blobs;
pub use context::{Attachment, BeforeCompact, Carried, Carrying, Permit, Place, Reminder};
pub use delegate::{AgentKind, AgentOrder, Delegate};
pub use hooks::{Hook, Hooks, NoHooks};
pub use jobs::{JobPlace, JobWork, Jobs};
pub use ledger::{Ledger, LedgerError, NoLedger, Reserved};
pub use memory::MemoryStore;
pub use mode_switch::ModeSwitch;
pub use model::{Model, ModelInfo, ModelStream};
pub use session_store::{Loaded, SessionInfo, SessionLog, SessionStore, StoreError};
pub use task_board::{BoardChange, BoardLook, BoardOrder, TaskBoard};
pub use teamwork::Teamwork;
pub use tool::{Arrivals, NoArrivals, Progress, Recorder, Tool, ToolContext};
pub use web::{Web, WebAnswer, WebFindings, WebHit, WebPage, WebSearch};

use std::future::Future;
use std::pin::Pin;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
