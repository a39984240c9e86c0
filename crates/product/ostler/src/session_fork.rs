//! Another session that begins with what was said in this one.

use crate::error::Error;
use crate::session::Session;
use crate::session_options::{ForkSource, SessionChoice, SessionOptions};
use ostler_core::session::ForkPoint;

impl Session {
    /// A copy of the session as its log has it, up to a point. It goes on with the mode and the model that this one has now.
    ///
    /// # Errors
    /// If there is no such point, or the session is not kept on a disk.
    pub fn fork(&self, at: ForkPoint) -> Result<Session, Error> {
        let (host, options) = &self.shared().origin;
        let source = ForkSource { session: Some(self.id().to_string()), at };
        let options = SessionOptions {
            log: SessionChoice::Fork(source),
            mode: self.mode(),
            model: self.model().to_string(),
            keep_model: false,
            ..SessionOptions::clone(options)
        };
        host.session(options)
    }
}
