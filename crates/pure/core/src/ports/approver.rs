//! Who answers questions about calls, and where answers for the future are saved.

use super::BoxFuture;
use crate::permission::Rule;
use crate::question::Question;
use serde_json::Value;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Yes,
    /// Yes, until the session ends, for what the offered rules cover; without an offer, for exactly this call.
    YesForSession,
    /// Yes, and the offered rules hold in this project from now on.
    YesForProject,
    /// Yes, if the call runs with this input instead. It is judged like the model's own input, and only a question about it
    /// counts as answered.
    YesWithInput(Value),
    /// No, and what to tell the model.
    No(String),
    /// Nobody could answer, and what to tell the model.
    Unanswered(String),
}

impl Reply {
    pub fn allows(&self) -> bool {
        !matches!(self, Reply::No(_) | Reply::Unanswered(_))
    }
}

pub trait Approver: Send + Sync {
    /// The question is open once this returns. Dropping the future withdraws it.
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply>;

    /// How long a question waits for its answer; none if nothing limits it.
    fn patience(&self) -> Option<Duration> {
        None
    }
}

/// Keeps the rules a user has accepted for a project.
pub trait Approvals: Send + Sync {
    /// # Errors
    /// In words for the user: they then hold for the session only.
    fn keep(&self, rules: &[Rule]) -> Result<(), String>;
}
