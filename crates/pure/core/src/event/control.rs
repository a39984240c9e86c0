//! What can be changed while a session runs.

use crate::ids::ModelId;
use crate::model::Thinking;
use crate::permission::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    pub mode: Mode,
    pub model: ModelId,
    pub thinking: Thinking,
    /// Rules that were set in the session, besides those from files and flags.
    #[serde(default, skip_serializing_if = "SessionRules::is_empty")]
    pub rules: SessionRules,
    /// Directories that were added to the session, besides those it was opened with. Absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dirs: Vec<PathBuf>,
}

/// Rules such as `Read` or `Edit(./src/**)`, as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionRules {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl SessionRules {
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.ask.is_empty() && self.deny.is_empty()
    }
}
