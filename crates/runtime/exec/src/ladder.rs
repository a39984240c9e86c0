//! The rungs by which a command is ended: asked, forced, given up. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// How long a process may take to disappear after SIGKILL before we stop waiting for it.
const AFTER_KILL: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LadderStep {
    Nothing,
    /// There may be another time to wake.
    Limited,
    Terminate,
    Kill,
    GiveUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    Free,
    Asked,
    Forced,
}

#[derive(Debug)]
pub(crate) struct Ladder {
    rung: Rung,
    grace: Duration,
    wake: Option<Instant>,
    timed_out: bool,
}

impl Ladder {
    pub(crate) fn new(start: Instant, limit: Option<Duration>, grace: Duration) -> Self {
        // A limit too far away to be represented is no limit.
        let wake = limit.and_then(|limit| start.checked_add(limit));
        Self { rung: Rung::Free, grace, wake, timed_out: false }
    }

    /// When [`Ladder::time_up`] is due.
    pub(crate) fn wake(&self) -> Option<Instant> {
        self.wake
    }

    /// Another limit, counted from the start. A command that is being ended already gets no more time.
    pub(crate) fn set_limit(&mut self, start: Instant, limit: Duration) -> LadderStep {
        if self.rung == Rung::Free {
            self.wake = start.checked_add(limit);
        }
        LadderStep::Limited
    }

    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out
    }

    pub(crate) fn time_up(&mut self, now: Instant) -> LadderStep {
        match self.rung {
            Rung::Free => {
                self.timed_out = true;
                self.stop(now)
            }
            Rung::Asked => self.kill(now),
            Rung::Forced => LadderStep::GiveUp,
        }
    }

    pub(crate) fn stop(&mut self, now: Instant) -> LadderStep {
        if self.rung != Rung::Free {
            return LadderStep::Nothing;
        }
        self.rung = Rung::Asked;
        self.wake = now.checked_add(self.grace);
        LadderStep::Terminate
    }

    pub(crate) fn kill(&mut self, now: Instant) -> LadderStep {
        if self.rung == Rung::Forced {
            return LadderStep::Nothing;
        }
        self.rung = Rung::Forced;
        self.wake = Some(now + AFTER_KILL);
        LadderStep::Kill
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn time_limit_asks_then_forces_then_gives_up() {
        let start = Instant::now();
        let mut ladder = Ladder::new(start, Some(5 * SECOND), 2 * SECOND);
        assert_eq!(ladder.wake(), Some(start + 5 * SECOND));
        assert_eq!(ladder.time_up(start + 5 * SECOND), LadderStep::Terminate);
        assert_eq!(ladder.wake(), Some(start + 7 * SECOND));
        assert_eq!(ladder.time_up(start + 7 * SECOND), LadderStep::Kill);
        assert_eq!(ladder.wake(), Some(start + 7 * SECOND + AFTER_KILL));
        assert_eq!(ladder.time_up(start + 20 * SECOND), LadderStep::GiveUp);
        assert!(ladder.timed_out());
    }

    #[test]
    fn a_stop_is_no_time_out_and_counts_once() {
        let start = Instant::now();
        let mut ladder = Ladder::new(start, Some(5 * SECOND), 2 * SECOND);
        assert_eq!(ladder.stop(start), LadderStep::Terminate);
        assert_eq!(
            ladder.stop(start + SECOND),
            LadderStep::Nothing,
            "a second stop must not renew the grace"
        );
        assert_eq!(ladder.wake(), Some(start + 2 * SECOND));
        assert_eq!(ladder.kill(start + SECOND), LadderStep::Kill);
        assert_eq!(ladder.kill(start + SECOND), LadderStep::Nothing);
        assert_eq!(ladder.stop(start + SECOND), LadderStep::Nothing);
        assert!(!ladder.timed_out());
    }

    #[test]
    fn without_a_limit_nothing_wakes() {
        assert_eq!(Ladder::new(Instant::now(), None, SECOND).wake(), None);
        assert_eq!(Ladder::new(Instant::now(), Some(Duration::MAX), SECOND).wake(), None);
    }
}
