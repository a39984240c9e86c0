//! MCP servers that the program runs itself: their messages travel through the pipe.

use super::callbacks::{CallbackFailure, Callbacks};
use ostler::BoxFuture;
use ostler::mcp_servers::{
    ServerConfig, ServerScope, ServerState, ServerStatus, ServerTransport, Tunnel, TunnelError,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The longest time for one message; the server's own limits are shorter as a rule.
const LONGEST: Duration = Duration::from_secs(60 * 60);

struct PipeServer {
    name: String,
    callbacks: Callbacks,
}

impl Tunnel for PipeServer {
    fn exchange(&self, message: Value) -> BoxFuture<'static, Result<Option<Value>, TunnelError>> {
        let callbacks = self.callbacks.clone();
        let wants_answer = message.get("id").is_some_and(|id| !id.is_null());
        let request =
            json!({ "subtype": "mcp_message", "server_name": self.name, "message": message });
        Box::pin(async move {
            let answer = callbacks.ask(request, Some(LONGEST)).await;
            let answer = answer.map_err(|failure| TunnelError(words(&failure)))?;
            Ok(answer.get("mcp_response").filter(|_| wants_answer).cloned())
        })
    }
}

fn words(failure: &CallbackFailure) -> String {
    format!("the program that runs it {failure}")
}

/// A server of the program, by its name. It is there from the start.
pub fn pipe_server(name: &str, callbacks: &Callbacks) -> ServerConfig {
    let tunnel = PipeServer { name: name.to_owned(), callbacks: callbacks.clone() };
    let transport = ServerTransport::Tunnel(Arc::new(tunnel));
    let config = ServerConfig::new(name, transport, ServerScope::Session);
    ServerConfig { always_load: true, ..config }
}

/// Takes the servers that the program runs itself out of a configuration: the rest, if any is left, and their names.
pub fn split_servers(configuration: &Value) -> (Option<Value>, Vec<String>) {
    let wrapped = configuration.get("mcpServers");
    let Some(servers) = wrapped.unwrap_or(configuration).as_object() else {
        return (Some(configuration.clone()), Vec::new());
    };
    let is_ours = |server: &Value| server.get("type").and_then(Value::as_str) == Some("sdk");
    let names = servers.iter().filter(|(_, server)| is_ours(server));
    let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
    let rest = servers.iter().filter(|(_, server)| !is_ours(server));
    let rest: Map<String, Value> =
        rest.map(|(name, server)| (name.clone(), server.clone())).collect();
    let rest = (!rest.is_empty()).then(|| json!({ "mcpServers": rest }));
    (rest, names)
}

/// The name of a state in frames and answers.
pub fn state_name(state: ServerState) -> &'static str {
    match state {
        ServerState::NeedsAuth => "needs-auth",
        other => other.name(),
    }
}

/// What a program brings along has a name of its own there.
fn scope(status: &ServerStatus) -> &'static str {
    if status.scope == ServerScope::Session.name() { "dynamic" } else { status.scope }
}

/// Where it was configured; servers that the program runs itself are told from all others.
pub fn server_source(status: &ServerStatus) -> &'static str {
    if status.config["type"] == "sdk" { "sdk" } else { scope(status) }
}

/// How a server is, as the answer to `mcp_status` has it.
pub fn server_status(status: &ServerStatus) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("name", status.name.as_str().into());
    put("status", state_name(status.status).into());
    if let Some((name, version)) = &status.server_info {
        put("serverInfo", json!({ "name": name, "version": version }));
    }
    if let Some(error) = &status.error {
        put("error", error.as_str().into());
    }
    let mut config = status.config.clone();
    if config["type"] == "sdk" {
        config["name"] = status.name.as_str().into();
    }
    put("config", config);
    put("scope", scope(status).into());
    put("source", server_source(status).into());
    let tool = |tool: &ostler::mcp_servers::ToolStatus| {
        json!({
            "name": tool.name, "description": tool.description,
            "annotations": { "readOnly": tool.read_only },
        })
    };
    put("tools", status.tools.iter().map(tool).collect());
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler::CountingIds;
    use tokio::sync::mpsc;

    #[test]
    fn servers_of_the_program_are_told_from_others() {
        let both =
            json!({"mcpServers": {"a": {"type": "sdk", "name": "a"}, "b": {"command": "x"}}});
        let (rest, names) = split_servers(&both);
        assert_eq!(rest, Some(json!({"mcpServers": {"b": {"command": "x"}}})));
        assert_eq!(names, ["a"]);
        let (rest, names) = split_servers(&json!({"a": {"type": "sdk"}}));
        assert_eq!((rest, names), (None, vec!["a".to_owned()]));
        assert_eq!(split_servers(&json!({"mcpServers": 5})).1, Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_request_gets_its_response_and_a_notification_nothing() {
        let (out, mut lines) = mpsc::unbounded_channel();
        let callbacks = Callbacks::new(Arc::new(CountingIds::default()), out);
        let server = PipeServer { name: "s".into(), callbacks: callbacks.clone() };
        for (message, expected) in [
            (json!({"id": 1, "method": "tools/list"}), Some(json!({"id": 1, "result": {}}))),
            (json!({"method": "notifications/initialized"}), None),
        ] {
            let answering = async {
                let line: Value = serde_json::from_str(&lines.recv().await.unwrap()).unwrap();
                assert_eq!(line["request"]["server_name"], "s");
                let answer = json!({"mcp_response": {"id": 1, "result": {}}});
                callbacks.answer(line["request_id"].as_str().unwrap(), Ok(answer));
            };
            let (got, ()) = tokio::join!(server.exchange(message), answering);
            assert_eq!(got, Ok(expected));
        }
        callbacks.close();
        let wrong = server.exchange(json!({"id": 2})).await.unwrap_err();
        assert!(wrong.0.contains("closed"), "{wrong}");
    }
}
