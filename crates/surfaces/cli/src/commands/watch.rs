//! The observers of a session: they read what the turn says and take no part in it.

use ostler::{Envelope, Observer, SessionId};
use ostler_profile::{Environment, ProfileError};

pub struct Watch {
    observer: Observer,
}

impl Watch {
    pub fn new(environment: &Environment, session: &SessionId) -> Result<Self, ProfileError> {
        let log = ostler::event_log(&environment.home()?.join("events"), session);
        Ok(Watch { observer: Observer::new(log) })
    }

    pub fn see(&mut self, envelope: &Envelope) {
        self.observer.see(envelope);
    }

    /// What the tools did, one line each.
    pub fn finish(&mut self) -> Vec<String> {
        self.observer.finish();
        self.observer.stats().lines()
    }
}
