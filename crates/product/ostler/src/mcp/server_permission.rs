//! Whether settings permit a server, by what it really starts or calls.

use ostler_config::{ServerAddress, ServerLimits};
use ostler_mcp::{ServerConfig, ServerTransport};

/// The key in the settings that keeps a server out.
pub fn server_refusal(limits: &ServerLimits, server: &ServerConfig) -> Option<&'static str> {
    match &server.transport {
        ServerTransport::Stdio { command, args, .. } => {
            let words: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
            limits.refusal(&server.name, ServerAddress::Command(&words))
        }
        ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. } => {
            limits.refusal(&server.name, ServerAddress::Url(url))
        }
        ServerTransport::Tunnel(_) => limits.refusal(&server.name, ServerAddress::Tunnel),
    }
}
