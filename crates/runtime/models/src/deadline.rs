//! Patience with the other side. Time counts only while somebody waits here for data: what has arrived wins over a
//! timer that has run out, and a reader that was away for long does not make the sender late.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is looked at later than this after it rang was not watched when it rang.
const AWAY: Duration = Duration::from_secs(2);

/// How long each stage of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Name resolution, TCP and TLS.
    pub connect: Duration,
    /// From the request to the first event of the answer; pings do not count as one.
    pub first_event: Duration,
    /// Between any two events of the answer. A ping is one, because a model may think for long; a comment is not.
    pub silence: Duration,
    /// All waiting for one answer together, so that pings alone do not keep it alive forever.
    pub answer: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines {
            connect: Duration::from_secs(10),
            first_event: Duration::from_secs(120),
            silence: Duration::from_secs(90),
            answer: Duration::from_secs(30 * 60),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Silence(Duration),
    Total(Duration),
}

/// Watches one stage: a bound on the waits between two signs of life, and one on all of them together.
pub(crate) struct DeadlineWatch {
    silence: Duration,
    total: Duration,
    waited: Duration,
    /// The part of `waited` since the last sign of life.
    quiet: Duration,
    /// Since when we wait for the next piece, and how long that may last.
    waiting: Option<(Instant, Duration)>,
    timer: Pin<Box<Sleep>>,
}

impl DeadlineWatch {
    pub fn new(silence: Duration, total: Duration) -> Self {
        let timer = Box::pin(sleep_until(Instant::now()));
        DeadlineWatch {
            silence,
            total,
            waited: Duration::ZERO,
            quiet: Duration::ZERO,
            waiting: None,
            timer,
        }
    }

    /// What arrived was more than noise: the wait for silence starts again.
    pub fn alive(&mut self) {
        self.quiet = Duration::ZERO;
    }

    /// Passes data on, and an overdue wait as an error. To be called with what was polled just now.
    pub fn check<T>(&mut self, cx: &mut Context<'_>, data: Poll<T>) -> Poll<Result<T, Expired>> {
        let now = Instant::now();
        if let Poll::Ready(data) = data {
            if let Some((since, allowed)) = self.waiting.take() {
                let waited = now.duration_since(since).min(allowed);
                self.waited += waited;
                self.quiet += waited;
            }
            return Poll::Ready(Ok(data));
        }
        if self.waiting.is_none() {
            self.arm(now);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            if now.duration_since(self.timer.deadline()) < AWAY {
                return Poll::Ready(Err(self.expired()));
            }
            self.arm(now);
        }
        Poll::Pending
    }

    fn arm(&mut self, now: Instant) {
        let silence = self.silence.saturating_sub(self.quiet);
        let allowed = silence.min(self.total.saturating_sub(self.waited));
        self.waiting = Some((now, allowed));
        self.timer.as_mut().reset(now + allowed);
    }

    fn expired(&self) -> Expired {
        let silence = self.silence.saturating_sub(self.quiet);
        match self.total.saturating_sub(self.waited) < silence {
            true => Expired::Total(self.total),
            false => Expired::Silence(self.silence),
        }
    }
}

/// Waits for a future under the watch.
pub(crate) async fn within<F: Future>(
    watch: &mut DeadlineWatch,
    future: F,
) -> Result<F::Output, Expired> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        let data = future.as_mut().poll(cx);
        watch.check(cx, data)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::task::noop_waker;
    use tokio::sync::mpsc;
    use tokio::time::{advance, sleep};

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_the_wait_and_data_starts_it_anew() {
        let mut watch = DeadlineWatch::new(secs(90), secs(1_800));
        for _ in 0..5 {
            assert_eq!(within(&mut watch, sleep(secs(80))).await, Ok(()));
            watch.alive();
        }
        let before = Instant::now();
        assert_eq!(
            within(&mut watch, std::future::pending::<()>()).await,
            Err(Expired::Silence(secs(90)))
        );
        assert_eq!(before.elapsed().as_secs(), 90);
    }

    #[tokio::test(start_paused = true)]
    async fn noise_is_no_sign_of_life() {
        let mut watch = DeadlineWatch::new(secs(90), secs(1_800));
        assert_eq!(within(&mut watch, sleep(secs(80))).await, Ok(()));
        watch.alive();
        let before = Instant::now();
        let end = loop {
            if let Err(expired) = within(&mut watch, sleep(secs(20))).await {
                break expired;
            }
        };
        assert_eq!((end, before.elapsed().as_secs()), (Expired::Silence(secs(90)), 90));
    }

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_do_not_last_for_ever() {
        let mut watch = DeadlineWatch::new(secs(90), secs(1_800));
        let mut pings = 0;
        let end = loop {
            match within(&mut watch, sleep(secs(20))).await {
                Ok(()) => {
                    pings += 1;
                    watch.alive();
                }
                Err(expired) => break expired,
            }
        };
        assert!((89..=90).contains(&pings), "{pings}");
        assert_eq!(end, Expired::Total(secs(1_800)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_arrived_wins_over_a_timer_that_ran_out() {
        let (tx, mut rx) = mpsc::channel::<u8>(4);
        let mut watch = DeadlineWatch::new(secs(90), secs(1_800));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let poll =
            |watch: &mut DeadlineWatch, cx: &mut Context<'_>, rx: &mut mpsc::Receiver<u8>| {
                let data = rx.poll_recv(cx);
                watch.check(cx, data)
            };
        assert!(poll(&mut watch, &mut cx, &mut rx).is_pending());
        tx.send(1).await.expect("room");
        advance(secs(91)).await;
        assert_eq!(poll(&mut watch, &mut cx, &mut rx), Poll::Ready(Ok(Some(1))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_was_away_does_not_make_the_sender_late() {
        let mut watch = DeadlineWatch::new(secs(90), secs(1_800));
        let waker = noop_waker();
        let mut cx = Context::from_waker(&waker);
        assert!(watch.check(&mut cx, Poll::<()>::Pending).is_pending());
        advance(secs(600)).await;
        assert!(watch.check(&mut cx, Poll::<()>::Pending).is_pending(), "nobody was waiting");
        advance(secs(90)).await;
        assert_eq!(
            watch.check(&mut cx, Poll::<()>::Pending),
            Poll::Ready(Err(Expired::Silence(secs(90))))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn time_between_pieces_is_the_readers_own() {
        let mut watch = DeadlineWatch::new(secs(90), secs(100));
        for _ in 0..10 {
            assert_eq!(within(&mut watch, sleep(secs(1))).await, Ok(()));
            advance(secs(3_600)).await;
        }
        assert_eq!(within(&mut watch, sleep(secs(1))).await, Ok(()));
    }
}
