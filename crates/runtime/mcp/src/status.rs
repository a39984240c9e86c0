//! How a server is, for people and programs.

use serde::Serialize;
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    Connected,
    /// Not started yet, or on its way.
    #[default]
    Pending,
    Failed,
    NeedsAuth,
    Disabled,
}

impl ServerState {
    pub fn name(self) -> &'static str {
        match self {
            ServerState::Connected => "connected",
            ServerState::Pending => "pending",
            ServerState::Failed => "failed",
            ServerState::NeedsAuth => "needs_auth",
            ServerState::Disabled => "disabled",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerStatus {
    pub name: String,
    pub status: ServerState,
    /// Name and version of the server itself, where it said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_info: Option<(String, String)>,
    /// Its tools as it calls them, with whether it calls them read-only.
    pub tools: Vec<ToolStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub scope: &'static str,
    /// Without secrets.
    pub config: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolStatus {
    pub name: String,
    pub description: String,
    pub read_only: bool,
}
