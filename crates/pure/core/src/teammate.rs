//! What a teammate is doing in its team, as everybody sees it. The rules behind it are in `ostler_board::protocol`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeammateStatus {
    pub name: String,
    pub phase: TeammatePhase,
    /// What it is working on, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Whom it answers or waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// Why it is parked or was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeammatePhase {
    #[default]
    Idle,
    /// It has made a request that is not in the mailbox yet.
    Requesting,
    /// For the answer to a request.
    Waiting,
    /// It works on a task or on somebody's request.
    Responding,
    /// It failed too often and gets no mail.
    Parked,
    /// It was shut down and gets no mail.
    Stopped,
}

/// A plan that waits for its approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanView {
    pub text: String,
    pub sha256: String,
}

impl TeammatePhase {
    pub fn name(self) -> &'static str {
        match self {
            TeammatePhase::Idle => "idle",
            TeammatePhase::Requesting => "requesting",
            TeammatePhase::Waiting => "waiting",
            TeammatePhase::Responding => "responding",
            TeammatePhase::Parked => "parked",
            TeammatePhase::Stopped => "stopped",
        }
    }
}

impl TeammateStatus {
    pub fn idle(name: &str) -> Self {
        TeammateStatus { name: name.to_owned(), ..TeammateStatus::default() }
    }

    /// In a few words, without the name.
    pub fn words(&self) -> String {
        let task = self.task.as_ref().map(|task| format!(" on \"{task}\"")).unwrap_or_default();
        let with = self.with.as_deref().unwrap_or("somebody");
        match self.phase {
            TeammatePhase::Responding => format!("working{task}"),
            TeammatePhase::Waiting => format!("waiting for an answer from {with}"),
            TeammatePhase::Requesting => format!("asking {with}"),
            phase => phase.name().to_owned(),
        }
    }
}

/// The last known status of each.
pub(crate) fn add(teammates: &mut Vec<TeammateStatus>, status: TeammateStatus) {
    match teammates.iter_mut().find(|had| had.name == status.name) {
        Some(had) => *had = status,
        None => teammates.push(status),
    }
}
