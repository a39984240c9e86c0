//! What callbacks are told about the session as it is at that moment.

use super::transcript::TranscriptPlace;
use ostler::{AgentKind, KnownTools, ToolFacts};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

#[derive(Debug, Default)]
pub struct LiveFacts {
    mode: Mutex<String>,
    transcript: OnceLock<PathBuf>,
    session: OnceLock<String>,
    /// The message that is being worked on.
    prompt: Mutex<String>,
    tools: OnceLock<KnownTools>,
    /// Agents that people defined.
    defined: OnceLock<Vec<String>>,
}

impl LiveFacts {
    pub fn mode(&self) -> String {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_mode(&self, mode: &str) {
        mode.clone_into(&mut self.mode.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Empty before there was one.
    pub fn prompt(&self) -> String {
        self.prompt.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_prompt(&self, uuid: &str) {
        uuid.clone_into(&mut self.prompt.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What a tool declares; nothing for tools that came later.
    pub fn tool(&self, name: &str) -> ToolFacts {
        self.tools.get().map_or(ToolFacts::UNDECLARED, |tools| tools.facts(name))
    }

    pub fn set_tools(&self, tools: KnownTools) {
        let _ = self.tools.set(tools);
    }

    /// The kind of an agent by the name that programs know.
    pub fn agent_type<'a>(&self, kind: &'a str) -> &'a str {
        let defined = self.defined.get().is_some_and(|names| names.iter().any(|name| name == kind));
        match AgentKind::parse(kind).filter(|_| !defined) {
            Some(shipped) => shipped.names()[1],
            None => kind,
        }
    }

    pub fn set_agents(&self, defined: Vec<String>) {
        let _ = self.defined.set(defined);
    }

    /// Empty before it is open.
    pub fn session(&self) -> &str {
        self.session.get().map(String::as_str).unwrap_or_default()
    }

    pub fn set_session(&self, id: &str) {
        let _ = self.session.set(id.to_owned());
    }

    pub fn transcript(&self) -> Option<String> {
        self.transcript.get().map(|path| path.to_string_lossy().into_owned())
    }

    /// Of an agent that the session started.
    pub fn transcript_of(&self, agent: &str) -> Option<String> {
        let own = self.transcript.get()?;
        let place = TranscriptPlace {
            folder: own.parent()?.to_owned(),
            session: own.file_stem()?.to_string_lossy().into_owned(),
        };
        Some(place.of_agent(agent).0.to_string_lossy().into_owned())
    }

    pub fn set_transcript(&self, path: &Path) {
        let _ = self.transcript.set(path.to_owned());
    }
}
