//! Whether settings permit a server, by what it really starts or calls.

use super::McpOptions;
use ostler_config::{ServerAddress, ServerLimits};
use ostler_core::event::Notice;
use ostler_mcp::{ServerConfig, ServerTransport};

/// The key in the settings that keeps a server out.
fn server_refusal(limits: &ServerLimits, server: &ServerConfig) -> Option<&'static str> {
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

/// Why a server cannot be used, in one line.
pub fn not_permitted(limits: &ServerLimits, server: &ServerConfig) -> Option<String> {
    let key = server_refusal(limits, server)?;
    Some(format!(
        "the MCP server \"{}\" is not used: {key} in your settings does not permit it",
        server.name
    ))
}

/// The servers that a session begins with, and a notice for each of the others.
pub(super) fn permitted_servers(options: &McpOptions) -> (Vec<&ServerConfig>, Vec<Notice>) {
    let (mut permitted, mut notices) = (Vec::new(), Vec::new());
    for server in &options.servers {
        match not_permitted(&options.limits, server) {
            None => permitted.push(server),
            Some(text) => notices.push(Notice::Mcp { server: server.name.clone(), text }),
        }
    }
    (permitted, notices)
}
