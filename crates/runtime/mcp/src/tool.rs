//! A tool of a server, as a session calls it.

use crate::call::ServerCall;
use crate::configuration::ServerConfig;
use crate::content;
use crate::handler::Counterpart;
use crate::manifest::{Manifest, ToolEntry};
use crate::metadata;
use crate::server::Server;
use ostler_core::output_bound::bound;
use ostler_core::permission::Access;
use ostler_core::ports::{BoxFuture, Tool, ToolContext};
use ostler_core::tool::{ToolOutput, ToolSpec};
use ostler_core::tool_facts::ToolFacts;
use serde_json::Value;
use std::sync::Arc;

/// Characters of a result; longer ones are stored and shown by their ends.
const MAX_CHARS: usize = 50_000;

pub struct McpTool {
    server: Arc<Server>,
    /// How the session calls the server.
    config: Arc<ServerConfig>,
    /// As the server calls it.
    remote: String,
    spec: ToolSpec,
    /// It may run beside others.
    only_reads: bool,
    counterpart: Option<Arc<dyn Counterpart>>,
}

impl McpTool {
    /// The tools that a manifest offers, under the names of this configuration.
    pub fn all(
        server: &Arc<Server>,
        config: &Arc<ServerConfig>,
        manifest: &Manifest,
        counterpart: Option<&Arc<dyn Counterpart>>,
    ) -> Vec<Arc<dyn Tool>> {
        let tool = |entry: &ToolEntry| {
            let tool = McpTool::new(server, config, entry, counterpart.cloned());
            Arc::new(tool) as Arc<dyn Tool>
        };
        manifest.tools.iter().map(tool).collect()
    }

    /// What a session calls the tool that the manifest shows like this.
    pub fn name(config: &ServerConfig, shown: &str) -> String {
        let named = metadata::server_name(&config.name).unwrap_or_else(|_| "server".into());
        format!("mcp__{named}__{shown}")
    }

    fn new(
        server: &Arc<Server>,
        config: &Arc<ServerConfig>,
        entry: &ToolEntry,
        counterpart: Option<Arc<dyn Counterpart>>,
    ) -> Self {
        let spec = ToolSpec {
            name: McpTool::name(config, &entry.shown),
            description: format!("[{}] {}", config.name, entry.description),
            input_schema: entry.schema.clone(),
            facts: ToolFacts::UNDECLARED,
        };
        McpTool {
            server: server.clone(),
            config: config.clone(),
            remote: entry.name.clone(),
            spec,
            only_reads: config.trusted && entry.read_only,
            counterpart,
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, input: &Value) -> Result<Access, ToolOutput> {
        match input.is_object() {
            // It reaches its server and changes nothing, by the word of a server that the person trusts.
            true if self.only_reads => {
                Ok(Access { hosts: vec![self.config.name.clone()], ..Access::nothing() })
            }
            true => Ok(Access::unknown()),
            false => Err(ToolOutput::misuse("the input must be an object")),
        }
    }

    fn run(&self, input: Value, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let Value::Object(input) = input else {
            let wrong = ToolOutput::misuse("the input must be an object");
            return Box::pin(std::future::ready(wrong));
        };
        let (server, name) = (self.server.clone(), self.config.name.clone());
        let asked = self.counterpart.as_ref();
        let given = Value::Object(input.clone());
        let counterpart = asked.map(|one| {
            one.of_call(&cx.call, &self.spec.name, &given).unwrap_or_else(|| one.clone())
        });
        let tool = self.remote.clone();
        Box::pin(async move {
            let progress = cx.progress.clone();
            match server.call(ServerCall { tool, input, progress, counterpart }).await {
                Ok(result) => bound(content::output(result), MAX_CHARS, cx.blobs.as_ref()),
                Err(error) => ToolOutput::error(format!("MCP server {name}: {error}")),
            }
        })
    }
}
