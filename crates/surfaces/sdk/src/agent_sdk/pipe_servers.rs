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
pub fn pipe_server(name: &str, limits: &PipeServerLimits, callbacks: &Callbacks) -> ServerConfig {
    let tunnel = PipeServer { name: name.to_owned(), callbacks: callbacks.clone() };
    let transport = ServerTransport::Tunnel(Arc::new(tunnel));
    let config = ServerConfig::new(name, transport, ServerScope::Session);
    let call_limit = limits.call_limit.unwrap_or(config.call_limit);
    ServerConfig { always_load: true, call_limit, ..config }
}

/// What a program says about a server that it runs itself: how long calls may take, and the tools that are asked about or
/// denied in every mode. It cannot allow anything this way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipeServerLimits {
    pub call_limit: Option<Duration>,
    /// Rules.
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}

impl PipeServerLimits {
    pub fn read(name: &str, config: Option<&Value>) -> Self {
        let limit = config.and_then(|config| config.get("timeout")).and_then(Value::as_u64);
        let call_limit = limit.filter(|limit| *limit >= 1_000).map(Duration::from_millis);
        let mut limits = PipeServerLimits { call_limit, ..PipeServerLimits::default() };
        let tools = config.and_then(|config| config.get("tools")).and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let Some(tool_name) = tool.get("name").and_then(Value::as_str) else { continue };
            let rule = format!("mcp__{}__{tool_name}", name.replace(['.', ' '], "_"));
            match tool.get("permission_policy").and_then(Value::as_str) {
                Some("always_allow") => {}
                Some("always_deny") => limits.deny.push(rule),
                // What is not understood is asked about.
                _ => limits.ask.push(rule),
            }
        }
        limits
    }
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

/// Its configuration in the form in which programs write it, without values that may be secrets.
fn config(status: &ServerStatus) -> Value {
    let mut config = status.config.clone();
    if config["type"] == "sdk" {
        config["name"] = status.name.as_str().into();
    }
    for list in ["env", "headers"] {
        let Some(names) = config.as_object_mut().and_then(|fields| fields.remove(list)) else {
            continue;
        };
        let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
        let hidden: Map<String, Value> =
            names.map(|name| (name.to_owned(), "[hidden]".into())).collect();
        if !hidden.is_empty() {
            config[list] = hidden.into();
        }
    }
    config
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
    put("config", config(status));
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

    #[test]
    fn a_program_limits_its_tools_and_allows_none() {
        let tool = |name: &str, policy: &str| json!({"name": name, "permission_policy": policy});
        let tools = json!([
            tool("a", "always_ask"), tool("d", "always_deny"), tool("x", "always_allow"),
            tool("u", "sometimes"), {"name": "n"}, {"permission_policy": "always_deny"},
        ]);
        let read = |config: Value| PipeServerLimits::read("my.db", Some(&config));
        let limits = read(json!({"timeout": 5_000, "tools": tools}));
        assert_eq!(limits.call_limit, Some(Duration::from_secs(5)));
        assert_eq!(limits.ask, ["mcp__my_db__a", "mcp__my_db__u", "mcp__my_db__n"]);
        assert_eq!(limits.deny, ["mcp__my_db__d"]);
        assert_eq!(read(json!({"timeout": 999, "tools": "all"})), PipeServerLimits::default());
        assert_eq!(PipeServerLimits::read("s", None), PipeServerLimits::default());
    }

    #[test]
    fn a_configuration_has_the_form_in_which_it_was_written() {
        let (args, env) = (vec!["a".to_owned()], vec![("KEY".to_owned(), "secret".to_owned())]);
        let transport = ServerTransport::Stdio { command: "x".into(), args, env, cwd: None };
        let status = |transport| {
            let config = ServerConfig::new("s", transport, ServerScope::Session);
            server_status(&ServerStatus {
                name: "s".into(),
                status: ServerState::Pending,
                server_info: None,
                tools: Vec::new(),
                error: None,
                scope: config.scope.name(),
                config: config.public(),
            })
        };
        let told = status(transport);
        let expected =
            json!({"type": "stdio", "command": "x", "args": ["a"], "env": {"KEY": "[hidden]"}});
        assert_eq!((&told["config"], &told["scope"]), (&expected, &json!("dynamic")));
        let url = "https://example.com".to_owned();
        let told = status(ServerTransport::Http { url, headers: Vec::new() });
        assert_eq!(told["config"], json!({"type": "http", "url": "https://example.com"}));
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
