//! Why no agent was started, and why one got no message.

use crate::error::Error;
use crate::input::InputRefused;
use ostler_core::ports::StoreError;
use ostler_core::text::dollars;
use ostler_core::tool::ToolOutput;
use serde_json::json;

#[derive(Debug, thiserror::Error)]
pub(super) enum AgentRefused {
    #[error("{limit} agents are running already. Wait for one of them, or do the work yourself")]
    TooMany { limit: usize },
    #[error(
        "agents may start each other {limit} levels deep, and this one is at the last. Do the work yourself"
    )]
    TooDeep { limit: usize },
    #[error("the session is closing")]
    Closing,
    #[error("there is no kind of agent called \"{0}\"")]
    NoSuchKind(String),
    #[error("this session started no agent \"{0}\"")]
    NoSuchAgent(String),
    #[error("{0} is still running")]
    StillRunning(String),
    #[error("its session was kept in memory only, so it cannot go on. Start a new agent")]
    NotKept,
    #[error(
        "\"{0}\" asks for a worktree of its own (isolation: worktree), which is not available yet. Use another kind of agent"
    )]
    Worktree(String),
    #[error(
        "what it knows would cost about {} to send again, and the budget has {} left. Start a new agent with a short prompt, or do the work yourself",
        dollars(*needs), dollars(*left)
    )]
    CannotPay { needs: f64, left: f64 },
    #[error("it cannot run in the background: {0}")]
    NoJob(String),
    #[error("{0}")]
    NotRecorded(#[from] StoreError),
    #[error("{0}")]
    NotOpened(#[from] Error),
}

impl AgentRefused {
    /// For programs.
    fn code(&self) -> &'static str {
        match self {
            AgentRefused::TooMany { .. } => "too_many_agents",
            AgentRefused::TooDeep { .. } => "too_deep",
            AgentRefused::Closing => "closing",
            AgentRefused::NoSuchKind(_) => "no_such_kind",
            AgentRefused::NoSuchAgent(_) => "no_such_agent",
            AgentRefused::StillRunning(_) => "still_running",
            AgentRefused::NotKept => "not_kept",
            AgentRefused::Worktree(_) => "worktree",
            AgentRefused::CannotPay { .. } => "cannot_pay",
            AgentRefused::NoJob(_) => "no_job",
            AgentRefused::NotRecorded(_) => "not_recorded",
            AgentRefused::NotOpened(_) => "not_opened",
        }
    }

    pub(super) fn output(&self) -> ToolOutput {
        let text = format!("The agent was not started: {self}.");
        ToolOutput { detail: Some(json!({ "refused": self.code() })), ..ToolOutput::error(text) }
    }
}

/// Why an agent got no message.
#[derive(Debug, thiserror::Error)]
pub(super) enum MessageRefused {
    #[error(
        "{name} has ended. To go on with it, call Agent with resume \"{name}\" and the message as prompt"
    )]
    Ended { name: String },
    #[error("you started no agent \"{name}\". {}", running_agents(.running))]
    NoSuchAgent { name: String, running: Vec<String> },
    #[error("{0}")]
    NotTaken(#[from] InputRefused),
}

fn running_agents(names: &[String]) -> String {
    match names.is_empty() {
        true => "None is running".to_owned(),
        false => format!("Running: {}", names.join(", ")),
    }
}

impl MessageRefused {
    pub(super) fn output(&self) -> ToolOutput {
        let code = match self {
            MessageRefused::Ended { .. } => "ended",
            MessageRefused::NoSuchAgent { .. } => "no_such_agent",
            MessageRefused::NotTaken(_) => "not_taken",
        };
        let text = format!("The message was not sent: {self}.");
        ToolOutput { detail: Some(json!({ "refused": code })), ..ToolOutput::error(text) }
    }
}
