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

/// What became of the plan of a teammate for one of its tasks, as the log of the lead has it. Boards only carry plans and
/// answers: whoever can write there must not be able to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Its address: a fork of the session has another team.
    pub teammate: String,
    /// The mail with the task.
    pub task: String,
    pub sha256: String,
    pub state: PlanState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// The teammate has sent it, and nobody has decided.
    Sent,
    Approved,
    Refused,
    /// The task is over, and so is what was approved for it.
    Over,
}

impl PlanState {
    pub fn name(self) -> &'static str {
        match self {
            PlanState::Sent => "sent",
            PlanState::Approved => "approved",
            PlanState::Refused => "refused",
            PlanState::Over => "over",
        }
    }
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

/// The last plan for each task. What is over stays so.
pub(crate) fn add_plan(plans: &mut Vec<PlanRecord>, plan: PlanRecord) {
    let is_same = |had: &&mut PlanRecord| had.teammate == plan.teammate && had.task == plan.task;
    match plans.iter_mut().find(is_same) {
        Some(had) if had.state == PlanState::Over => {}
        Some(had) => *had = plan,
        None => plans.push(plan),
    }
}

/// The last known status of each.
pub(crate) fn add(teammates: &mut Vec<TeammateStatus>, status: TeammateStatus) {
    match teammates.iter_mut().find(|had| had.name == status.name) {
        Some(had) => *had = status,
        None => teammates.push(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(teammate: &str, task: &str, state: PlanState) -> PlanRecord {
        let (teammate, task) = (teammate.to_owned(), task.to_owned());
        PlanRecord { teammate, task, sha256: "0a".into(), state }
    }

    #[test]
    fn the_last_plan_for_a_task_counts_until_the_task_is_over() {
        let mut plans = Vec::new();
        let steps = [
            plan("writer", "a", PlanState::Sent),
            plan("writer", "b", PlanState::Sent),
            plan("tester", "a", PlanState::Refused),
            plan("writer", "a", PlanState::Approved),
            plan("writer", "b", PlanState::Over),
            plan("writer", "b", PlanState::Approved),
        ];
        steps.clone().into_iter().for_each(|step| add_plan(&mut plans, step));
        assert_eq!(plans, [steps[3].clone(), steps[4].clone(), steps[2].clone()]);
    }
}
