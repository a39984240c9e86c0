//! An event with where it comes from.

use super::Event;
use crate::ids::{CallId, SessionId};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Grows when something is renamed, removed or changes its meaning; additions leave it as it is.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    pub version: u32,
    /// Counts the envelopes of a session since it was opened, from 1, without gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub session: SessionId,
    /// The agent inside the session that speaks.
    #[serde(default, skip_serializing_if = "AgentPath::is_root")]
    pub agent: AgentPath,
    /// The call that started that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    pub event: Event,
}

/// The names from the session's own agent, the root, down to one that it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AgentPath(Arc<[String]>);

impl AgentPath {
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of an agent that this one starts.
    #[must_use]
    pub fn child(&self, name: impl Into<String>) -> Self {
        AgentPath(self.0.iter().cloned().chain([name.into()]).collect())
    }

    /// The same path as the agent above sees it, which calls this one's root by a name.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        AgentPath([name.to_owned()].into_iter().chain(self.0.iter().cloned()).collect())
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }
}

/// `/` is the root, `/review/tests` the agent `tests` that `review` started.
impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.join("/"))
    }
}
