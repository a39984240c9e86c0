//! MCP servers: their configuration, connections, manifests and tools.
//!
//! Invariants
//! - **Nothing starts before its first use.** What a server offers is remembered on disk by the hash of its
//!   configuration, so a session lists the tools of a server that does not run.
//! - **A server belongs to nobody's turn.** Sessions with equal configurations share a connection; what one of them calls
//!   is cancelled when its future is dropped, and the connection goes on.
//! - **Everything a server says is data from a stranger**: names, schemas, lengths and messages are checked and bounded
//!   before anything else sees them.
//! - **A call is sent once.** A server that died is started again for the next call, never for the one that it broke off.
//! - **A program runs only through `exec`**: in a process group and a sandbox of its own, with the environment that was
//!   listed for it, and gone when we are.
//!
//! Deliberately absent: reading files and the environment (the caller passes both in), and deciding whether a call or a
//! server may run.

mod call;
mod channel_transport;
mod configuration;
mod configuration_text;
mod connection;
mod connections;
mod content;
mod error;
mod greeting;
mod handler;
mod http_client;
mod line_reader;
mod link;
mod list_watch;
mod manifest;
mod manifest_store;
mod metadata;
mod offers;
mod peer_requests;
mod plain_call;
mod program;
mod restart_limit;
mod sampling;
mod server;
mod sse_carrier;
mod status;
mod stdio;
mod tool;
mod tunnel;
mod variables;

pub use call::{CallEnd, ServerCall};
pub use configuration::{ServerConfig, ServerReach, ServerScope, ServerTransport};
pub use configuration_text::{ConfigFault, Configured, from_json, from_yaml};
pub use connections::{Connections, LaunchServer, PrepareServer};
pub use error::ServerError;
pub use handler::{Counterpart, Elicitation, ElicitationAnswer};
pub use http_client::{HttpAccess, HttpStack};
pub use manifest::{Manifest, PromptEntry, ToolEntry};
pub use sampling::{SampledText, SamplingAnswer, SamplingRequest, SamplingTerms};
pub use server::{Server, ServerLease, ServerNews};
pub use status::{ServerState, ServerStatus, ToolStatus};
pub use tool::McpTool;
pub use tunnel::{Tunnel, TunnelError};
pub use variables::{VariableUse, expand};
