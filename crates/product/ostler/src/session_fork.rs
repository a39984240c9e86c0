//! Another session that begins with what was said in this one.

use crate::error::Error;
use crate::session::Session;
use crate::session_options::{ForkSource, SessionChoice, SessionOptions};
use ostler_core::ids::SessionId;
use ostler_core::session::{Entry, ForkPoint};
use std::ops::ControlFlow;

impl Session {
    /// The session that this one is a copy of.
    pub fn forked_from(&self) -> Option<SessionId> {
        let mut from = None;
        let see = &mut |_, entry: Entry| {
            if let Entry::Opened { forked_from, .. } = entry {
                from = forked_from.map(|fork| fork.session);
            }
            ControlFlow::Break(())
        };
        // Without its first entry a log cannot be opened.
        let _ = self.shared().agent.journal.log().visit(see);
        from
    }

    /// A copy of the session as its log has it, up to a point. It goes on with the mode and the model that this one has now.
    ///
    /// # Errors
    /// If there is no such point, or the session is not kept on a disk.
    pub fn fork(&self, at: ForkPoint) -> Result<Session, Error> {
        let (host, options) = &self.shared().origin;
        let source = ForkSource { session: Some(self.id().to_string()), at, name: None };
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
