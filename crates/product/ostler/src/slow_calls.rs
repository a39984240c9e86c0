//! Calls that have been running for long: each is reported once.

use ostler_core::event::{Event, Notice};
use ostler_core::ids::CallId;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) struct SlowCalls {
    /// None: no call is slow.
    limit: Option<Duration>,
    running: Vec<Running>,
    alarm: Option<Pin<Box<Sleep>>>,
}

struct Running {
    id: CallId,
    name: String,
    since: Instant,
    is_reported: bool,
}

impl SlowCalls {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        SlowCalls { limit, running: Vec::new(), alarm: None }
    }

    pub(crate) fn see(&mut self, event: &Event) {
        match event {
            Event::CallStarted { id, name, .. } if self.limit.is_some() => {
                let (id, name, since) = (id.clone(), name.clone(), Instant::now());
                self.running.push(Running { id, name, since, is_reported: false });
            }
            Event::CallFinished { id, .. } => self.running.retain(|call| call.id != *id),
            // Calls of an answer that was discarded have no end.
            Event::AnswerDropped | Event::Finished(_) => self.running.clear(),
            _ => return,
        }
        self.set_alarm();
    }

    fn set_alarm(&mut self) {
        let waiting = self.running.iter().filter(|call| !call.is_reported);
        let first = waiting.map(|call| call.since).min();
        let at = first.zip(self.limit).and_then(|(since, limit)| since.checked_add(limit));
        self.alarm = at.map(|at| Box::pin(sleep_until(at)));
    }

    /// The next call that has become slow. Pending while there is none.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Notice> {
        let Some(alarm) = &mut self.alarm else { return Poll::Pending };
        ready!(alarm.as_mut().poll(cx));
        let waiting = self.running.iter_mut().filter(|call| !call.is_reported);
        let Some(call) = waiting.min_by_key(|call| call.since) else {
            self.alarm = None;
            return Poll::Pending;
        };
        call.is_reported = true;
        let seconds = call.since.elapsed().as_secs_f64().round() as u64;
        let notice = Notice::SlowCall { id: call.id.clone(), name: call.name.clone(), seconds };
        self.set_alarm();
        Poll::Ready(notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::poll_fn;
    use futures_util::poll;
    use serde_json::Value;

    fn started(id: &str) -> Event {
        Event::CallStarted { id: id.into(), name: "Bash".into(), input: Value::Null }
    }

    async fn next(calls: &mut SlowCalls) -> Poll<Notice> {
        let mut next = std::pin::pin!(poll_fn(|cx| calls.poll_next(cx)));
        poll!(&mut next)
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_call_is_reported_once() {
        let mut calls = SlowCalls::new(Some(Duration::from_secs(5)));
        assert!(next(&mut calls).await.is_pending(), "nothing runs");
        calls.see(&started("a"));
        assert!(next(&mut calls).await.is_pending(), "it is not slow yet");
        tokio::time::advance(Duration::from_secs(6)).await;
        let Poll::Ready(notice) = next(&mut calls).await else { panic!("it is slow") };
        let (id, name) = ("a".into(), "Bash".into());
        assert_eq!(notice, Notice::SlowCall { id, name, seconds: 6 });
        assert!(next(&mut calls).await.is_pending(), "it was reported");
        // What was discarded never ends.
        calls.see(&started("b"));
        calls.see(&Event::AnswerDropped);
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(next(&mut calls).await.is_pending());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_no_call_is_slow() {
        let mut calls = SlowCalls::new(None);
        calls.see(&started("a"));
        tokio::time::advance(Duration::from_secs(1 << 20)).await;
        assert!(next(&mut calls).await.is_pending());
    }
}
