//! A server on the other side of a surface: its messages travel through the surface's own protocol.

use ostler_core::ports::BoxFuture;
use serde_json::Value;

/// Carries JSON-RPC messages to a server that another program runs.
pub trait Tunnel: Send + Sync {
    /// Delivers one message. A request gets its response, a notification nothing.
    fn exchange(&self, message: Value) -> BoxFuture<'static, Result<Option<Value>, TunnelError>>;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TunnelError(pub String);
