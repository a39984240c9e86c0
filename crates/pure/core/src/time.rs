//! Time as a value that is handed in.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch. For people and listings only; order comes from sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// Each look moves the hand by a fixed step.
#[derive(Debug, Default)]
pub struct SteppingClock(std::sync::atomic::AtomicU64);

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1000, std::sync::atomic::Ordering::Relaxed))
    }
}
