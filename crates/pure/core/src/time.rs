//! Time as a value that is handed in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch. For people and listings only; order comes from sequence numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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

/// A duration as whole milliseconds.
pub(crate) mod millis {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
