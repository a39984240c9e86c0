//! A call that is no part of a conversation: its texts are all that counts.

use crate::call::ServerCall;
use crate::error::ServerError;
use crate::server::Server;
use ostler_core::ports::Progress;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Nobody watches.
struct Unwatched;

impl Progress for Unwatched {
    fn tail(&self, _tail: &str) {}
}

impl Server {
    /// Calls a tool and gives the texts of its result. Dropping the future cancels the call.
    ///
    /// # Errors
    /// If the server cannot be asked, or says that the call failed.
    pub async fn call_for_text(
        self: &Arc<Self>,
        tool: &str,
        input: Map<String, Value>,
    ) -> Result<String, ServerError> {
        let (tool, progress) = (tool.to_owned(), Arc::new(Unwatched));
        let result = self.call(ServerCall { tool, input, progress, counterpart: None }).await?;
        let texts = result.content.iter().filter_map(|part| part.as_text());
        let text = texts.map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n");
        match result.is_error {
            Some(true) => Err(ServerError::Protocol(text)),
            _ => Ok(text),
        }
    }
}
