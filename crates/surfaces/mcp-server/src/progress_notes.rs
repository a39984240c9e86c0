//! What a client hears of a running call, if it wants to.

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use std::time::{Duration, Instant};

/// The shortest time between two notes.
const PAUSE: Duration = Duration::from_millis(100);
/// Characters of a note.
const CHARS: usize = 200;

/// What a client was told about the progress of a call.
#[derive(Default)]
pub(crate) struct ProgressNotes {
    count: u32,
    last: Option<Instant>,
}

impl ProgressNotes {
    pub(crate) async fn progress(&mut self, context: &RequestContext<RoleServer>, text: &str) {
        let Some(token) = context.meta.get_progress_token() else { return };
        if self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        (self.count, self.last) = (self.count + 1, Some(Instant::now()));
        let text = ostler::strip_terminal(text);
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line: String = line.chars().take(CHARS).collect();
        let note = ProgressNotificationParam::new(token, f64::from(self.count)).with_message(line);
        // A client that does not hear it misses nothing that the result does not say.
        let _ = context.peer.notify_progress(note).await;
    }
}
