//! A call that is itself a question to the person: what it asks, as every surface shows it. Only a person answers it; no
//! rule, mode or hook does.

use crate::mode::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum PersonRequest {
    /// Each question has choices, and can be answered in other words.
    Choices { questions: Vec<ChoiceQuestion> },
    /// Approval covers this plan only, by its hash. The session continues in one of the modes; the first is the default.
    Plan { plan: String, sha256: String, modes: Vec<Mode> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceQuestion {
    /// The whole question, ending with a question mark
    pub question: String,
    /// One or two words that name the topic, such as "Database"
    pub header: String,
    /// 2 to 4 choices; the user can always answer in their own words
    pub options: Vec<Choice>,
    /// Several choices can be selected
    #[serde(default)]
    pub multi_select: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// The choice in a few words
    pub label: String,
    /// What it means or leads to
    #[serde(default)]
    pub description: String,
}

impl PersonRequest {
    /// The input in which a person's answers arrive, by question.
    pub const ANSWERS: &str = "answers";
    /// The input in which the mode arrives that a person chose with a plan.
    pub const MODE: &str = "mode";

    /// Why nothing but a person can decide the call.
    pub fn why(&self) -> &'static str {
        match self {
            PersonRequest::Choices { .. } => "it is a question to the user",
            PersonRequest::Plan { .. } => "only the user can approve a plan",
        }
    }
}
