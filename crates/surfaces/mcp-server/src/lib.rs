//! Ostler as an MCP server: its tools, and a whole agent, for clients that speak MCP over a pipe or over HTTP.
//!
//! Invariants
//! - **Nothing passes by the gate.** A tool call is a call of a session: judged, asked about, shown to hooks, confined,
//!   recorded and undoable like a call that a model makes.
//! - **Only tools that read are on offer** unless somebody names more. Where nobody can be asked, what needs approval is
//!   denied.
//! - **Everything is bounded**: requests, connections, calls that run or wait, open questions, agents below agents.
//!
//! Deliberately absent: rules about tools. Which exist and what they may do is decided below this crate.

mod agent_tool;
mod depth;
mod elicitation;
mod http_front;
mod http_limits;
mod offered_tools;
mod open_questions;
mod progress_notes;
mod running_call;
mod server;
mod stream_transport;
mod token;

pub use agent_tool::AgentOptions;
pub use depth::{DEPTH_VARIABLE, Depth, MOST_DEPTH};
pub use http_front::{HttpOptions, serve_http};
pub use offered_tools::offered_tools;
pub use server::{OstlerServer, ServerOptions};
pub use stream_transport::serve_stream;
pub use token::Token;
