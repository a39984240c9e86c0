//! Everything one agent consists of: ports and limits.

use crate::context::{Context, ContextSettings};
use crate::controls::Controls;
use crate::gate::Gate;
use crate::hooks::HookDesk;
use crate::journal::Journal;
use crate::meter::Meter;
use crate::tool_desk::ToolDesk;
use ostler_core::ids::ModelId;
use ostler_core::ledger::Purse;
use ostler_core::model::Thinking;
use ostler_core::ports::Model;
use ostler_core::rendering::SharedList;
use ostler_core::turn::Limits;
use std::sync::Arc;
use std::time::Duration;

pub struct Agent {
    pub model: Arc<dyn Model>,
    pub controls: Controls,
    /// Stable parts first; the same for all requests of the session.
    pub system: SharedList<String>,
    pub tools: ToolDesk,
    /// Shared with those of agents that this one starts.
    pub gate: Arc<Gate>,
    pub hooks: HookDesk,
    pub journal: Journal,
    /// Shared by everything that spends for this agent.
    pub budget: Purse,
    pub meter: Meter,
    pub limits: Limits,
    pub settings: Settings,
    pub context: Context,
}

#[derive(Clone, Debug)]
pub struct ModelChoice {
    pub primary: ModelId,
    pub fallback: Option<ModelId>,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// The caller's own output limit: never escalated.
    pub output_limit: Option<u32>,
    pub default_output: u32,
    pub escalated_output: u32,
    /// At the start; it can be changed while the session runs.
    pub thinking: Thinking,
    /// Calls that run at the same time.
    pub max_parallel_calls: usize,
    /// Run no call before the answer is complete.
    pub after_the_answer: bool,
    pub retries: u32,
    /// Attempts on the primary model if there is a fallback model.
    pub retries_before_fallback: u32,
    /// Wait before a broken stream is asked again; doubled each time.
    pub stream_backoff: Duration,
    /// Bytes of a result that the model gets; the rest goes to a blob.
    pub result_cap: usize,
    pub raw_events: bool,
    /// Requests are sent as long as anything is left of the run's own budget, and the last one may exceed it; then its
    /// calls do not run. Otherwise what a request may cost is reserved.
    pub budget_may_be_exceeded: bool,
    pub context: ContextSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            output_limit: None,
            default_output: 8_000,
            escalated_output: 64_000,
            thinking: Thinking::Auto,
            max_parallel_calls: 16,
            after_the_answer: false,
            retries: 10,
            retries_before_fallback: 2,
            stream_backoff: Duration::from_millis(500),
            result_cap: 50_000,
            raw_events: false,
            budget_may_be_exceeded: false,
            context: ContextSettings::default(),
        }
    }
}
