//! The agents of all sessions on this machine, as any terminal sees them: read from the logs, the ledger and the locks that
//! living processes hold, without taking part in anything.

mod gathering;
mod log_signs;
mod session_signs;
mod teammates;

use crate::error::Error;
use gathering::Gathering;
use ostler_core::ids::SessionId;
use ostler_core::teammate::TeammateStatus;
use serde::Serialize;
use std::path::{Path, PathBuf};
pub use teammates::live_addresses;

/// Ended sessions that are listed.
const MOST_ENDED: usize = 10;

/// What an agent, or the session itself, is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentActivity {
    /// In a turn.
    Working,
    /// A living process has the session open, and no turn is running.
    Idle,
    Finished,
    Failed,
    /// Somebody stopped it.
    Stopped,
    /// Its process died while it was working.
    Lost,
}

/// What it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum Blocked {
    /// A person has to decide about a call.
    Question { tool: String, subject: String },
    /// The model's last request failed and is sent again.
    Retry { attempt: u64, error: String },
}

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CurrentCall {
    pub tool: String,
    pub subject: String,
}

/// An agent of some session; the session's own one has the path `/`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineAgent {
    pub path: String,
    /// Its own session.
    pub session: SessionId,
    pub workspace: Option<PathBuf>,
    /// `main` for the session's own agent.
    pub kind: String,
    pub task: String,
    pub state: AgentActivity,
    /// What a teammate is doing in its team; none for other agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeammateStatus>,
    /// Why it failed.
    pub why: Option<String>,
    pub blocked: Option<Blocked>,
    /// When its running turn began, in milliseconds since 1970. None: it is not working.
    pub since_ms: Option<u64>,
    /// What it is running.
    pub call: Option<CurrentCall>,
    /// With the agents below it. None: nobody knows.
    pub cost_usd: Option<f64>,
    /// The last line that it said.
    pub last_line: Option<String>,
    pub agents: Vec<MachineAgent>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentsView {
    pub sessions: Vec<MachineAgent>,
    /// Agents beyond the limit of 1 000.
    pub left_out: usize,
}

/// The sessions of this home directory that run and the agents that work in them; with `all` also agents that have ended,
/// and the newest sessions that have.
///
/// # Errors
/// If the sessions cannot be listed.
pub fn machine_agents(home: &Path, all: bool) -> Result<AgentsView, Error> {
    let mut gathering = Gathering::new(home, all)?;
    let mut ids = gathering.running();
    if all {
        let newest = gathering.store.newest_sessions(MOST_ENDED)?;
        ids.extend(newest.into_iter().rev());
    }
    let mut sessions: Vec<MachineAgent> = Vec::new();
    for id in ids {
        if sessions.iter().all(|had| had.session != id) {
            sessions.extend(gathering.session(&id));
        }
    }
    Ok(AgentsView { sessions, left_out: gathering.left_out })
}
