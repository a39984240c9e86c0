//! The time, new names and chance: given from outside, so that a test can hold them still.

use ostler_core::ids::{CountingIds, IdSource};
use ostler_core::time::{Clock, SteppingClock};
use std::sync::Arc;

#[derive(Clone)]
pub struct ClockAndIds {
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    /// A number in 0..1 for spreading retries.
    pub jitter: fn() -> f64,
}

impl ClockAndIds {
    /// A clock that steps, names that count, chance without any.
    pub fn counted() -> Self {
        let (clock, ids) = (Arc::new(SteppingClock::default()), Arc::new(CountingIds::default()));
        ClockAndIds { clock, ids, jitter: || 0.5 }
    }
}
