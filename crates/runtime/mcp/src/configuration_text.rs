//! Configurations as people write them: `mcpServers` in JSON, `servers` in YAML.

use crate::configuration::{ServerConfig, ServerReach, ServerScope, ServerTransport};
use crate::metadata::server_name;
use crate::sampling::WrittenSampling;
use crate::variables::{VariableUse, expand, uses};
use ostler_core::ports::LoginSettings;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;

/// Servers of one file.
const MOST_SERVERS: usize = 200;

/// Why a server, or a whole file, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    #[error("{0}")]
    File(String),
    #[error("the MCP server \"{server}\" cannot be used: {why}")]
    Server { server: String, why: String },
    /// The server can be used, without this.
    #[error("the MCP server \"{server}\": {why}")]
    Ignored { server: String, why: String },
}

/// What a text configures: the servers that can be used, and why others cannot.
#[derive(Debug, Default, PartialEq)]
pub struct Configured {
    pub servers: Vec<ServerConfig>,
    pub faults: Vec<ConfigFault>,
    /// The variables of the environment that the text uses.
    pub variables: Vec<VariableUse>,
}

/// `{"mcpServers": {"name": {…}}}`, or the inner object alone. `value` gives variables of the environment.
pub fn from_json(
    text: &str,
    scope: ServerScope,
    value: &dyn Fn(&str) -> Option<String>,
) -> Configured {
    let parsed: Result<UniqueMap, _> = serde_json::from_str(text);
    let root = match parsed {
        Ok(UniqueMap(root)) => root,
        Err(error) => return Configured::broken(&format!("it is not a JSON object: {error}")),
    };
    let servers = match root.get("mcpServers") {
        Some(Value::Object(servers)) => servers.clone(),
        Some(_) => return Configured::broken("mcpServers is not an object"),
        None => root,
    };
    Configured::of(servers.into_iter(), scope, value)
}

/// `servers: [{name, transport, command, args}]`.
pub fn from_yaml(
    text: &str,
    scope: ServerScope,
    value: &dyn Fn(&str) -> Option<String>,
) -> Configured {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        servers: Vec<Map<String, Value>>,
    }
    let file: File = match ostler_yaml::read(text, serde_saphyr::Options::default()) {
        Ok(file) => file,
        Err(error) => return Configured::broken(&format!("it cannot be read: {error}")),
    };
    let named = file.servers.into_iter().map(|mut server| {
        let name = server.remove("name").and_then(|name| name.as_str().map(str::to_owned));
        (name.unwrap_or_default(), Value::Object(server))
    });
    Configured::of(named, scope, value)
}

impl Configured {
    fn broken(why: &str) -> Self {
        let faults = vec![ConfigFault::File(why.to_owned())];
        Configured { faults, ..Configured::default() }
    }

    fn of(
        servers: impl Iterator<Item = (String, Value)>,
        scope: ServerScope,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let mut all = Configured::default();
        for (count, (name, server)) in servers.enumerate() {
            if count == MOST_SERVERS {
                let why = format!("it has more than {MOST_SERVERS} servers");
                all.faults.push(ConfigFault::File(why));
                break;
            }
            all.variables.extend(uses(&server.to_string()));
            let other = all.servers.iter().find(|other| same_name(&other.name, &name));
            let read = match other {
                Some(_) => Err("there is another server of that name".to_owned()),
                None => server_of(&name, server, scope, value),
            };
            match read {
                Ok(mut config) => {
                    all.faults.extend(without_sampling(&mut config));
                    all.servers.push(config);
                }
                Err(why) => {
                    let server: String = name.escape_debug().take(80).collect();
                    all.faults.push(ConfigFault::Server { server, why });
                }
            }
        }
        all.variables.sort_by(|a, b| a.name.cmp(&b.name));
        all.variables.dedup();
        all
    }
}

/// Who is paid for by the person is for the person to say, in files that are nobody else's.
fn without_sampling(config: &mut ServerConfig) -> Option<ConfigFault> {
    if matches!(config.scope, ServerScope::User | ServerScope::Session) {
        return None;
    }
    config.sampling.take()?;
    let why = "sampling is ignored: allow it in ~/.ostler/settings.json, with `ostler mcp add --scope user`, or with --mcp-config";
    Some(ConfigFault::Ignored { server: config.name.clone(), why: why.to_owned() })
}

