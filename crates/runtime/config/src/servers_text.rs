//! MCP servers in settings, before anybody starts them.

use crate::located_json::Located;
use ostler_core::permission::Tier;
use std::path::{Path, PathBuf};

/// MCP servers as a file configures them. Whoever starts them reads the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServersText {
    pub file: PathBuf,
    pub tier: Tier,
    /// JSON with the key `mcpServers`, or the YAML of `mcp_config.yaml`.
    pub text: String,
    pub is_yaml: bool,
}

impl ServersText {
    pub(crate) fn json(file: &Path, tier: Tier, servers: Located<'_>) -> Self {
        let text = format!("{{\"mcpServers\": {}}}", servers.raw());
        ServersText { file: file.to_owned(), tier, text, is_yaml: false }
    }
}
