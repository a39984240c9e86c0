//! The end of a session that nobody attends: background jobs get a moment to report.

use crate::session::Session;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

pub(crate) struct Patience {
    patience: Duration,
    /// Runs while the driver has nothing to do.
    timer: Option<Pin<Box<Sleep>>>,
    /// An agent ran when the timer was started. Its end may take a moment to start a turn.
    had_agents: bool,
}

impl Patience {
    pub(crate) fn new(patience: Duration) -> Self {
        Patience { patience, timer: None, had_agents: false }
    }

    /// A turn has ended.
    pub(crate) fn restart(&mut self) {
        self.timer = None;
    }

    /// Ready when no job will start a turn in time. An agent ends at the latest when its own time is up.
    pub(crate) fn poll(&mut self, session: &Session, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(timer) = &mut self.timer else {
                if !session.has_running_jobs() && !session.has_report() {
                    return Poll::Ready(());
                }
                self.had_agents = session.has_background_agents();
                self.timer = Some(Box::pin(tokio::time::sleep(self.patience)));
                continue;
            };
            // Whether a team has anything to report is known only a moment after its session was opened.
            if session.has_team() && !session.has_running_jobs() && !session.has_report() {
                return Poll::Ready(());
            }
            ready!(timer.as_mut().poll(cx));
            let has_agents = session.has_background_agents();
            if !has_agents && !self.had_agents {
                return Poll::Ready(());
            }
            self.had_agents = has_agents;
            self.timer = Some(Box::pin(tokio::time::sleep(self.patience)));
        }
    }
}
