//! How full the window is: what the provider reported last, and a calibrated estimate of what was added since.

use crate::ledger::Usage;

/// Bounds on tokens per byte that hold for every tokenizer.
const LEAST: f64 = 0.1;
const MOST: f64 = 1.0;

/// Measures one agent's requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// Bytes of tools and system prompt.
    fixed: u64,
    per_byte: f64,
    anchor: Option<Anchor>,
}

/// A size that the provider reported: so many bytes were so many tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Anchor {
    weight: u64,
    tokens: u64,
}

impl Gauge {
    /// `tokens` is what somebody who knows the model takes the prefix of `fixed` bytes for, if anybody does.
    pub fn new(fixed: u64, tokens: Option<u64>) -> Self {
        let guess = tokens.map_or(1.0 / 3.5, |tokens| tokens as f64 / fixed.max(1) as f64);
        Gauge { fixed, per_byte: guess.clamp(LEAST, MOST), anchor: None }
    }

    /// The request with a view of so many bytes, as far as it can be known before it is sent.
    pub fn tokens(&self, view: u64) -> u64 {
        let weight = self.fixed + view;
        match self.anchor {
            Some(Anchor { weight: at, tokens }) if weight >= at => {
                tokens + self.estimate(weight - at)
            }
            // Something was taken out since: what is left costs its share of what was reported.
            Some(Anchor { weight: at, tokens }) => {
                (tokens as f64 * weight as f64 / at as f64).ceil() as u64
            }
            None => self.estimate(weight),
        }
    }

    /// The same for a part of a view.
    pub fn share(&self, bytes: u64) -> u64 {
        match self.anchor {
            Some(Anchor { weight, tokens }) => {
                (tokens as f64 * bytes as f64 / weight.max(1) as f64).ceil() as u64
            }
            None => self.estimate(bytes),
        }
    }

    /// What every request contains, whatever the conversation.
    pub fn overhead(&self) -> u64 {
        self.estimate(self.fixed)
    }

    /// What every request contains and so many bytes besides, at a rate that a tokenizer can have, whatever was reported.
    pub fn plausible(&self, view: u64) -> u64 {
        self.estimate(self.fixed + view)
    }

    /// Bytes that make so many tokens, by what is known of the tokenizer.
    pub fn bytes(&self, tokens: u64) -> u64 {
        (tokens as f64 / self.per_byte) as u64
    }

    /// An answer came: its prompt had a view of `asked` bytes, the answer itself weighs `answer`.
    pub fn reported(&mut self, asked: u64, answer: u64, usage: &Usage) {
        let (prompt, weight) = (usage.prompt(), self.fixed + asked);
        // A gateway that reports no counts gives nothing to calibrate with.
        if prompt == 0 || weight == 0 {
            return;
        }
        self.per_byte = (prompt as f64 / weight as f64).clamp(LEAST, MOST);
        let tokens = prompt + usage.output;
        self.anchor = Some(Anchor { weight: weight + answer, tokens });
    }

    /// The provider refused a view of so many bytes: it has at least this many tokens.
    pub fn overflowed(&mut self, view: u64, tokens: u64) {
        let tokens = tokens.max(self.tokens(view));
        self.anchor = Some(Anchor { weight: (self.fixed + view).max(1), tokens });
    }

    fn estimate(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.per_byte).ceil() as u64
    }
}

/// How full the window is, and what is too full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// The next request, as estimated.
    pub tokens: u64,
    pub window: u64,
    /// The threshold: above this, Ostler compacts.
    pub threshold: u64,
    /// The size that a compaction has to reach.
    pub target: u64,
    /// Tokens of tools and system prompt.
    pub overhead: u64,
    /// Newest messages that no stage touches.
    pub keep: usize,
}

/// What a person may choose about the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowBounds {
    /// Percent of the window that may be used.
    pub percent: u64,
    /// Percent of what the answer leaves of it. It only lowers the threshold; 100 changes nothing.
    pub share: u64,
    /// Tokens that are left for the answer, and besides.
    pub reserved: u64,
    pub margin: u64,
    /// Tokens from which on something is done, whatever the rest says.
    pub threshold: Option<u64>,
    pub keep: usize,
}

impl Default for WindowBounds {
    fn default() -> Self {
        WindowBounds {
            percent: 92,
            share: 100,
            reserved: 20_000,
            margin: 13_000,
            threshold: None,
            keep: 6,
        }
    }
}

