//! What became of a call.

use crate::permission::By;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CallOutcome {
    Succeeded,
    /// It ran, and its result is an error.
    Failed,
    /// It was not allowed to run. The call's decision says why.
    Denied {
        by: By,
    },
    /// It did not run for another reason.
    NotRun {
        why: NotRun,
    },
    /// It was interrupted while it ran; what it did until then is done.
    Stopped,
    /// The tool failed inside the harness.
    Panicked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotRun {
    UnknownTool,
    /// The tool cannot be called like this.
    BadInput,
    /// The output limit cut the call off.
    CutOff,
    /// The turn was interrupted before it started.
    Interrupted,
    /// A hook ended the turn before it started.
    HookEndedTurn,
    /// The answer that asked for it spent the rest of the budget.
    BudgetSpent,
    /// The user said something else before it started.
    Redirected,
}

impl CallOutcome {
    pub fn is_denied(self) -> bool {
        matches!(self, CallOutcome::Denied { .. })
    }
}
