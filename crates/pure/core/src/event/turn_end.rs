//! How a turn ended, with everything a caller needs to report it.

use crate::ids::{CallId, ModelId};
use crate::ledger::{Left, Usage};
use crate::model::StopReason;
use crate::permission::Decision;
use crate::turn::Terminal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finished {
    pub terminal: Terminal,
    /// The last answer's text.
    pub text: String,
    /// What failed, in one line, when something did.
    pub error: Option<String>,
    pub error_status: Option<u16>,
    pub stop: Option<StopReason>,
    pub iterations: u32,
    pub usage: Usage,
    pub per_model: Vec<ModelUsage>,
    pub cost: Option<f64>,
    pub denials: Vec<Denial>,
    /// Calls that ran, whatever they gave back.
    pub calls_run: u32,
    pub api_time_ms: u64,
    /// What is left of the budgets, if there are any.
    pub budgets: Vec<Left>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    pub model: ModelId,
    pub usage: Usage,
    pub cost: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Denial {
    pub id: CallId,
    pub name: String,
    pub input: Value,
    pub decision: Decision,
}