impl WindowBounds {
    /// The smaller of a share of the window and the window less what the answer takes. In a window so small that the
    /// second would leave next to nothing, a part of what the fixed overhead leaves.
    pub fn pressure(&self, window: u64, overhead: u64, tokens: u64) -> Pressure {
        let free = window.saturating_sub(overhead);
        let room = window.saturating_sub(self.reserved + self.margin);
        let least = if room < overhead + free / 2 { overhead + free * 3 / 5 } else { 0 };
        let usual = (window * self.percent.min(100) / 100).min(room.max(least));
        let answerable = window.saturating_sub(self.reserved).max(least);
        let usual = usual.min(answerable * self.share.min(100) / 100);
        let threshold = self.threshold.unwrap_or(usual).min(window);
        let target = overhead.min(threshold) + threshold.saturating_sub(overhead) * 3 / 5;
        Pressure { tokens, window, threshold, target, overhead, keep: self.keep.max(1) }
    }
}

impl Pressure {
    pub fn is_high(&self) -> bool {
        self.tokens >= self.threshold
    }

    /// Whether a request of so many tokens leaves room enough to continue for a while: it reaches the target or, where
    /// what has to stay does not let it, at least half of the way there.
    pub fn is_relieved_by(&self, tokens: u64) -> bool {
        tokens <= self.threshold.saturating_sub(self.threshold.saturating_sub(self.target) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(prompt: u64, output: u64) -> Usage {
        Usage { input: prompt, output, ..Usage::default() }
    }

    #[test]
    fn what_was_reported_counts_and_what_was_added_is_estimated_at_its_rate() {
        let mut gauge = Gauge::new(4_000, Some(1_000));
        assert_eq!(gauge.tokens(0), 1_000);
        assert_eq!(gauge.tokens(4_000), 2_000);
        // 8 000 bytes were 4 000 tokens: half a token a byte.
        gauge.reported(4_000, 100, &usage(4_000, 50));
        assert_eq!(gauge.tokens(4_100), 4_050);
        assert_eq!(gauge.tokens(6_100), 5_050);
        // Half of it is taken out.
        assert_eq!(gauge.tokens(50), 2_025);
    }

    #[test]
    fn thresholds() {
        let threshold = |window| WindowBounds::default().pressure(window, 4_000, 0).threshold;
        for (window, expected) in [
            (200_000, 167_000),
            (100_000, 67_000),
            (500_000, 460_000),
            (1_000_000, 920_000),
            (50_000, 31_600),
            (8_000, 6_400),
            (4_000, 3_680),
            (0, 0),
        ] {
            assert_eq!(threshold(window), expected, "{window}");
        }
        for window in [0, 1_000, 8_000, 50_000, 200_000] {
            let pressure = WindowBounds::default().pressure(window, 4_000, 0);
            assert!(pressure.target <= pressure.threshold && pressure.threshold <= window);
        }
    }

    #[test]
    fn relief_is_half_of_the_way_to_the_target() {
        // Overhead 4 000, threshold 167 000, so the target is 101 800.
        let pressure = WindowBounds::default().pressure(200_000, 4_000, 180_000);
        for (tokens, enough) in
            [(101_800, true), (134_400, true), (134_401, false), (167_000, false)]
        {
            assert_eq!(pressure.is_relieved_by(tokens), enough, "{tokens}");
        }
    }

    #[test]
    fn a_share_lowers_the_threshold_and_never_raises_it() {
        let threshold = |window, share| {
            WindowBounds { share, ..WindowBounds::default() }.pressure(window, 4_000, 0).threshold
        };
        for (window, share, expected) in [
            (200_000, 50, 90_000),
            (200_000, 92, 165_600),
            (200_000, 93, 167_000),
            (200_000, 100, 167_000),
            (200_000, 200, 167_000),
            (500_000, 50, 240_000),
            (50_000, 50, 15_800),
            (200_000, 0, 0),
        ] {
            assert_eq!(threshold(window, share), expected, "{window} {share}");
        }
    }

    #[test]
    fn strange_reports_do_not_make_the_estimate_strange() {
        let mut gauge = Gauge::new(4_000, None);
        let before = gauge;
        gauge.reported(0, 0, &usage(0, 10));
        assert_eq!(gauge, before, "nothing reported");
        // A made-up report is believed as such, but not extrapolated.
        gauge.reported(0, 0, &usage(175_000, 0));
        assert_eq!(gauge.tokens(100), 175_100);
    }

    #[test]
    fn a_refused_request_is_at_least_as_large_as_the_provider_says() {
        let mut gauge = Gauge::new(1_000, None);
        gauge.overflowed(3_000, 210_000);
        assert_eq!(gauge.tokens(3_000), 210_000);
        assert_eq!(gauge.tokens(1_000), 105_000);
    }
}
