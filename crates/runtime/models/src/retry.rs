//! Whether and when a failed try is repeated. Pure: time and chance are handed in.

use ostler_core::model::ModelErrorKind;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// The first wait; each further one is twice as long.
    pub base: Duration,
    pub cap: Duration,
    /// The share of a wait that chance may add, so that many clients do not come back at one moment.
    pub jitter: f64,
    /// A provider may ask for more patience than anybody has.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            base: Duration::from_millis(500),
            cap: Duration::from_secs(32),
            jitter: 0.25,
            longest_asked: Duration::from_secs(120),
        }
    }
}

/// What is known of a failed try.
#[derive(Clone, Copy, Debug)]
pub struct FailedTries {
    /// Repeats so far.
    pub repeats: u32,
    pub allowed: u32,
    pub kind: ModelErrorKind,
    pub retry_after: Option<Duration>,
    /// The provider's own opinion.
    pub should_retry: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    Wait(Duration),
    GiveUp(GiveUp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// Asking again would not help.
    Pointless,
    Exhausted,
    /// The provider wants us back later than we are willing to wait.
    TooLong(Duration),
}

impl RetryPolicy {
    /// `chance` is between 0 and 1.
    pub fn decide(&self, tried: &FailedTries, chance: f64) -> RetryDecision {
        let worth_it = tried.should_retry.unwrap_or_else(|| may_pass(tried.kind));
        match tried.retry_after {
            _ if !worth_it => RetryDecision::GiveUp(GiveUp::Pointless),
            Some(asked) if asked > self.longest_asked => {
                RetryDecision::GiveUp(GiveUp::TooLong(asked))
            }
            _ if tried.repeats >= tried.allowed => RetryDecision::GiveUp(GiveUp::Exhausted),
            Some(asked) if !asked.is_zero() => RetryDecision::Wait(asked),
            // "At once" is no advice to a crowd.
            _ => RetryDecision::Wait(self.wait(tried.repeats, chance)),
        }
    }

    fn wait(&self, repeats: u32, chance: f64) -> Duration {
        let doubled = self.base.saturating_mul(2u32.saturating_pow(repeats.min(31)));
        let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 0.0 };
        doubled.min(self.cap).mul_f64(1.0 + self.jitter.clamp(0.0, 1.0) * chance)
    }
}

/// Failures that pass by themselves. A stream that cannot be read before its first event is one of them.
fn may_pass(kind: ModelErrorKind) -> bool {
    use ModelErrorKind::{
        Auth, BadImage, BadRequest, BadThinking, ContextOverflow, ModelNotFound, Overloaded,
        Protocol, RateLimited, Unavailable,
    };
    match kind {
        RateLimited | Overloaded | Unavailable | Protocol => true,
        Auth | BadRequest | ModelNotFound | ContextOverflow | BadImage | BadThinking => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind::*;

    const TRIED: FailedTries = FailedTries {
        repeats: 0,
        allowed: 10,
        kind: Unavailable,
        retry_after: None,
        should_retry: None,
    };

    fn decide(tried: FailedTries, chance: f64) -> RetryDecision {
        RetryPolicy::default().decide(&tried, chance)
    }

    fn wait(ms: u64) -> RetryDecision {
        RetryDecision::Wait(Duration::from_millis(ms))
    }

    #[test]
    fn waits_double_up_to_the_cap_and_then_end() {
        let plain: Vec<_> =
            (0..11).map(|repeats| decide(FailedTries { repeats, ..TRIED }, 0.0)).collect();
        let mut expected: Vec<_> =
            [500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000, 32000].map(wait).into();
        expected.push(RetryDecision::GiveUp(GiveUp::Exhausted));
        assert_eq!(plain, expected);
        assert_eq!(
            decide(FailedTries { repeats: u32::MAX - 1, allowed: u32::MAX, ..TRIED }, 1.0),
            wait(40_000)
        );
    }

    #[test]
    fn chance_adds_at_most_a_quarter() {
        assert_eq!(decide(TRIED, 1.0), wait(625));
        assert_eq!(decide(TRIED, 0.5), RetryDecision::Wait(Duration::from_micros(562_500)));
        for odd in [f64::NAN, f64::INFINITY, -3.0] {
            assert_eq!(decide(TRIED, odd), wait(500));
        }
        assert_eq!(decide(TRIED, 99.0), wait(625));
    }

    #[test]
    fn what_is_asked_for_is_obeyed_exactly_up_to_a_bound() {
        let asked = |secs| FailedTries {
            kind: RateLimited,
            retry_after: Some(Duration::from_secs(secs)),
            ..TRIED
        };
        assert_eq!(decide(asked(2), 1.0), wait(2_000));
        assert_eq!(decide(asked(0), 1.0), wait(625), "at once is no advice to a crowd");
        assert_eq!(decide(asked(120), 1.0), wait(120_000), "above our own cap, and still obeyed");
        assert_eq!(
            decide(asked(121), 1.0),
            RetryDecision::GiveUp(GiveUp::TooLong(Duration::from_secs(121)))
        );
        assert_eq!(
            decide(FailedTries { repeats: 10, ..asked(2) }, 0.0),
            RetryDecision::GiveUp(GiveUp::Exhausted)
        );
    }

    #[test]
    fn kinds_and_the_providers_opinion() {
        let pointless = RetryDecision::GiveUp(GiveUp::Pointless);
        for kind in [RateLimited, Overloaded, Unavailable, Protocol] {
            assert_eq!(decide(FailedTries { kind, ..TRIED }, 0.0), wait(500));
            assert_eq!(
                decide(FailedTries { kind, should_retry: Some(false), ..TRIED }, 0.0),
                pointless
            );
        }
        for kind in [Auth, BadRequest, ModelNotFound, ContextOverflow, BadImage, BadThinking] {
            assert_eq!(decide(FailedTries { kind, ..TRIED }, 0.0), pointless, "{kind:?}");
            assert_eq!(
                decide(FailedTries { kind, should_retry: Some(true), ..TRIED }, 0.0),
                wait(500)
            );
        }
        assert_eq!(
            decide(FailedTries { allowed: 0, ..TRIED }, 0.0),
            RetryDecision::GiveUp(GiveUp::Exhausted)
        );
    }
}
