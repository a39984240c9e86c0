//! The request before this process, as far as the log knows it, so that the cache alarm works across a resume.
//!
//! Kept are numbers of what stands in front of the messages, with the first request of a process and with each that
//! differs. The messages themselves are the log's.

use super::prefix::{Broken, Change, SentRequest, is_loss, life};
use super::{Charge, ChargeStatus, Usage};
use crate::ids::ModelId;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What precedes the messages of a request, as hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Front {
    pub tools: Vec<(String, u64)>,
    pub system: Vec<u64>,
    pub thinking: u64,
}

/// The last answered request of an earlier process.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    pub model: ModelId,
    pub at: Timestamp,
    pub usage: Usage,
    pub front: Front,
}

/// What a fold over the log remembers for it.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    front: Option<Front>,
    last: Option<(ModelId, Timestamp, Usage)>,
}

impl Trail {
    pub fn spent(
        &mut self,
        model: &ModelId,
        usage: &Usage,
        charge: Option<&Charge>,
        front: Option<Front>,
    ) {
        if front.is_some() {
            self.front = front;
        }
        if let Some(charge) = charge
            && charge.purpose.is_conversation()
            && charge.status != ChargeStatus::Estimated
            && usage.prompt() > 0
        {
            self.last = Some((model.clone(), charge.at, *usage));
        }
    }

    /// The conversation no longer begins as it was sent.
    pub fn cut(&mut self) {
        self.last = None;
    }

    /// What stood in front of the messages of the newest request.
    pub fn front(&self) -> Option<&Front> {
        self.front.as_ref()
    }

    pub fn earlier(&self) -> Option<Earlier> {
        let (model, at, usage) = self.last.clone()?;
        Some(Earlier { model, at, usage, front: self.front.clone()? })
    }
}

impl Earlier {
    /// Compares the first answered request of this process with it. A pause that was too long for the cache is not
    /// reported.
    pub fn watch(&self, now: &SentRequest) -> Option<Broken> {
        let (expected, read) =
            (self.usage.cache_read + self.usage.cache_write, now.usage.cache_read);
        if !is_loss(expected, read) || now.at.0.saturating_sub(self.at.0) >= life(&self.usage) {
            return None;
        }
        Some(Broken { expected, read, change: self.changed(now) })
    }

    fn changed(&self, now: &SentRequest) -> Change {
        let (before, front) = (&self.front, now.front());
        if self.model != now.model {
            let (from, to) = (self.model.to_string(), now.model.to_string());
            return Change::Model { from, to };
        }
        if let Some(at) = first_difference(&before.tools, &front.tools) {
            let named = front.tools.get(at).or(before.tools.get(at));
            return Change::Tools { tool: named.map(|(name, _)| name.clone()).unwrap_or_default() };
        }
        if let Some(at) = first_difference(&before.system, &front.system) {
            return Change::System { part: at + 1 };
        }
        if before.thinking != front.thinking { Change::Thinking } else { Change::Unknown }
    }
}

fn first_difference<T: PartialEq>(before: &[T], now: &[T]) -> Option<usize> {
    let same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
    (same < before.len() || same < now.len()).then_some(same)
}

/// FNV-1a: the same in every process and version. It tells apart, it protects nothing.
pub(super) fn number(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
#[path = "previous_request_tests.rs"]
mod tests;
