//! One request in the ledger. The session's log stores it with the token counts, so that the ledger can be rebuilt.

use super::{Broken, Price, Usage};
use crate::ids::ModelId;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a request was about, besides its tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// The same in the log, the ledger and the reservation.
    pub id: String,
    /// When it was sent.
    pub at: Timestamp,
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The tools whose results it carried to the model, each once; none if a prompt caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub purpose: Purpose,
    pub status: ChargeStatus,
    pub latency_ms: u64,
    /// Until the answer began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What was expected from the cache and did not come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// A charge with what it came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Charged {
    pub model: ModelId,
    pub usage: Usage,
    /// None: nobody knows the price. Never 0 for that.
    pub cost: Option<f64>,
    pub charge: Charge,
}

#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    #[default]
    Answer,
    /// The same once more: after a failure, a broken stream or an answer that was discarded.
    Retry,
    /// The same to the second model.
    Fallback,
    Compaction,
    Title,
    Memory,
    Subagent,
    /// What a web page says, or a search.
    Web,
    /// What an MCP server asked the model for.
    Sampling,
    /// A reason of a newer version.
    #[serde(other)]
    Other,
}

impl Purpose {
    pub const ALL: [Purpose; 10] = [
        Purpose::Answer,
        Purpose::Retry,
        Purpose::Fallback,
        Purpose::Compaction,
        Purpose::Title,
        Purpose::Memory,
        Purpose::Subagent,
        Purpose::Web,
        Purpose::Sampling,
        Purpose::Other,
    ];

    /// Whether the request continues the conversation; others run beside it.
    pub fn is_conversation(self) -> bool {
        matches!(self, Purpose::Answer | Purpose::Retry | Purpose::Fallback | Purpose::Subagent)
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    pub fn is_answer(&self) -> bool {
        *self == Purpose::Answer
    }

    pub fn name(self) -> &'static str {
        match self {
            Purpose::Answer => "answer",
            Purpose::Retry => "retry",
            Purpose::Fallback => "fallback",
            Purpose::Compaction => "compaction",
            Purpose::Title => "title",
            Purpose::Memory => "memory",
            Purpose::Subagent => "subagent",
            Purpose::Web => "web",
            Purpose::Sampling => "sampling",
            Purpose::Other => "other",
        }
    }

    pub fn named(name: &str) -> Purpose {
        Purpose::ALL.into_iter().find(|purpose| purpose.name() == name).unwrap_or(Purpose::Other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChargeStatus {
    /// The answer came to its end.
    Ok,
    /// It never began; nothing is billed.
    Failed,
    /// Ostler cancelled it before the answer began; the provider reported no tokens.
    Cancelled,
    /// It began and broke off, or was interrupted; what the provider said until then is billed.
    Dropped,
    /// It came without usable token counts; what was missing is charged at what was reserved for it.
    Estimated,
    /// Its process died; it is counted at what was reserved for it. Only in the ledger, never in a log.
    Lost,
}

impl ChargeStatus {
    pub fn name(self) -> &'static str {
        match self {
            ChargeStatus::Ok => "ok",
            ChargeStatus::Failed => "failed",
            ChargeStatus::Cancelled => "cancelled",
            ChargeStatus::Dropped => "dropped",
            ChargeStatus::Estimated => "estimated",
            ChargeStatus::Lost => "lost",
        }
    }

    /// An unknown status does not count as a success.
    pub fn named(name: &str) -> ChargeStatus {
        match name {
            "ok" => ChargeStatus::Ok,
            "failed" => ChargeStatus::Failed,
            "cancelled" => ChargeStatus::Cancelled,
            "estimated" => ChargeStatus::Estimated,
            "lost" => ChargeStatus::Lost,
            _ => ChargeStatus::Dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_and_match_the_log() {
        for purpose in Purpose::ALL {
            assert_eq!(Purpose::named(purpose.name()), purpose);
            let logged = serde_json::to_string(&purpose).unwrap();
            assert_eq!(logged, format!("\"{}\"", purpose.name()));
        }
        assert_eq!(serde_json::from_str::<Purpose>("\"dreaming\"").unwrap(), Purpose::Other);
        let all = [
            ChargeStatus::Ok,
            ChargeStatus::Failed,
            ChargeStatus::Cancelled,
            ChargeStatus::Dropped,
            ChargeStatus::Estimated,
            ChargeStatus::Lost,
        ];
        for status in all {
            assert_eq!(ChargeStatus::named(status.name()), status);
            let logged = serde_json::to_string(&status).unwrap();
            assert_eq!(logged, format!("\"{}\"", status.name()));
        }
        assert_eq!(ChargeStatus::named("?"), ChargeStatus::Dropped);
    }
}
