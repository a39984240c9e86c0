//! Runs one turn: performs the steps of the pure machine and reports their outcomes.
//!
//! Invariants
//! - **A call that changes something starts only after its answer is complete and on disk** (the seal).
//! - **A turn is a pull stream**: a slow reader slows the model down; dropping the stream stops everything it started.
//! - **Every fact is on disk before anything follows from it**; a failing store ends the turn.
//!
//! Deliberately absent: providers, tools, files, terminals, teams. They come in through ports.

mod agent;
mod answer_stream;
mod budget;
mod call;
mod changed_input;
mod compact;
mod context;
mod controls;
mod delivery;
mod gate;
mod hook_calls;
mod hooks;
mod inbox;
mod journal;
mod meter;
mod open_calls;
mod own_call;
mod payment;
mod program_call;
mod replaced_result;
mod room;
mod run;
mod sample;
mod scheduler;
mod settle;
mod side_request;
mod signals;
mod start_rule;
mod summarise;
mod sync_pool;
mod tally;
mod task_budget;
mod texts;
mod tool_desk;
mod toolbox;
mod turn_stream;

pub use agent::{Agent, ModelChoice, Settings};
pub use budget::OwnBudget;
pub use context::{Context, ContextSettings};
pub use controls::Controls;
pub use gate::{Gate, WorkCopy};
pub use hooks::{HookDesk, Subagent};
pub use inbox::Inbox;
pub use journal::Journal;
pub use meter::Meter;
pub use own_call::own_call;
pub use program_call::{CallEnd, CallNews, ProgramCall, program_call};
pub use run::{compact, resume_turn, run, run_with};
pub use side_request::{SideAnswer, SideRequestError, side_request, side_request_within};
pub use sync_pool::SyncPool;
pub use tool_desk::ToolDesk;
pub use toolbox::Toolbox;
pub use turn_stream::TurnStream;
