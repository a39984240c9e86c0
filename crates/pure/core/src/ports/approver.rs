//! Who answers when a call must ask, and where an answer for the future is kept.

use super::BoxFuture;
use crate::ids::{CallId, QuestionId};
use crate::permission::{Access, Reason, Rule};
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Question {
    pub id: QuestionId,
    pub call: CallId,
    pub tool: String,
    pub input: Value,
    pub access: Access,
    /// In one line.
    pub why: String,
    pub reasons: Vec<Reason>,
    /// Rules that would allow it from now on. Empty: "always" is not offered, only this very call for the session.
    pub offer: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Yes,
    /// Yes, and until the session ends for what the offered rules cover; without an offer for this very call.
    YesForSession,
    /// Yes, and the offered rules hold in this project from now on.
    YesForProject,
    /// No, and what to tell the model.
    No(String),
    /// Nobody could answer, and what to tell the model.
    Unanswered(String),
}

pub trait Approver: Send + Sync {
    /// Dropping the future withdraws the question.
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply>;
}

/// Keeps the rules a user has accepted for a project.
pub trait Approvals: Send + Sync {
    /// # Errors
    /// In words for the user: they then hold for the session only.
    fn keep(&self, rules: &[Rule]) -> Result<(), String>;
}
