//! How fast money goes, and when it ends at that pace.

use super::grant::Sum;
use crate::time::Timestamp;
use std::time::Duration;

/// How far back the pace is measured.
const WINDOW_MS: u64 = 3_600_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    pub usd_per_hour: f64,
    /// None: nothing is being spent.
    pub lasts: Option<Duration>,
}

/// `spends` are times and costs, in any order; `left` is what may still be spent.
pub fn forecast(spends: &[(Timestamp, f64)], now: Timestamp, left: f64) -> Forecast {
    let from = now.0.saturating_sub(WINDOW_MS);
    let recent = spends.iter().filter(|(at, _)| at.0 >= from && at.0 <= now.0);
    // From zero: the sum of nothing is -0.
    let usd_per_hour = recent.fold(0.0, |sum, (_, cost)| sum + cost);
    let hours = (usd_per_hour > 0.0).then(|| left.max(0.0) / usd_per_hour);
    // Beyond a year it is no forecast.
    let lasts = hours.filter(|hours| *hours < 8_760.0);
    Forecast { usd_per_hour, lasts: lasts.map(|hours| Duration::from_secs_f64(hours * 3600.0)) }
}

/// A budget after a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// `run`, `day`, `project` or `agent`.
    pub what: String,
    pub sum: Sum,
    /// How many more requests like those of the turn it allows; none if they cost nothing.
    pub requests: Option<u64>,
}

impl Left {
    /// After `requests` requests that cost `cost` together.
    pub fn new(what: impl Into<String>, sum: Sum, cost: f64, requests: u32) -> Self {
        let each = cost / f64::from(requests.max(1));
        let left = (sum.limit - sum.spent - sum.reserved).max(0.0);
        // A hair less than a whole one is one: sums of money are not exact.
        let more = (each > 0.0).then(|| (left / each + 1e-6).floor() as u64);
        Left { what: what.into(), sum, requests: more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(n: u64) -> Timestamp {
        Timestamp(n * 60_000)
    }

    #[test]
    fn the_pace_of_the_last_hour_says_when_it_ends() {
        let spends = [(minutes(10), 9.0), (minutes(100), 1.0), (minutes(130), 1.0)];
        let told = forecast(&spends, minutes(130), 4.0);
        assert_eq!(told.usd_per_hour, 2.0, "what was spent in it; the old 9 do not count");
        assert_eq!(told.lasts, Some(Duration::from_secs(7200)));
        assert_eq!(forecast(&spends, minutes(130), -1.0).lasts, Some(Duration::ZERO));
    }

    #[test]
    fn one_request_is_measured_over_an_hour() {
        let told = forecast(&[(minutes(60), 0.5)], minutes(60), 1.0);
        assert_eq!((told.usd_per_hour, told.lasts), (0.5, Some(Duration::from_secs(7200))));
    }

    #[test]
    fn nothing_spent_never_ends() {
        let told = forecast(&[(minutes(1), 5.0)], minutes(500), 1.0);
        assert_eq!(told, Forecast { usd_per_hour: 0.0, lasts: None });
        assert!(told.usd_per_hour.is_sign_positive(), "-0 is shown as a loss");
        assert_eq!(forecast(&[(minutes(499), 1e-9)], minutes(500), 1e9).lasts, None);
    }

    #[test]
    fn what_is_left_is_counted_in_requests_like_the_last_ones() {
        let sum = |limit, spent, reserved| Sum { limit, spent, reserved };
        let more = |sum, cost, requests| Left::new("run", sum, cost, requests).requests;
        assert_eq!(more(sum(2.0, 0.5, 0.0), 0.5, 5), Some(15));
        assert_eq!(more(sum(2.0, 0.5, 0.5), 0.5, 5), Some(10), "what others hold is not left");
        assert_eq!(more(sum(2.0, 2.5, 0.0), 0.5, 5), Some(0));
        assert_eq!(more(sum(2.0, 0.0, 0.0), 0.0, 3), None, "free ones never end it");
        assert_eq!(more(sum(2.0, 0.0, 0.0), 0.0, 0), None);
    }
}
