//! What is remembered across sessions: facts with where they come from.

use crate::ids::SessionId;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something worth knowing in a later session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFact {
    pub text: String,
    pub kind: FactKind,
    pub scope: Scope,
    pub origin: Origin,
    /// A later fact of the same session and key takes this one's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    Fact,
    Decision,
    Preference,
    HowTo,
}

impl FactKind {
    pub const ALL: [FactKind; 4] =
        [FactKind::Preference, FactKind::Decision, FactKind::HowTo, FactKind::Fact];

    pub fn name(self) -> &'static str {
        match self {
            FactKind::Fact => "fact",
            FactKind::Decision => "decision",
            FactKind::Preference => "preference",
            FactKind::HowTo => "how-to",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        FactKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for FactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose fact it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[default]
    Project,
    /// Holds in every project of this user.
    User,
}

/// Where a fact was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The call or file it comes from, or who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A fact in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// `p12` of the project, `u3` of the user.
    pub id: String,
    pub text: String,
    pub kind: FactKind,
    pub scope: Scope,
    pub origin: Origin,
    /// When it was last stated.
    pub at: Timestamp,
}

/// What a search gives: the best first, and what the reader must know about the search itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    pub memories: Vec<Memory>,
    pub note: Option<String>,
}

/// What became of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptMemory {
    New(String),
    /// It is new and took back older ones, which are gone.
    Instead(String, Vec<String>),
    /// It was known; only its date changed.
    Known(String),
}

impl KeptMemory {
    pub fn id(&self) -> &str {
        match self {
            KeptMemory::New(id) | KeptMemory::Instead(id, _) | KeptMemory::Known(id) => id,
        }
    }

    pub fn is_new(&self) -> bool {
        !matches!(self, KeptMemory::Known(_))
    }
}

impl fmt::Display for KeptMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeptMemory::New(id) => write!(f, "Saved as {id}."),
            KeptMemory::Instead(id, older) => {
                write!(f, "Saved as {id}, replacing {}.", older.join(", "))
            }
            KeptMemory::Known(id) => write!(f, "Already saved as {id}."),
        }
    }
}

/// A fact that memory saved or forgot; the person is informed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryChange {
    /// False: it was forgotten.
    pub kept: bool,
    pub id: String,
    pub kind: FactKind,
    pub scope: Scope,
    pub text: String,
}

impl fmt::Display for MemoryChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryChange { id, kind, text, .. } = self;
        let what = if self.kept { "saved" } else { "forgot" };
        let place = match self.scope {
            Scope::Project => "in this project",
            Scope::User => "in all projects",
        };
        write!(f, "Memory {what} {id}, a {kind} {place}: {text}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The fact itself is the reason.
    #[error("{0}")]
    Refused(String),
    #[error("there is no memory {0}")]
    NotFound(String),
    #[error("memory cannot be used: {0}")]
    Unavailable(String),
}
