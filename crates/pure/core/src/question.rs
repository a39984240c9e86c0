//! A question to the person, as an object that survives a crash and that any surface can answer.

use crate::event::AgentPath;
use crate::ids::{CallId, QuestionId};
use crate::permission::{Access, Decision, Mode, PathScope, PersonRequest};
use crate::ports::Reply;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub id: QuestionId,
    /// Who asks.
    #[serde(default, skip_serializing_if = "AgentPath::is_root")]
    pub agent: AgentPath,
    pub call: CallId,
    pub tool: String,
    /// What would run.
    pub input: Value,
    pub touches: Touches,
    /// What the call itself asks; none: whether it may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Arc<PersonRequest>>,
    /// Why it asks, and the rules that would allow it from now on.
    pub decision: Decision,
    /// When it is refused if nobody answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

impl Question {
    /// The reply that gives a person's answers, each with the text of its question.
    pub fn answered(&self, answers: impl IntoIterator<Item = (String, String)>) -> Reply {
        let answers = answers.into_iter().map(|(question, answer)| (question, answer.into()));
        let answers: Map<String, Value> = answers.collect();
        self.completed(PersonRequest::ANSWERS, answers.into())
    }

    /// The reply that approves a plan; the session continues in this mode.
    pub fn approved(&self, mode: Mode) -> Reply {
        self.completed(PersonRequest::MODE, mode.name().into())
    }

    fn completed(&self, name: &str, value: Value) -> Reply {
        let mut input = self.input.clone();
        if let Some(fields) = input.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
        Reply::YesWithInput(input)
    }
}

/// What a call would touch, as far as a person needs to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Touches {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Place>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Place>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contacts: Vec<String>,
    /// It may touch more than these.
    #[serde(default)]
    pub unknown: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    pub path: PathBuf,
    /// And everything below it.
    #[serde(default)]
    pub below: bool,
}

impl From<&Access> for Touches {
    fn from(access: &Access) -> Self {
        Touches {
            reads: access.reads.iter().map(Place::from).collect(),
            changes: access.writes.iter().map(Place::from).collect(),
            contacts: access.hosts.clone(),
            unknown: !access.known,
        }
    }
}

impl From<&PathScope> for Place {
    fn from(scope: &PathScope) -> Self {
        let (path, below) = match scope {
            PathScope::File(path) => (path, false),
            PathScope::Tree(path) => (path, true),
        };
        Place { path: path.clone(), below }
    }
}

/// How a question ended, for those who did not answer it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum QuestionEnd {
    /// `by` is the surface through which it was answered.
    Answered { by: String, allowed: bool },
    /// Nobody could answer, or not in time.
    Unanswered { why: String },
    /// The call is not going to run, whatever the answer.
    Withdrawn,
}
