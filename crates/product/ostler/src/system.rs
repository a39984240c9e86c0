//! The real clock and real random names: the only place where the product asks for either.

use ostler_core::ids::IdSource;
use ostler_core::time::{Clock, Timestamp};

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0))
    }
}

/// Names that sort by the time they were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn uuid(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}

/// 244 random bits as 64 letters and digits.
pub fn secret() -> String {
    let half = || uuid::Uuid::new_v4().simple().to_string();
    half() + &half()
}

/// A number in 0..1 for spreading retries.
pub fn jitter() -> f64 {
    let bytes = uuid::Uuid::new_v4().into_bytes();
    f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) / f64::from(u32::MAX)
}

pub fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

pub fn is_uuid(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok()
}

pub fn now_ms() -> u64 {
    SystemClock.now().0
}

/// Nanoseconds since 1970, as file systems count.
pub fn now_ns() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0)
}

/// Now, as machines write it.
pub fn now_text() -> String {
    time_text(SystemClock.now())
}

/// A point in time, as machines write it.
pub fn time_text(at: Timestamp) -> String {
    let at = i64::try_from(at.0).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
