//! A tool, erased: what the registry holds and the engine runs.

use super::session_store::StoreError;
use super::{Blobs, BoxFuture};
use crate::ids::CallId;
use crate::inbox::QueuedItem;
use crate::permission::Access;
use crate::session::Entry;
use crate::todo::Plan;
use crate::tool::{Seen, ToolOutput, ToolSpec};
use serde_json::Value;
use std::sync::Arc;

pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// What the call would touch, or, if the input is wrong, what to tell the model.
    /// May look at the file system to resolve links; changes nothing.
    #[allow(
        clippy::result_large_err,
        reason = "what the model is told is an output like any other, not an error"
    )]
    fn access(&self, input: &Value) -> Result<Access, ToolOutput>;

    /// Why the call would fail whatever a person says about it, as far as that is known now. Asked before a question is
    /// put; changes nothing.
    fn objection(&self, _input: &Value) -> BoxFuture<'static, Option<ToolOutput>> {
        Box::pin(std::future::ready(None))
    }

    /// Runs the call. The input was accepted by `access` before. Dropping the future stops everything it started.
    fn run(&self, input: Value, cx: ToolContext) -> BoxFuture<'static, ToolOutput>;

    /// The result of a call is on record, and what it showed will be seen by the model. Not called for the calls of
    /// an answer that was discarded.
    fn recorded(&self, _seen: &[Seen]) {}
}

/// What a call gets besides its input. No session, no engine, no configuration.
#[derive(Clone)]
pub struct ToolContext {
    pub call: CallId,
    /// What the call was judged by. A tool that finds that its input leads elsewhere by now does nothing.
    pub judged: Access,
    /// Other commands that change something may run at the same time.
    pub beside_others: bool,
    pub progress: Arc<dyn Progress>,
    pub recorder: Arc<dyn Recorder>,
    pub blobs: Arc<dyn Blobs>,
    pub arrivals: Arc<dyn Arrivals>,
}

/// Takes the newest output of a running call. Never waits.
pub trait Progress: Send + Sync {
    fn tail(&self, tail: &str);
}

/// Wakes a call that waits.
pub trait Arrivals: Send + Sync {
    /// Something that is delivered when the call has ended, as soon as there is such a thing.
    fn next(&self) -> BoxFuture<'static, QueuedItem>;
}

/// Nothing ever arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoArrivals;

impl Arrivals for NoArrivals {
    fn next(&self) -> BoxFuture<'static, QueuedItem> {
        Box::pin(std::future::pending())
    }
}

/// Writes a fact to the session's log before the tool acts on it.
pub trait Recorder: Send + Sync {
    fn record(&self, entry: Entry) -> Result<(), StoreError>;

    /// The session's plan as the log has it.
    fn plan(&self) -> Arc<Plan> {
        Arc::default()
    }
}
