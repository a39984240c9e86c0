//! Something a person should know, as a code with its data.

use crate::context::StageName;
use crate::ids::{CallId, ModelId};
use crate::ledger::Broken;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
        }
    }
}

/// `text` is what a hook, a provider or the layer below said, in a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Notice {
    /// The model stopped for a reason that we do not know; empty where it gave none.
    UnknownStopReason {
        reason: String,
    },
    /// The model announced a call and made none.
    NoCallMade,
    /// The provider reported no usable token counts, so the request is charged at what was reserved for it.
    UsageEstimated {
        model: ModelId,
        prompt_tokens: u64,
        output_tokens: u64,
    },
    /// Less came from the prompt cache than the request before left there.
    CacheBroken(Broken),
    /// The provider's protocol changed a request or ignored a part of an answer.
    Provider {
        text: String,
    },
    /// There is a budget, and the model has no price.
    PriceUnknown {
        model: ModelId,
    },
    /// The next request could exceed a budget. The limit is known for the budget of this run.
    BudgetSpent {
        budget: String,
        limit_usd: Option<f64>,
    },
    /// It is unknown what is left of a shared budget.
    BudgetUnknown {
        text: String,
    },
    Ledger {
        text: String,
    },
    /// Old parts of the conversation were removed to fit the window.
    RoomMade {
        stage: StageName,
        count: u64,
        tokens_before: u64,
        tokens_after: u64,
    },
    NotCompacted(NotCompacted),
    /// A hook has a message for the person, or failed.
    Hook {
        text: String,
    },
    /// An MCP server cannot be used, offers something unusable, or has changed what it offers.
    Mcp {
        server: String,
        text: String,
    },
    /// A layer of the sandbox is missing or gone.
    Sandbox {
        text: String,
    },
    /// What was found or put back after a command.
    Command {
        text: String,
    },
    /// A background job was stopped, or continues after Ostler.
    Job {
        text: String,
    },
    /// Something about a team or its mail went wrong.
    Team {
        text: String,
    },
    /// The task board cannot be used, or took a task back.
    Board {
        text: String,
    },
    /// An instruction file was not read, or not wholly.
    Instructions {
        text: String,
    },
    /// There are more of these than are listed.
    MoreInstructions,
    Skill {
        file: PathBuf,
        line: u64,
        what: String,
    },
    Memory {
        text: String,
    },
    /// Memories were found by words only.
    MemoryByWords {
        text: String,
    },
    /// A prompt is sent without memories, because the search took too long.
    MemoryLate,
    /// The session's log was damaged or is incomplete.
    SessionLog {
        text: String,
    },
    /// A directory that was added to the session cannot be used any more.
    Directory {
        text: String,
    },
    /// An unknown tool on the command line.
    UnknownTool {
        name: String,
    },
    /// Undo may not find all that the session changes.
    Undo {
        text: String,
    },
    /// A call has been running for long.
    SlowCall {
        id: CallId,
        name: String,
        seconds: u64,
    },
}

/// Why the conversation was not summarized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NotCompacted {
    SwitchedOff,
    NothingEarlier,
    TooLittleToGain,
    /// What has to stay fills the window by itself.
    StaysTooLarge {
        tokens: u64,
        window: u64,
    },
    Hook {
        text: String,
    },
    NoRoomGained,
}

impl Notice {
    pub fn level(&self) -> Level {
        match self {
            Notice::CacheBroken(broken) if broken.change.is_meant() => Level::Info,
            Notice::RoomMade { .. } | Notice::MemoryByWords { .. } | Notice::SlowCall { .. } => {
                Level::Info
            }
            _ => Level::Warning,
        }
    }

    /// The name on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Notice::UnknownStopReason { .. } => "unknown_stop_reason",
            Notice::NoCallMade => "no_call_made",
            Notice::UsageEstimated { .. } => "usage_estimated",
            Notice::CacheBroken(_) => "cache_broken",
            Notice::Provider { .. } => "provider",
            Notice::PriceUnknown { .. } => "price_unknown",
            Notice::BudgetSpent { .. } => "budget_spent",
            Notice::BudgetUnknown { .. } => "budget_unknown",
            Notice::Ledger { .. } => "ledger",
            Notice::RoomMade { .. } => "room_made",
            Notice::NotCompacted(_) => "not_compacted",
            Notice::Hook { .. } => "hook",
            Notice::Mcp { .. } => "mcp",
            Notice::Sandbox { .. } => "sandbox",
            Notice::Command { .. } => "command",
            Notice::Job { .. } => "job",
            Notice::Team { .. } => "team",
            Notice::Board { .. } => "board",
            Notice::Instructions { .. } => "instructions",
            Notice::MoreInstructions => "more_instructions",
            Notice::Skill { .. } => "skill",
            Notice::Memory { .. } => "memory",
            Notice::MemoryByWords { .. } => "memory_by_words",
            Notice::MemoryLate => "memory_late",
            Notice::SessionLog { .. } => "session_log",
            Notice::Directory { .. } => "directory",
            Notice::UnknownTool { .. } => "unknown_tool",
            Notice::Undo { .. } => "undo",
            Notice::SlowCall { .. } => "slow_call",
        }
    }
}
