//! A scripted model behind a real HTTP server, as strict as the real Messages API.
//!
//! A [`Script`] is a list of steps. Each request takes the first step that is not used up and fits
//! it; the step's [`Reply`] says when the answer is due, what it holds, how its bytes are delivered
//! and where it breaks. The same step serves a streaming and a plain request.
//!
//! ```
//! use ostler_model_server::{Match, ModelServer, Script, calls, text};
//! use serde_json::json;
//!
//! let script = Script::new()
//!     .answer(calls([("Bash", json!({"command": "ls"}))]))
//!     .status(529)
//!     .times(3)
//!     .answer(text("There is one file."))
//!     .expect(Match::tool_result("main.rs"));
//! let server = ModelServer::start(script)?;
//! // ... point a client at server.url() ...
//! assert!(server.rejected().is_empty());
//! # Ok::<(), ostler_model_server::ServerError>(())
//! ```
//!
//! Invariants:
//! - The crate knows the wire and nothing else: no type of the harness is used or needed.
//! - A request the real API would refuse is refused here with a message of the same shape, is
//!   recorded ([`ModelServer::rejected`]) and uses up no step.
//! - The server lives on a thread and a runtime of its own, so neither a blocked test nor a paused
//!   test clock can stop it. Dropping [`ModelServer`] frees port, tasks and connections.
//! - Ids and usage numbers are a function of the requests and the script; there is no randomness.
//! - Sizes, counts and waits have a bound ([`ModelLimits`]); a stalled reply ends at the latest with it.
//!
//! Deliberately absent: TLS, HTTP/2, compression, addresses other than loopback, server-side tools
//! (web search and the like), JSON-schema answers, and any output to the terminal.

mod billing;
mod builders;
mod cache;
mod connection;
mod error;
mod gates;
mod http;
mod log;
mod record;
mod reply;
mod request_match;
mod script;
mod sent_thinking;
mod server;
mod state;
mod validate;

pub use billing::{Bill, BillRow, Billed, Prices};
pub use builders::{At, after, calls, raw, redirect, sse, status, text, think};
pub use error::{ScriptError, ServerError};
pub use gates::ReplyGate;
pub use log::LogEntry;
pub use record::{Headers, Recorded, RequestVerdict, ServedOutcome};
pub use request_match::Match;
pub use script::{
    Compute, Cut, FloodKind, Framing, How, Insert, ModelLimits, Newline, OnEnd, Part, Point, Reply,
    ReplyBody, ReplyDelivery, Script, ScriptSource, ScriptStep, ScriptedAnswer, ScriptedStop,
    ServerRules, Times, ToolInput, UsageNumbers, UsageRule, Wait,
};
pub use server::ModelServer;
