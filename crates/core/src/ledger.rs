//! Money: what was used, what it cost, what may still be spent. Reserved before a request, settled after it.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Tokens of one answer, or a sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub input: u64,
    #[serde(default)]
    pub output: u64,
    #[serde(default)]
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour, at a higher price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
    #[serde(default)]
    pub cache_read: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// Everything the provider read: the size of the window in use.
    pub fn prompt(&self) -> u64 {
        self.input + self.cache_write + self.cache_read
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_write += other.cache_write;
        self.cache_write_1h += other.cache_write_1h;
        self.cache_read += other.cache_read;
    }
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_write_1h: f64,
    pub cache_read: f64,
}

impl Price {
    pub fn cost(&self, usage: &Usage) -> f64 {
        let short = usage.cache_write.saturating_sub(usage.cache_write_1h);
        let sum = usage.input as f64 * self.input
            + usage.output as f64 * self.output
            + short as f64 * self.cache_write
            + usage.cache_write_1h as f64 * self.cache_write_1h
            + usage.cache_read as f64 * self.cache_read;
        sum / 1e6
    }

    /// The most a prompt of so many tokens can cost: all of it written to the cache.
    fn dearest_prompt(&self, tokens: u64) -> f64 {
        tokens as f64 * self.input.max(self.cache_write) / 1e6
    }
}

/// A sum that must not be exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub limit: Option<f64>,
    pub spent: f64,
}

/// An output limit below this is not worth asking for.
const SMALLEST_ANSWER: u32 = 256;

impl Budget {
    pub fn spend(&mut self, cost: f64) {
        self.spent += cost;
    }

    /// The output limit that the money left allows for a prompt of `tokens`, or none if it allows no answer.
    /// Asking for no more than this is the reservation: the request cannot cost more than is left.
    pub fn reserve(&self, price: &Price, tokens: u64, wanted: u32) -> Option<u32> {
        let Some(limit) = self.limit else { return Some(wanted) };
        let left = limit - self.spent - price.dearest_prompt(tokens);
        let affordable =
            if price.output > 0.0 { left / price.output * 1e6 } else { f64::from(wanted) };
        let granted = (affordable.max(0.0) as u64).min(u64::from(wanted)) as u32;
        (left > 0.0 && granted >= SMALLEST_ANSWER.min(wanted)).then_some(granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price =
        Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_write_1h: 6.0, cache_read: 0.3 };

    #[test]
    fn cost_counts_each_kind_once() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_write: 200_000,
            cache_write_1h: 50_000,
            cache_read: 1_000_000,
        };
        assert!((PRICE.cost(&usage) - (3.0 + 1.5 + 0.5625 + 0.3 + 0.3)).abs() < 1e-9);
    }

    #[test]
    fn a_reservation_never_allows_more_than_is_left() {
        for spent in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0, 1.5] {
            for prompt in [0, 1_000, 50_000, 200_000, 1_000_000] {
                let budget = Budget { limit: Some(1.0), spent };
                if let Some(output) = budget.reserve(&PRICE, prompt, 64_000) {
                    let worst = Usage {
                        cache_write: prompt,
                        output: u64::from(output),
                        ..Usage::default()
                    };
                    assert!(spent + PRICE.cost(&worst) <= 1.0 + 1e-9, "{spent} {prompt} {output}");
                }
            }
        }
        assert_eq!(Budget::default().reserve(&PRICE, 1 << 40, 8_000), Some(8_000));
        assert_eq!(Budget { limit: Some(0.0), spent: 0.0 }.reserve(&PRICE, 0, 8_000), None);
    }
}
