//! Whether the money left allows a request, and how long its answer may be. Pure: the same for one process and many.

use super::Price;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request with an output limit below this is not worth sending.
const SMALLEST_ANSWER: u32 = 256;

/// A sum that must not be exceeded, and how much of it is gone or promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    pub limit: f64,
    pub spent: f64,
    /// Held by requests that are on their way.
    pub reserved: f64,
}

/// A request before it is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    pub price: Price,
    /// Estimated tokens of its prompt.
    pub prompt: u64,
    /// The output limit it would like.
    pub wanted: u32,
    /// Thinking that comes on top of the answer and is paid for like it.
    pub thinking: u32,
    /// Waits for other reservations to be released rather than accept a lower limit.
    pub patient: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grant {
    /// The output limit to request; the reservation is valid only with this limit.
    Yes { output: u32, amount: f64 },
    /// Not now: others hold what it needs.
    Wait,
    /// Which of the sums is too small.
    No { sum: usize },
}

impl Ask {
    /// The most it can cost with that output limit.
    pub fn amount(&self, output: u32) -> f64 {
        let all = u64::from(output) + u64::from(self.thinking);
        self.price.dearest_prompt(self.prompt) + all as f64 * self.price.output / 1e6
    }

    /// The output limit that `left` allows, up to what is wanted; none if it allows no answer.
    fn output(&self, left: f64) -> Option<u32> {
        let left = left - self.price.dearest_prompt(self.prompt);
        let affordable = match self.price.output > 0.0 {
            true => left / self.price.output * 1e6,
            false => f64::from(self.wanted) + f64::from(self.thinking),
        };
        let answer = (affordable - f64::from(self.thinking)).max(0.0) as u64;
        let granted = answer.min(u64::from(self.wanted)) as u32;
        let enough = left > 0.0 && granted >= SMALLEST_ANSWER.min(self.wanted);
        (enough && granted > 0).then_some(granted)
    }
}

/// Every sum must allow it. What others hold counts as spent.
pub fn grant(sums: &[Sum], ask: &Ask) -> Grant {
    let least = |left: &dyn Fn(&Sum) -> f64| {
        let each = sums.iter().enumerate().map(|(at, sum)| (at, left(sum)));
        each.min_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    let yes = |output: u32| Grant::Yes { output, amount: ask.amount(output) };
    let Some((sum, now)) = least(&|sum| sum.limit - sum.spent - sum.reserved) else {
        return yes(ask.wanted);
    };
    let alone = least(&|sum| sum.limit - sum.spent).map_or(now, |(_, left)| left);
    match (ask.output(now), ask.output(alone)) {
        (Some(output), _) if output >= ask.wanted => yes(output),
        (now, alone) if ask.patient && alone > now => Grant::Wait,
        (Some(output), _) => yes(output),
        (None, _) => Grant::No { sum },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price =
        Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_write_1h: 6.0, cache_read: 0.3 };

    fn ask(prompt: u64, wanted: u32) -> Ask {
        Ask { price: PRICE, prompt, wanted, thinking: 0, patient: false }
    }

    fn sum(limit: f64, spent: f64, reserved: f64) -> Sum {
        Sum { limit, spent, reserved }
    }

    #[test]
    fn a_grant_never_allows_more_than_is_left() {
        for spent in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0, 1.5] {
            for prompt in [0, 1_000, 50_000, 200_000, 1_000_000] {
                for thinking in [0, 2_000, 30_000] {
                    let ask = Ask { thinking, ..ask(prompt, 64_000) };
                    if let Grant::Yes { amount, output } = grant(&[sum(1.0, spent, 0.0)], &ask) {
                        assert!(spent + amount <= 1.0 + 1e-9, "{spent} {prompt} {output}");
                        assert!(output >= 256);
                    }
                }
            }
        }
        let free = grant(&[], &ask(1 << 40, 8_000));
        assert!(matches!(free, Grant::Yes { output: 8_000, .. }));
        assert_eq!(grant(&[sum(0.0, 0.0, 0.0)], &ask(0, 8_000)), Grant::No { sum: 0 });
    }

    #[test]
    fn the_smallest_sum_decides_and_is_named() {
        let small = sum(0.05, 0.0, 0.0);
        let Grant::Yes { output, .. } = grant(&[sum(9.0, 0.0, 0.0), small], &ask(1_000, 8_000))
        else {
            panic!("it is enough")
        };
        assert_eq!(output, ((0.05 - 1_000.0 * 3.75 / 1e6) / 15.0 * 1e6) as u32);
        let none = [sum(9.0, 0.0, 0.0), sum(1.0, 1.0, 0.0), sum(2.0, 1.5, 0.0)];
        assert_eq!(grant(&none, &ask(1_000, 8_000)), Grant::No { sum: 1 });
    }

    /// What others hold is waited for only if it would help.
    #[test]
    fn who_waits_and_who_does_not() {
        let patient = |wanted| Ask { patient: true, ..ask(1_000, wanted) };
        let table = [
            // Others hold it, and would give it back.
            (sum(1.0, 0.0, 0.95), true, Grant::Wait),
            (sum(1.0, 0.0, 1.0), true, Grant::Wait),
            // Nobody holds anything: waiting would not help.
            (sum(1.0, 1.0, 0.0), true, Grant::No { sum: 0 }),
            // What they hold is not enough anyway.
            (sum(1.0, 0.999, 0.001), true, Grant::No { sum: 0 }),
            (sum(1.0, 0.0, 1.0), false, Grant::No { sum: 0 }),
        ];
        for (sum, is_patient, expected) in table {
            let ask = Ask { patient: is_patient, ..patient(8_000) };
            assert_eq!(grant(&[sum], &ask), expected, "{sum:?} {is_patient}");
        }
        let less = grant(&[sum(1.0, 0.0, 0.95)], &ask(1_000, 8_000));
        assert!(matches!(less, Grant::Yes { output: 256..8_000, .. }), "{less:?}");
        let fits = grant(&[sum(1.0, 0.0, 0.5)], &patient(8_000));
        assert!(matches!(fits, Grant::Yes { output: 8_000, .. }), "{fits:?}");
    }
}
