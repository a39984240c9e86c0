//! How tools change the mode of the session they belong to.

use crate::session::{Session, SessionShared};
use ostler_core::permission::Mode;
use ostler_core::ports::ModeSwitch;
use std::sync::{Arc, OnceLock, Weak};

const GONE: &str = "the session is closed";

/// Made before the session, which makes it usable.
#[derive(Default)]
pub(crate) struct SessionMode(OnceLock<Weak<SessionShared>>);

impl SessionMode {
    pub(crate) fn serving(session: Session) -> Session {
        if let Some(mode) = &session.shared.parts.reach.mode {
            let _ = mode.0.set(Arc::downgrade(&session.shared));
        }
        session
    }

    fn session(&self) -> Option<Session> {
        Some(Session { shared: self.0.get()?.upgrade()? })
    }
}

impl ModeSwitch for SessionMode {
    fn mode(&self) -> Mode {
        self.session().map_or_else(Mode::default, |session| session.mode())
    }

    fn switch(&self, mode: Mode) -> Result<(), String> {
        let session = self.session().ok_or(GONE)?;
        session.set_mode(mode).map(|_| ()).map_err(|refused| refused.to_string())
    }
}
