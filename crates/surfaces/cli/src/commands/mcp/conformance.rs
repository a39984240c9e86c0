//! `ostler mcp conformance URL`: the client's part in a scenario of the official conformance suite, which names the
//! scenario in the environment. It uses Ostler's own client and logins; only the person at the browser is played.

use crate::args::mcp_login::ConformanceArgs;
use crate::exit::{Code, Wrong};
use anyhow::{Context, Result, bail};
use ostler::mcp_servers::{
    Counterpart, Elicitation, ElicitationAnswer, Server, ServerCall, ServerConfig, ServerScope,
    ServerTransport,
};
use ostler::oauth::{Challenge, ClientSettings, OAuth, OAuthError, SecretText, Url};
use ostler::{Credentials, Host, HostOptions, Network};
use ostler_core::ports::{Authorizer, BoxFuture, HttpServer, NeedsAuth, Progress};
use ostler_profile::Environment;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The client ID that the suite expects where a server reads client metadata documents.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const LONGEST_PAGE: u64 = 1 << 20;

pub fn run(init: &ostler::Init, environment: &Environment, args: &ConformanceArgs) -> Result<Code> {
    let scenario = environment.text("MCP_CONFORMANCE_SCENARIO").ok_or_else(|| {
        Wrong::Usage("MCP_CONFORMANCE_SCENARIO is not set; the conformance suite sets it".into())
    })?;
    let context = environment.text("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let home = tempfile::tempdir()?;
    let mut options = HostOptions::new(Credentials::none());
    let oauth = ostler::logins(home.path(), Network::default());
    options.authorizer = Some(Arc::new(Player { oauth }));
    let transport = ServerTransport::Http { url: args.url.clone(), headers: Vec::new() };
    let mut config = ServerConfig::new("conformance", transport, ServerScope::Session);
    config.login.client_id = text(&context, "client_id");
    config.login.client_secret = text(&context, "client_secret");
    config.login.client_metadata_url = Some(DOCUMENT.to_owned());
    ostler::block_on(async {
        let host = Host::open(init, options)?;
        let server = host.network_server(&config);
        let played = play(&server, &scenario, &context).await;
        server.stop().await;
        host.close().await;
        played.map(|()| Code::Done)
    })?
}

fn text(context: &Value, key: &str) -> Option<String> {
    context.get(key).and_then(Value::as_str).map(str::to_owned)
}

async fn play(server: &Arc<Server>, scenario: &str, context: &Value) -> Result<()> {
    let manifest = server.fetch().await?;
    let calls = match context.get("toolCalls").and_then(Value::as_array) {
        Some(calls) => calls.clone(),
        None => manifest.tools.iter().map(|tool| json!({"name": tool.name})).collect(),
    };
    let schema_of =
        |name: &str| manifest.tools.iter().find(|tool| tool.name == name).map(|tool| &tool.schema);
    let calls = match scenario {
        // Its server offers a tool only to see what becomes of its schema.
        "json-schema-ref-no-deref" => Vec::new(),
        "json-schema-2020-12-preservation" => {
            let schema = schema_of("json_schema_2020_12_tool");
            vec![json!({"name": "json_schema_echo", "arguments": {"schema": schema}})]
        }
        _ => calls,
    };
    for call in calls {
        let Some(name) = text(&call, "name") else { bail!("a tool call has no name") };
        let arguments = call.get("arguments").and_then(Value::as_object).cloned();
        call_tool(server, name, arguments.unwrap_or_else(numbers)).await?;
    }
    Ok(())
}

/// What the suite's tool for sums takes; its other tools take nothing.
fn numbers() -> Map<String, Value> {
    [("a", 2), ("b", 3)].into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

async fn call_tool(server: &Arc<Server>, tool: String, input: Map<String, Value>) -> Result<()> {
    let counterpart: Option<Arc<dyn Counterpart>> = Some(Arc::new(Agreeable));
    let call = ServerCall { tool, input, progress: Arc::new(Unseen), counterpart };
    server.call(call).await?;
    Ok(())
}

struct Unseen;

impl Progress for Unseen {
    fn tail(&self, _tail: &str) {}
}

/// Fills in every form: with its defaults, or else with yes.
struct Agreeable;

impl Counterpart for Agreeable {
    fn elicit(&self, form: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        let fields = form.schema.get("properties").and_then(Value::as_object).cloned();
        let filled = fields.unwrap_or_default().into_iter().filter_map(|(name, field)| {
            let kind = field.get("type").and_then(Value::as_str);
            let yes = (kind == Some("boolean")).then_some(Value::Bool(true));
            Some((name, field.get("default").cloned().or(yes)?))
        });
        let filled = Value::Object(filled.collect());
        Box::pin(async move { ElicitationAnswer::Accepted(filled) })
    }

    fn roots(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Logs in whenever somebody has to, as a person who agrees to everything.
struct Player {
    oauth: OAuth,
}

impl Authorizer for Player {
    fn header(&self, server: &HttpServer) -> BoxFuture<'_, Result<Option<String>, NeedsAuth>> {
        self.oauth.header(server)
    }

    fn challenged(
        &self,
        server: &HttpServer,
        sent: Option<&str>,
        www_authenticate: &str,
    ) -> BoxFuture<'_, Result<Option<String>, NeedsAuth>> {
        let (server, challenge) = (server.clone(), Challenge::parse(www_authenticate));
        let sent = sent.and_then(|header| header.strip_prefix("Bearer ")).map(SecretText::new);
        Box::pin(async move {
            let needs = |why: String| NeedsAuth { server: server.name.clone(), why };
            let url = Url::parse(&server.url).map_err(|error| needs(error.to_string()))?;
            let settings = ClientSettings::from(&server.login);
            let known = self.oauth.replacement(&url, &settings, sent.as_ref(), &challenge).await;
            let token = match known {
                Err(OAuthError::NeedsAuth(_)) => self.log_in(&url, &settings, challenge).await,
                known => known.map_err(Into::into),
            };
            let token = token.map_err(|error| needs(format!("{error:#}")))?;
            Ok(Some(format!("Bearer {}", token.expose())))
        })
    }
}

impl Player {
    async fn log_in(
        &self,
        server: &Url,
        settings: &ClientSettings,
        challenge: Challenge,
    ) -> Result<SecretText> {
        let login = self.oauth.begin_login(server, settings, Some(challenge)).await?;
        let url = login.url();
        let browser = async {
            let answer = get(&url).await?;
            let lines = answer.lines().filter_map(|line| line.split_once(": "));
            let mut places = lines.filter(|(name, _)| name.eq_ignore_ascii_case("location"));
            let (_, place) = places.next().context("the authorization server redirects nowhere")?;
            get(&Url::parse(place)?).await
        };
        let (record, page) = tokio::join!(login.finish(std::future::pending()), browser);
        let record = record?;
        page?;
        Ok(record.tokens.context("the login gave no tokens")?.access)
    }
}

/// As HTTP/1.0, so that the page ends with its connection.
async fn get(url: &Url) -> Result<String> {
    let host = url.host_str().context("the address names no host")?;
    let port = url.port_or_known_default().context("the address names no port")?;
    let mut stream = TcpStream::connect((host, port)).await?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let head = format!("GET {}{query} HTTP/1.0\r\nhost: {host}:{port}\r\n\r\n", url.path());
    stream.write_all(head.as_bytes()).await?;
    let mut page = String::new();
    stream.take(LONGEST_PAGE).read_to_string(&mut page).await?;
    Ok(page)
}
