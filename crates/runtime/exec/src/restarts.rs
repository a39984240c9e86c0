//! How often a dead supervisor is replaced.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Restarts allowed within [`WINDOW`]. One more death, and no supervisor is started until the oldest is that long ago.
const MAX_RESTARTS: usize = 3;

/// A process with many sessions may run for weeks, so deaths long ago do not count.
const WINDOW: Duration = Duration::from_secs(10 * 60);

/// When supervisors died lately.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    deaths: VecDeque<Instant>,
}

/// Too many supervisors died.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    pub deaths: u32,
    pub wait: Duration,
}

impl Restarts {
    pub(crate) fn note_death(&mut self, now: Instant) {
        self.forget_old(now);
        self.deaths.push_back(now);
    }

    /// Whether a supervisor may be started now.
    pub(crate) fn check(&mut self, now: Instant) -> Result<(), TooMany> {
        self.forget_old(now);
        let deaths = self.deaths.len();
        match self.deaths.front() {
            Some(oldest) if deaths > MAX_RESTARTS => Err(TooMany {
                deaths: deaths as u32,
                wait: WINDOW.saturating_sub(now.saturating_duration_since(*oldest)),
            }),
            _ => Ok(()),
        }
    }

    fn forget_old(&mut self, now: Instant) {
        while self.deaths.front().is_some_and(|at| now.saturating_duration_since(*at) >= WINDOW) {
            self.deaths.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_count_for_a_while_and_not_for_ever() {
        let start = Instant::now();
        let minute = |n: u64| start + Duration::from_secs(60 * n);
        let mut restarts = Restarts::default();
        // One every quarter of an hour: a hundred of them are no reason to give up.
        for n in 0..100 {
            restarts.note_death(minute(15 * n));
            assert_eq!(restarts.check(minute(15 * n)), Ok(()), "death {n}");
        }
        for n in 2001..=2003 {
            restarts.note_death(minute(n));
            assert_eq!(restarts.check(minute(n)), Ok(()), "minute {n}");
        }
        restarts.note_death(minute(2004));
        let wait = Duration::from_secs(60 * 7);
        assert_eq!(restarts.check(minute(2004)), Err(TooMany { deaths: 4, wait }));
        let almost = minute(2011) - Duration::from_secs(1);
        assert_eq!(restarts.check(almost).map_err(|many| many.wait.as_secs()), Err(1));
        assert_eq!(restarts.check(minute(2011)), Ok(()), "the first is ten minutes ago");
    }
}
