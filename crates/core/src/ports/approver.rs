//! Who answers when a call must ask.

use super::BoxFuture;
use crate::ids::CallId;
use crate::permission::Access;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Question {
    pub call: CallId,
    pub tool: String,
    pub input: Value,
    pub access: Access,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Yes,
    /// Yes, and for this tool until the session ends.
    YesForSession,
    /// No, and what to tell the model.
    No(String),
}

pub trait Approver: Send + Sync {
    /// Dropping the future withdraws the question.
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply>;
}
