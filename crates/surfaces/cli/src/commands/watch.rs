//! The observers of a session: they read what the turn says and take no part in it.

use crate::environment::Environment;
use crate::exit::Wrong;
use ostler::{Event, Level, Observer, SessionId};

pub struct Watch {
    observer: Observer,
}

impl Watch {
    pub fn new(environment: &Environment, session: &SessionId) -> Result<Self, Wrong> {
        let log = ostler::event_log(&environment.home()?.join("events"), session);
        Ok(Watch { observer: Observer::new(log, environment.slow_call()?) })
    }

    /// Passes an event on.
    pub fn seen(&mut self, event: Option<Event>) -> Option<Event> {
        if let Some(event) = &event {
            self.observer.event(event);
        }
        event
    }

    /// Comes back when a call has been running for long. Cancel-safe.
    pub async fn slow(&mut self) -> Event {
        loop {
            match self.observer.next_slow() {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
            let text = self.observer.slow().join("; ");
            if !text.is_empty() {
                return Event::Notice { level: Level::Info, text };
            }
        }
    }

    /// What the tools did, one line each.
    pub fn finish(&mut self) -> Vec<String> {
        self.observer.finish();
        self.observer.stats().lines()
    }
}
