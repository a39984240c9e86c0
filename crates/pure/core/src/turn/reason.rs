//! Why the loop continued, and why it ended. Each variant has one name on the wire.

use crate::model::ModelErrorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Continue {
    /// Tool results need another answer.
    NextTurn,
    CollapseDrainRetry {
        drained: u32,
    },
    ReactiveCompactRetry,
    /// Cut off at the default output limit: asked again with the higher one.
    MaxOutputTokensEscalate,
    /// Cut off again: the model is asked to continue.
    MaxOutputTokensRecovery {
        attempt: u8,
    },
    StopHookBlocking,
    TokenBudgetContinuation,
    ModelFallback,
    /// The stream broke before anything was changed by its calls.
    StreamRetry {
        attempt: u8,
    },
    PauseResume {
        attempt: u8,
    },
    /// The answer was empty.
    EmptyRetry {
        attempt: u8,
    },
    /// The provider rejected an image: a text replaces it now.
    ImageDropRetry,
    /// The provider refused replayed thinking: it is left out now.
    ThinkingDropRetry,
    /// Something arrived that the model is to know before it continues.
    Redirected,
}

impl Continue {
    pub fn name(self) -> &'static str {
        match self {
            Continue::NextTurn => "next_turn",
            Continue::CollapseDrainRetry { .. } => "collapse_drain_retry",
            Continue::ReactiveCompactRetry => "reactive_compact_retry",
            Continue::MaxOutputTokensEscalate => "max_output_tokens_escalate",
            Continue::MaxOutputTokensRecovery { .. } => "max_output_tokens_recovery",
            Continue::StopHookBlocking => "stop_hook_blocking",
            Continue::TokenBudgetContinuation => "token_budget_continuation",
            Continue::ModelFallback => "model_fallback",
            Continue::StreamRetry { .. } => "stream_retry",
            Continue::PauseResume { .. } => "pause_resume",
            Continue::EmptyRetry { .. } => "empty_retry",
            Continue::ImageDropRetry => "image_drop_retry",
            Continue::ThinkingDropRetry => "thinking_drop_retry",
            Continue::Redirected => "redirected",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", content = "kind", rename_all = "snake_case")]
pub enum Terminal {
    Completed,
    MaxTurns,
    MaxBudget,
    LedgerFailed,
    BlockingLimit,
    PromptTooLong,
    MaxOutputTokens,
    AbortedStreaming,
    AbortedTools,
    StopHookPrevented,
    HookStopped,
    ImageError,
    Refusal,
    ToolDeferred,
    #[serde(rename = "rapid_refill_breaker")]
    RapidRefill,
    ModelError(ModelErrorKind),
    StoreFailed,
}

impl Terminal {
    pub fn name(self) -> &'static str {
        match self {
            Terminal::Completed => "completed",
            Terminal::MaxTurns => "max_turns",
            Terminal::MaxBudget => "max_budget",
            Terminal::LedgerFailed => "ledger_failed",
            Terminal::BlockingLimit => "blocking_limit",
            Terminal::PromptTooLong => "prompt_too_long",
            Terminal::MaxOutputTokens => "max_output_tokens",
            Terminal::AbortedStreaming => "aborted_streaming",
            Terminal::AbortedTools => "aborted_tools",
            Terminal::StopHookPrevented => "stop_hook_prevented",
            Terminal::HookStopped => "hook_stopped",
            Terminal::ImageError => "image_error",
            Terminal::Refusal => "refusal",
            Terminal::ToolDeferred => "tool_deferred",
            Terminal::RapidRefill => "rapid_refill_breaker",
            Terminal::ModelError(_) => "model_error",
            Terminal::StoreFailed => "store_failed",
        }
    }

    /// The same for a person.
    pub fn words(self) -> &'static str {
        match self {
            Terminal::Completed => "done",
            Terminal::MaxTurns => "the turn limit is reached",
            Terminal::MaxBudget => "the budget does not allow another request",
            Terminal::LedgerFailed => "the budget cannot be checked",
            Terminal::BlockingLimit | Terminal::PromptTooLong => {
                "the conversation is too long for the model"
            }
            Terminal::MaxOutputTokens => "the answer kept reaching the output limit",
            Terminal::AbortedStreaming | Terminal::AbortedTools => "interrupted",
            Terminal::StopHookPrevented | Terminal::HookStopped => "stopped by a hook",
            Terminal::ImageError => "the provider refused an image",
            Terminal::Refusal => "the model refused",
            Terminal::ToolDeferred => "a call waits for its answer",
            Terminal::RapidRefill => "the window keeps filling up",
            Terminal::ModelError(_) => "the request to the model failed",
            Terminal::StoreFailed => "the session log cannot be written",
        }
    }

    /// One sentence for the person reading: what to do now. Empty when there is nothing to do.
    pub fn next_step(self) -> &'static str {
        match self {
            Terminal::Completed => "",
            Terminal::MaxTurns => "Raise --max-turns, or resume the session to continue.",
            Terminal::MaxBudget => {
                "Raise the budget (--max-budget-usd, or `budget` in the settings) and resume the session to continue."
            }
            Terminal::LedgerFailed => {
                "Fix the ledger or remove the shared budgets, then resume the session to continue."
            }
            Terminal::BlockingLimit => {
                "Summarize it with /compact, start a new session, or use a model with a larger window."
            }
            Terminal::PromptTooLong => {
                "The conversation does not fit the model's window. Start a new session, or use a model with a larger window."
            }
            Terminal::MaxOutputTokens => "Ask for the rest in smaller pieces.",
            Terminal::AbortedStreaming | Terminal::AbortedTools => {
                "Everything done so far is kept; you can continue the session."
            }
            Terminal::StopHookPrevented | Terminal::HookStopped => {
                "A hook ended the turn; see its message."
            }
            Terminal::ImageError => "Leave the image out, or send a smaller one.",
            Terminal::Refusal => "Rephrase the request, or start a new session.",
            Terminal::ToolDeferred => "Answer the deferred call, then resume the session.",
            Terminal::RapidRefill => {
                "The window filled up again right after each compaction. Split the task."
            }
            Terminal::ModelError(ModelErrorKind::Auth) => {
                "Check the credential and its permissions."
            }
            Terminal::ModelError(ModelErrorKind::ModelNotFound) => {
                "Check the model's name (--model) and the base URL."
            }
            Terminal::ModelError(ModelErrorKind::RateLimited | ModelErrorKind::Overloaded) => {
                "Wait a while, then resume the session; nothing was lost."
            }
            Terminal::ModelError(ModelErrorKind::BadRequest) => {
                "A retry would not help; nothing was lost."
            }
            Terminal::ModelError(_) => "Resume the session to try again; nothing was lost.",
            Terminal::StoreFailed => {
                "Free some disk space or repair the disk, then resume the session."
            }
        }
    }
}
