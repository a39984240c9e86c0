//! How often a server that ends is started again by itself.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// A server that ended so often within [`WINDOW`] is not started again.
const MOST_ENDS: usize = 3;
const WINDOW: Duration = Duration::from_secs(300);

#[derive(Default)]
pub(crate) struct RestartLimit {
    /// Oldest first.
    ends: VecDeque<Instant>,
}

impl RestartLimit {
    /// It ended, or could not be started.
    pub(crate) fn note_end(&mut self, now: Instant) {
        self.ends.push_back(now);
    }

    pub(crate) fn is_reached(&mut self, now: Instant) -> bool {
        self.ends.retain(|end| now.saturating_duration_since(*end) < WINDOW);
        self.ends.len() >= MOST_ENDS
    }

    /// A person wants it to be tried again.
    pub(crate) fn forget(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_ends_within_five_minutes_are_the_limit() {
        let (mut limit, begin) = (RestartLimit::default(), Instant::now());
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        for seconds in [0, 100, 250] {
            assert!(!limit.is_reached(at(seconds)), "{seconds}");
            limit.note_end(at(seconds));
        }
        assert!(limit.is_reached(at(250)) && limit.is_reached(at(299)));
        // The first end is five minutes ago.
        assert!(!limit.is_reached(at(300)));
        limit.note_end(at(310));
        assert!(limit.is_reached(at(310)), "100, 250 and 310");
        limit.forget();
        assert!(!limit.is_reached(at(310)));
    }
}
