//! The session as frames describe it.

use super::pipe_servers::state_name;
use crate::session_facts::SessionFacts;
use ostler::{AgentPath, JobView, Session, ToolFacts};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What frames say about the session as it is at that moment.
pub trait LiveSession {
    fn facts(&self) -> SessionFacts;
    fn jobs(&self) -> Vec<JobView>;
    /// What a tool declares.
    fn tool(&self, name: &str) -> ToolFacts;
    /// The session of an agent, by its path.
    fn agent_session(&self, path: &AgentPath) -> Option<String>;
    /// Names of the kinds of agents that can be started.
    fn agents(&self) -> Vec<String>;
    fn mcp_servers(&self) -> Value;
    /// Plugins of this run: name and path of each.
    fn plugins(&self) -> Value;
}

/// An open session.
pub struct SessionView {
    pub session: Session,
    pub key_source: String,
    pub version: String,
    pub output_style: String,
    pub agents: Vec<String>,
    /// Names, versions and directories.
    pub plugins: Vec<(String, String, PathBuf)>,
}

impl LiveSession for SessionView {
    fn facts(&self) -> SessionFacts {
        let output_style = self.output_style.clone();
        let facts = SessionFacts::of(&self.session, &self.key_source, &self.version);
        SessionFacts { output_style, ..facts }
    }

    fn jobs(&self) -> Vec<JobView> {
        self.session.jobs()
    }

    fn agent_session(&self, path: &AgentPath) -> Option<String> {
        let agents = self.session.agents();
        let agent = agents.iter().find(|agent| agent.path == *path)?;
        Some(agent.session.to_string())
    }

    fn tool(&self, name: &str) -> ToolFacts {
        self.session.known_tools().facts(name)
    }

    fn agents(&self) -> Vec<String> {
        self.agents.clone()
    }

    fn plugins(&self) -> Value {
        let entry = |(name, version, path): &(String, String, PathBuf)| {
            let mut entry = json!({ "name": name, "path": path });
            if !version.is_empty() {
                entry["version"] = version.as_str().into();
            }
            entry
        };
        self.plugins.iter().map(entry).collect()
    }

    fn mcp_servers(&self) -> Value {
        let servers = self.session.mcp_status();
        let entry = |server: &ostler::mcp_servers::ServerStatus| json!({ "name": server.name, "status": state_name(server.status) });
        servers.iter().map(entry).collect()
    }
}
