//! The events of an agent in the stream of the one that started it.

use crate::session::SessionShared;
use crate::session_events::SessionEvents;
use ostler_core::event::{AgentPath, Envelope, Event};
use ostler_core::ids::CallId;
use std::sync::Arc;

pub(super) struct Relay {
    to: Arc<SessionEvents>,
    name: String,
    call: CallId,
    /// Pieces of text are passed on, too, not only whole blocks.
    deltas: bool,
    is_closed: bool,
}

impl Relay {
    pub(super) fn new(above: &SessionShared, name: String, call: CallId) -> Self {
        let (to, deltas) = (above.events.clone(), above.origin.1.agent_deltas);
        Relay { to, name, call, deltas, is_closed: false }
    }

    /// Waits while the driver of the session above does not read.
    pub(super) async fn pass(&mut self, envelope: &Envelope) {
        let wanted = match &envelope.event {
            Event::Raw(_) => false,
            Event::TextDelta { .. } | Event::ThinkingDelta { .. } => self.deltas,
            _ => true,
        };
        if !wanted {
            return;
        }
        let is_own = envelope.agent.is_root();
        self.is_closed |= is_own && matches!(envelope.event, Event::Closed { .. });
        let parent = if is_own { Some(self.call.clone()) } else { envelope.parent.clone() };
        self.to.emit_from(envelope.agent.below(&self.name), parent, envelope.event.clone());
        self.to.room().await;
    }
}

/// However an agent ends, nobody goes on waiting for it.
impl Drop for Relay {
    fn drop(&mut self) {
        if !self.is_closed {
            let path = AgentPath::default().child(self.name.as_str());
            let closed = Event::Closed { reason: "stopped".into() };
            self.to.emit_from(path, Some(self.call.clone()), closed);
        }
    }
}
