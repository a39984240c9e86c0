//! What the log of a session says of the agents that it started. The newest record of an agent counts.

use crate::ids::{CallId, SessionId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its own session.
    pub session: SessionId,
    /// The call that started it, or resumed it.
    pub call: CallId,
    pub name: String,
    pub kind: String,
    /// In a few words.
    pub task: String,
    pub state: AgentState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum AgentState {
    /// Written before its first request. In a log that nobody writes: the process died meanwhile.
    Running,
    Finished,
    Failed {
        why: String,
    },
}

impl AgentState {
    /// Why an agent failed that somebody stopped.
    pub const STOPPED: &str = "it was stopped";

    /// Somebody stopped it, so it did not fail by itself.
    pub fn is_stopped(&self) -> bool {
        matches!(self, AgentState::Failed { why } if why == AgentState::STOPPED)
    }

    pub fn is_running(&self) -> bool {
        *self == AgentState::Running
    }
}

/// The last known state of each, in the order in which they were started.
pub(super) fn add(agents: &mut Vec<AgentRecord>, record: AgentRecord) {
    match agents.iter_mut().find(|had| had.session == record.session) {
        Some(had) => *had = record,
        None => agents.push(record),
    }
}