fn same_name(one: &str, other: &str) -> bool {
    matches!((server_name(one), server_name(other)), (Ok(one), Ok(other)) if one == other)
}

/// One server as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(alias = "transport")]
    r#type: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<Value>,
    #[serde(default)]
    env: Map<String, Value>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    always_load: bool,
    #[serde(default)]
    trusted: bool,
    /// Milliseconds without an answer to a call.
    timeout: Option<u64>,
    /// Milliseconds until the first answer.
    start_timeout: Option<u64>,
    sandbox: Option<WrittenReach>,
    oauth: Option<WrittenLogin>,
    sampling: Option<WrittenSampling>,
}

/// How a person logs in to a server on the network. Keys of Claude Code that are not needed here are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenLogin {
    client_id: Option<String>,
    client_secret: Option<String>,
    issuer: Option<String>,
    callback_port: Option<u16>,
    client_metadata_url: Option<String>,
    scopes: Option<String>,
}

impl WrittenLogin {
    fn settings(self, value: &dyn Fn(&str) -> Option<String>) -> Result<LoginSettings, String> {
        let text = |written: Option<String>| written.map(|text| expand(&text, value)).transpose();
        Ok(LoginSettings {
            client_id: text(self.client_id)?,
            client_secret: text(self.client_secret)?,
            issuer: text(self.issuer)?,
            callback_port: self.callback_port,
            client_metadata_url: text(self.client_metadata_url)?,
            scopes: self.scopes,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenReach {
    enabled: Option<bool>,
    network: Option<bool>,
    write_project: Option<bool>,
    #[serde(default)]
    allow_read: Vec<PathBuf>,
    #[serde(default)]
    allow_write: Vec<PathBuf>,
}

fn server_of(
    name: &str,
    server: Value,
    scope: ServerScope,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<ServerConfig, String> {
    server_name(name)?;
    let written: Written = serde_json::from_value(server).map_err(|error| error.to_string())?;
    let kind = match (written.r#type.as_deref(), &written.url) {
        (Some(kind), _) => kind.to_owned(),
        (None, Some(_)) => "http".to_owned(),
        (None, None) => "stdio".to_owned(),
    };
    let transport = match kind.as_str() {
        "stdio" => program(&written, value)?,
        "http" | "streamable-http" | "streamable_http" | "streamableHttp" => {
            let (url, headers) = address(&written, value)?;
            ServerTransport::Http { url, headers }
        }
        "sse" => {
            let (url, headers) = address(&written, value)?;
            ServerTransport::Sse { url, headers }
        }
        other => return Err(format!("unknown type \"{other}\"; use stdio, http or sse")),
    };
    let mut config = ServerConfig::new(name, transport, scope);
    config.always_load = written.always_load;
    config.trusted = written.trusted;
    if let Some(limit) = written.timeout {
        config.call_limit = Duration::from_millis(limit.clamp(1, 24 * 60 * 60 * 1_000));
    }
    if let Some(limit) = written.start_timeout {
        config.start_limit = Duration::from_millis(limit.clamp(1, 10 * 60 * 1_000));
    }
    if let Some(login) = written.oauth {
        config.login = login.settings(value)?;
    }
    config.sampling = written.sampling.map(WrittenSampling::terms).transpose()?;
    if let Some(written) = written.sandbox {
        let usual = ServerReach::default();
        config.reach = ServerReach {
            unconfined: written.enabled == Some(false),
            network: written.network.unwrap_or(usual.network),
            write_project: written.write_project.unwrap_or(usual.write_project),
            read: written.allow_read,
            write: written.allow_write,
        };
    }
    Ok(config)
}

fn program(
    written: &Written,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<ServerTransport, String> {
    let command = written.command.as_deref().ok_or("it has no command")?;
    let args = written.args.iter().map(|arg| expand(&plain(arg)?, value));
    Ok(ServerTransport::Stdio {
        command: expand(command, value)?,
        args: args.collect::<Result<_, _>>()?,
        env: pairs(&written.env, value)?,
        cwd: written.cwd.as_deref().map(|cwd| expand(cwd, value)).transpose()?.map(PathBuf::from),
    })
}

type Address = (String, Vec<(String, String)>);

fn address(written: &Written, value: &dyn Fn(&str) -> Option<String>) -> Result<Address, String> {
    let url = expand(written.url.as_deref().ok_or("it has no url")?, value)?;
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    match is_web {
        true => Ok((url, pairs(&written.headers, value)?)),
        false => Err("its url does not begin with https:// or http://".into()),
    }
}

fn pairs(
    written: &Map<String, Value>,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let pair = |(name, text): (&String, &Value)| Ok((name.clone(), expand(&plain(text)?, value)?));
    written.iter().map(pair).collect()
}

/// Numbers and switches are taken for their text, as people write them.
fn plain(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err("expected a string, not a list or an object".into()),
    }
}

/// An object in which no key stands twice, also not in the object of servers.
struct UniqueMap(Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueMap {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor { depth: 0 }).map(UniqueMap)
    }
}

struct UniqueVisitor {
    depth: usize,
}

impl<'de> serde::de::Visitor<'de> for UniqueVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = match self.depth == 0 && key == "mcpServers" {
                true => Value::Object(map.next_value_seed(UniqueSeed)?),
                false => map.next_value()?,
            };
            if found.insert(key.clone(), value).is_some() {
                return Err(serde::de::Error::custom(format!("\"{key}\" is there twice")));
            }
        }
        Ok(found)
    }
}

struct UniqueSeed;

impl<'de> serde::de::DeserializeSeed<'de> for UniqueSeed {
    type Value = Map<String, Value>;

