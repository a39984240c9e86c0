//! Why no agent was started, and why one got no message.

use crate::error::Error;
use crate::input::InputRefused;
use ostler_core::ports::StoreError;
use ostler_core::text::fill;
use ostler_core::tool::ToolOutput;
use serde_json::json;

const TEAMMATE: &str = include_str!("../../../../../prompts/results/teammate.md").trim_ascii();
const ENDED: &str = include_str!("../../../../../prompts/results/ended-agent.md").trim_ascii();

#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentRefused {
    #[error("{}. Wait for one to end, or do the work yourself", already_running(*limit))]
    TooMany { limit: usize },
    #[error("{}. Do the work yourself", deepest(*limit))]
    TooDeep { limit: usize },
    #[error("the session is closing")]
    Closing,
    #[error("there is no kind of agent called \"{0}\"")]
    NoSuchKind(String),
    #[error("this session has not started an agent named \"{0}\"")]
    NoSuchAgent(String),
    #[error("{0} is still running")]
    StillRunning(String),
    #[error("{}", fill(TEAMMATE, &[("name", .0)]))]
    Teammate(String),
    #[error("its session was kept in memory only, so it cannot go on. Start a new agent")]
    NotKept,
    #[error(
        "\"{0}\" needs a worktree of its own (isolation: worktree), and an agent that works in a worktree cannot start one. Use another kind of agent"
    )]
    Worktree(String),
    #[error(
        "what it knows would cost about {} to send again, and the budget has {} left. Start a new agent with a short prompt, or do the work yourself",
        format_args!("${needs:.4}"), format_args!("${left:.4}")
    )]
    CannotPay { needs: f64, left: f64 },
    #[error("it cannot run in the background: {0}")]
    NoJob(String),
    /// It was opened, and did nothing.
    #[error("it cannot run in the background: {why}")]
    NotDetached { name: String, why: String },
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
            AgentRefused::Teammate(_) => "teammate",
            AgentRefused::NotKept => "not_kept",
            AgentRefused::Worktree(_) => "worktree",
            AgentRefused::CannotPay { .. } => "cannot_pay",
            AgentRefused::NoJob(_) | AgentRefused::NotDetached { .. } => "no_job",
            AgentRefused::NotRecorded(_) => "not_recorded",
            AgentRefused::NotOpened(_) => "not_opened",
        }
    }

    pub(super) fn output(&self) -> ToolOutput {
        let text = match self {
            AgentRefused::NotDetached { name, .. } => {
                format!("The agent {name} was stopped before it did anything: {self}.")
            }
            _ => format!("The agent was not started: {self}."),
        };
        ToolOutput { detail: Some(json!({ "refused": self.code() })), ..ToolOutput::error(text) }
    }
}

fn already_running(limit: usize) -> String {
    match limit {
        1 => "1 agent is already running, which is the limit".to_owned(),
        _ => format!("{limit} agents are already running, which is the limit"),
    }
}

fn deepest(limit: usize) -> String {
    match limit {
        0 => "agents are turned off (maxAgentDepth is 0)".to_owned(),
        1 => "agents cannot start agents (maxAgentDepth is 1)".to_owned(),
        _ => format!("agents can be nested {limit} levels deep, and you are at the last level"),
    }
}

/// Why an agent got no message.
#[derive(Debug, thiserror::Error)]
pub(super) enum MessageRefused {
    #[error("{}", fill(ENDED, &[("name", .name)]))]
    Ended { name: String },
    #[error("you have not started an agent \"{name}\". {}", running_agents(.running))]
    NoSuchAgent { name: String, running: Vec<String> },
    #[error("{0}")]
    NotTaken(#[from] InputRefused),
}

fn running_agents(names: &[String]) -> String {
    match names.is_empty() {
        true => "No agent is running".to_owned(),
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
