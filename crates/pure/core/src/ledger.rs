//! Money: what was used, what it cost, what may still be spent. Reserved before a request, settled after it.

mod charge;
mod forecast;
mod grant;
mod prefix;
mod previous_request;
mod purse;

pub use charge::{Charge, ChargeStatus, Charged, Purpose};
pub use forecast::{Forecast, Left, forecast};
pub use grant::{Ask, Grant, Sum, grant};
pub use prefix::{Broken, Change, SentRequest, watch};
pub use previous_request::{Earlier, Front, Trail};
pub use purse::{Purse, PurseHold};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Tokens of one answer, or a sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

    /// The share of the prompt that came from the cache; none without a prompt.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.prompt() > 0).then(|| self.cache_read as f64 / self.prompt() as f64)
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

    /// What the cache saved with this usage: reading costs less than plain input, writing costs more. Negative if the
    /// cache was written but never read.
    pub fn saved(&self, usage: &Usage) -> f64 {
        let short = usage.cache_write.saturating_sub(usage.cache_write_1h);
        let sum = usage.cache_read as f64 * (self.input - self.cache_read)
            - short as f64 * (self.cache_write - self.input)
            - usage.cache_write_1h as f64 * (self.cache_write_1h - self.input);
        sum / 1e6
    }

    /// The most a prompt of so many tokens can cost: all of it written to the cache.
    pub(crate) fn dearest_prompt(&self, tokens: u64) -> f64 {
        tokens as f64 * self.input.max(self.cache_write) / 1e6
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
    fn what_the_cache_saved_is_the_difference_to_plain_input() {
        let table = [
            (Usage { cache_read: 1_000_000, ..Usage::default() }, 2.7),
            (Usage { cache_write: 1_000_000, ..Usage::default() }, -0.75),
            (Usage { cache_write: 1_000_000, cache_write_1h: 1_000_000, ..Usage::default() }, -3.0),
            (Usage { input: 5, output: 9, ..Usage::default() }, 0.0),
        ];
        for (usage, saved) in table {
            assert!((PRICE.saved(&usage) - saved).abs() < 1e-9, "{usage:?}");
            let plain = Usage { input: usage.prompt(), output: usage.output, ..Usage::default() };
            let difference = PRICE.cost(&plain) - PRICE.cost(&usage);
            assert!((PRICE.saved(&usage) - difference).abs() < 1e-9, "{usage:?}");
        }
    }

    #[test]
    fn hit_rates_by_hand() {
        let rate = |input, cache_write, cache_read| {
            Usage { input, cache_write, cache_read, output: 7, ..Usage::default() }.hit_rate()
        };
        assert_eq!(rate(0, 0, 0), None);
        assert_eq!(rate(100, 0, 0), Some(0.0));
        assert_eq!(rate(0, 0, 100), Some(1.0));
        assert_eq!(rate(25, 25, 50), Some(0.5));
        assert_eq!(rate(100, 100, 800), Some(0.8));
    }
}
