//! What can be changed while a session runs.

use crate::ids::ModelId;
use crate::model::Thinking;
use crate::permission::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    pub mode: Mode,
    pub model: ModelId,
    pub thinking: Thinking,
}
