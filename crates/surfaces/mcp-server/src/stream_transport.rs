//! Serves one client over a pair of byte streams, such as standard input and output.

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServerHandler};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// Bytes of one message. A longer one is dropped; the connection stays.
const LONGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// Until the client closes its end, or `stop` is cancelled.
///
/// # Errors
/// In words, if the client did not speak MCP.
pub async fn serve_stream<H, R, W>(
    handler: H,
    read: R,
    write: W,
    stop: CancellationToken,
) -> Result<(), String>
where
    H: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(read, write)
        .with_max_line_length(LONGEST_MESSAGE);
    let running = match serve_server_with_ct(handler, transport, stop).await {
        Ok(running) => running,
        // It left before it said anything, or we do.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
    };
    match running.waiting().await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
