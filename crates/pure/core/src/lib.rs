//! Ostler's shared vocabulary: types, the pure turn machine, and the ports.
//!
//! Invariants
//! - **No I/O, no async runtime, no clock, no randomness.** Functions get everything they need as arguments.
//! - **Only a [`view::View`] can be sent to a model, and a `View` is always a valid history**: each call has exactly one
//!   result, directly after it; roles alternate; thinking is never last.
//! - **Every turn ends**: each reason to continue is a [`turn::Continue`] with its own limit, each reason to end a
//!   [`turn::Terminal`]; a test walks the whole control graph.
//! - **Facts, not outcomes, are stored**: a log contains [`session::Entry`]s, and a [`session::SessionRecord`] is a fold over them.
//!
//! Deliberately absent: providers, files, processes, terminals, configuration files.

pub mod agent_definition;
pub mod answer;
pub mod context;
pub mod diff;
pub mod event;
pub mod hook;
pub mod ids;
pub mod inbox;
pub mod job;
pub mod late_tools;
pub mod ledger;
pub mod memory;
pub mod message;
pub mod model;
pub mod output_bound;
pub mod pairing;
pub mod ports;
pub mod prompt_texts;
pub mod question;
pub mod rendering;
pub mod session;
pub mod session_state;
pub mod teammate;
pub mod text;
pub mod time;
pub mod todo;
pub mod tool;
pub mod turn;
pub mod undo_notice;
pub mod view;

// A unit test cannot use the test code of another crate.
#[cfg(test)]
#[path = "../../policy/src/test_tools.rs"]
mod test_tools;

pub use ostler_policy as permission;
pub use ostler_policy::tool_facts;
