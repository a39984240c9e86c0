//! ListMcpResources and ReadMcpResource: in the session as soon as one of its servers has resources.

use super::session_servers::SessionServers;
use crate::session::{Session, SessionShared};
use ostler_core::output_bound::bound;
use ostler_core::permission::Access;
use ostler_core::ports::{BoxFuture, Tool, ToolContext};
use ostler_core::tool::{ToolOutput, ToolSpec};
use ostler_core::tool_facts::{Subject, ToolFacts};
use serde_json::{Value, json};
use std::sync::{Arc, Weak};

const LIST_TEXT: &str =
    include_str!("../../../../../prompts/tools/list-mcp-resources.md").trim_ascii();
const READ_TEXT: &str =
    include_str!("../../../../../prompts/tools/read-mcp-resource.md").trim_ascii();

/// Characters of a result; longer ones are stored and shown by their ends.
const MOST_CHARS: usize = 50_000;

pub(super) struct ResourceTool {
    session: Weak<SessionShared>,
    spec: ToolSpec,
    /// Otherwise it lists.
    reads: bool,
}

impl ResourceTool {
    const LIST: &'static str = "ListMcpResources";
    const READ: &'static str = "ReadMcpResource";

    /// Unless the session has them already.
    pub(super) fn add_to(session: &Session) {
        if session.shared().agent.tools.current().get(Self::LIST).is_some() {
            return;
        }
        let server = json!({"type": "string", "description": "The name of a server"});
        let uri = json!({"type": "string", "description": "The address of a resource"});
        let list = ToolSpec {
            name: Self::LIST.to_owned(),
            description: LIST_TEXT.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {"server": server},
                "additionalProperties": false,
            }),
            facts: ToolFacts { subject: Subject::Inputs(&["server"]), ..ToolFacts::UNDECLARED },
        };
        let read = ToolSpec {
            name: Self::READ.to_owned(),
            description: READ_TEXT.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {"server": server, "uri": uri},
                "required": ["server", "uri"],
                "additionalProperties": false,
            }),
            facts: ToolFacts { subject: Subject::Inputs(&["uri"]), ..ToolFacts::UNDECLARED },
        };
        let tool = |spec: ToolSpec, reads: bool| {
            let session = Arc::downgrade(&session.shared);
            Arc::new(ResourceTool { session, spec, reads }) as Arc<dyn Tool>
        };
        let _ = session.add_tools(vec![tool(list, false), tool(read, true)]);
    }
}

fn text<'a>(input: &'a Value, name: &str) -> Option<&'a str> {
    input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

impl Tool for ResourceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, input: &Value) -> Result<Access, ToolOutput> {
        match (self.reads, text(input, "server"), text(input, "uri")) {
            (true, Some(server), Some(_)) => {
                Ok(Access { hosts: vec![server.to_owned()], ..Access::nothing() })
            }
            (true, _, _) => Err(ToolOutput::misuse("server and uri must be texts")),
            (false, _, _) => Ok(Access::nothing()),
        }
    }

    fn run(&self, input: Value, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let (session, reads) = (self.session.clone(), self.reads);
        Box::pin(async move {
            let Some(shared) = session.upgrade() else {
                return ToolOutput::error("the session is closed");
            };
            let servers = shared.parts.servers.clone();
            drop(shared);
            let output = match (reads, text(&input, "server"), text(&input, "uri")) {
                (true, Some(server), Some(uri)) => read(&servers, server, uri).await,
                (_, only, _) => list(&servers, only).await,
            };
            bound(output, MOST_CHARS, cx.blobs.as_ref())
        })
    }
}

async fn read(servers: &SessionServers, name: &str, uri: &str) -> ToolOutput {
    let found = servers.enabled_servers().into_iter().find(|(shown, _)| shown == name);
    let Some((_, server)) = found else {
        return ToolOutput::error(format!("There is no MCP server {name:?} in this session."));
    };
    let answer = server.resource(uri).await;
    answer.unwrap_or_else(|error| ToolOutput::error(format!("MCP server {name}: {error}")))
}

async fn list(servers: &SessionServers, only: Option<&str>) -> ToolOutput {
    let mut lines = Vec::new();
    for (name, server) in servers.enabled_servers() {
        let has_some = server.manifest().is_some_and(|manifest| manifest.resources);
        if !has_some || only.is_some_and(|only| only != name) {
            continue;
        }
        match server.resources().await {
            Ok(found) => lines.extend(found.iter().map(|line| format!("{name}: {line}"))),
            Err(error) => lines.push(format!("{name}: {error}")),
        }
    }
    match lines.is_empty() {
        true => ToolOutput::text("There are no resources."),
        false => ToolOutput::text(lines.join("\n")),
    }
}