    fn deserialize<D: serde::Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(UniqueVisitor { depth: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Configured {
        let value = |name: &str| (name == "SET").then(|| "v".to_owned());
        from_json(text, ServerScope::User, &value)
    }

    #[test]
    fn only_a_person_lets_a_server_use_the_model() {
        let text = r#"{"a": {"command": "x", "sampling": {"maxUsd": 0.5}}}"#;
        for (scope, is_allowed) in [
            (ServerScope::User, true),
            (ServerScope::Session, true),
            (ServerScope::Local, false),
            (ServerScope::Project, false),
            (ServerScope::Plugin, false),
        ] {
            let found = from_json(text, scope, &|_| None);
            assert_eq!(found.servers[0].sampling.is_some(), is_allowed, "{scope:?}");
            let said = faults(&found).contains("sampling is ignored");
            assert_eq!(said, !is_allowed, "{scope:?}: {}", faults(&found));
        }
        for wrong in
            ["{}", r#"{"maxUsd": 0}"#, r#"{"maxUsd": -1}"#, r#"{"maxUsd": 1, "more": 2}"#, "true"]
        {
            let found = read(&format!(r#"{{"a": {{"command": "x", "sampling": {wrong}}}}}"#));
            assert!(found.servers.is_empty() && !found.faults.is_empty(), "{wrong}");
        }
    }

    fn faults(configured: &Configured) -> String {
        configured.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_server_is_what_its_entry_says() {
        for (entry, expected) in [
            (
                r#"{"command": "x", "args": [1, true, "${SET}"]}"#,
                r#"Stdio { command: "x", args: ["1", "true", "v"] }"#,
            ),
            (r#"{"type": "stdio", "command": "${NO:-y}"}"#, r#"Stdio { command: "y", args: [] }"#),
            (r#"{"url": "https://h/${SET}"}"#, r#"Http("https://h/v")"#),
            (r#"{"type": "http", "url": "http://h/"}"#, r#"Http("http://h/")"#),
            (r#"{"type": "sse", "url": "https://h/"}"#, r#"Sse("https://h/")"#),
            (r#"{"transport": "sse", "url": "https://h/"}"#, r#"Sse("https://h/")"#),
        ] {
            let configured = read(&format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#));
            assert_eq!(configured.faults, [], "{entry}");
            assert_eq!(format!("{:?}", configured.servers[0].transport), expected, "{entry}");
        }
    }

    #[test]
    fn an_entry_that_cannot_be_used_says_why_and_stops_no_other() {
        for (entry, why) in [
            ("{}", ""),
            (r#"{"command": ""}"#, "-"),
            (r#"{"type": "ftp", "url": "ftp://h"}"#, "unknown type"),
            (r#"{"type": "http", "url": "file:///etc"}"#, "does not begin with https://"),
            (r#"{"url": "javascript:x"}"#, "does not begin with https://"),
            (r#"{"command": "x", "args": [{}]}"#, "expected a string"),
            (r#"{"command": "x", "env": {"A": ["b"]}}"#, "expected a string"),
            (r#"{"command": "${MISSING}"}"#, "the variable MISSING is not set"),
            (r#"{"command": "x", "env": {"K": "${OPENAI_API_KEY:-a}"}}"#, "not passed on"),
            ("7", ""),
        ] {
            let text =
                format!(r#"{{"mcpServers": {{"bad": {entry}, "good": {{"command": "g"}}}}}}"#);
            let configured = read(&text);
            let names: Vec<&str> = configured.servers.iter().map(|it| it.name.as_str()).collect();
            // An empty command is a fault of its start.
            let expected: &[&str] = if why == "-" { &["bad", "good"] } else { &["good"] };
            assert_eq!(names, expected, "{entry}");
            let told = faults(&configured);
            assert!(
                why == "-" || told.contains(why) && told.contains("\"bad\""),
                "{entry}: {told}"
            );
        }
    }

    /// D21
    #[test]
    fn names_are_unique_and_plain() {
        for text in [
            r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
            r#"{"mcpServers": {}, "mcpServers": {}}"#,
            r#"{"a": {"command": "x"}, "a": {"command": "y"}}"#,
        ] {
            let configured = read(text);
            assert!(
                configured.servers.is_empty() && faults(&configured).contains("twice"),
                "{text}"
            );
        }
        let configured = read(r#"{"my.db": {"command": "x"}, "my_db": {"command": "y"}}"#);
        assert_eq!(configured.servers.len(), 1);
        assert!(faults(&configured).contains("another server of that name"));
        let configured = read(r#"{"../a": {"command": "x"}, "b\u001b": {"command": "y"}}"#);
        assert!(configured.servers.is_empty());
        assert!(!faults(&configured).contains('\u{1b}'), "{}", faults(&configured));
        for text in ["", "[]", "{", r#"{"mcpServers": []}"#] {
            let configured = read(text);
            assert!(configured.servers.is_empty() && configured.faults.len() == 1, "{text}");
        }
        let many: Vec<String> =
            (0..=MOST_SERVERS).map(|n| format!(r#""s{n}": {{"command": "x"}}"#)).collect();
        let configured = read(&format!("{{{}}}", many.join(",")));
        assert_eq!((configured.servers.len(), configured.faults.len()), (MOST_SERVERS, 1));
    }

    #[test]
    fn limits_and_reach_are_bounded() {
        let configured = read(
            r#"{"a": {"command": "x", "timeout": 0, "startTimeout": 99999999999, "alwaysLoad": true, "trusted": true,
                "sandbox": {"network": false, "writeProject": true, "allowRead": ["/r"]}},
                "b": {"command": "x", "sandbox": {"enabled": false}}}"#,
        );
        let [a, b] = &configured.servers[..] else { panic!("{configured:?}") };
        assert_eq!(a.call_limit, Duration::from_millis(1));
        assert_eq!(a.start_limit, Duration::from_secs(600));
        assert!(a.always_load && a.trusted && !a.reach.network && a.reach.write_project);
        assert!(!a.reach.unconfined && a.reach.read == [PathBuf::from("/r")]);
        assert!(b.reach.unconfined && !b.trusted && !b.always_load);
        assert_eq!(
            (b.call_limit, b.start_limit),
            (ServerConfig::CALL_LIMIT, ServerConfig::START_LIMIT)
        );
    }

    #[test]
    fn yaml_has_a_list_of_servers() {
        let value = |_: &str| None;
        let text = "servers:\n  - {name: a, transport: stdio, command: x, args: [-v, 2]}\n  - {name: b, transport: http, url: https://h/}\n  - {command: nameless}\n";
        let configured = from_yaml(text, ServerScope::Project, &value);
        let names: Vec<&str> = configured.servers.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((names, configured.faults.len()), (vec!["a", "b"], 1));
        let broken = from_yaml("servers: 7", ServerScope::Project, &value);
        assert_eq!((broken.servers.len(), broken.faults.len()), (0, 1));
    }
}
