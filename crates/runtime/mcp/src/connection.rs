//! One connection to a server, from its start to its end.

use crate::channel_transport::{Carrier, channels};
use crate::configuration::{ServerConfig, ServerTransport};
use crate::connections::{LaunchServer, Ways};
use crate::error::ServerError;
use crate::greeting::Greeting;
use crate::handler::Handler;
use crate::http_client::HttpClient;
use crate::link::{Link, Way};
use crate::manifest::{Manifest, Offered};
use crate::program;
use crate::sse_carrier;
use crate::stdio::{self, ServerProgram};
use crate::tunnel::Tunnel;
use ostler_exec::{Command, CommandScope};
use rmcp::model::PaginatedRequestParams;
use rmcp::service::{
    ClientInitializeError, ClientServiceExt, Peer, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// The revisions of the protocol that we speak.
const VERSIONS: [&str; 5] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Pages of a list that are asked for.
const MOST_PAGES: usize = 50;
/// Entries of a list that are kept.
const MOST_ENTRIES: usize = 2_000;
/// Calls of a tunnel that are on their way at the same time.
const MOST_EXCHANGES: usize = 32;

pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    pub(crate) handler: Handler,
    program: tokio::sync::Mutex<Option<ServerProgram>>,
    http: Option<HttpClient>,
    _scope: Option<CommandScope>,
    _carrier: Option<AbortOnDropHandle<()>>,
}

impl Connection {
    /// Starts the server and greets it. Whoever drops the future ends the server.
    pub(crate) async fn open(
        config: &ServerConfig,
        launch: &LaunchServer,
        ways: &Ways,
        greeting: &Greeting,
    ) -> Result<Connection, ServerError> {
        let (transport, carrier) = channels(greeting.probe());
        let handler = Handler::new(&config.name, config.sampling.is_some());
        let (mut program, mut scope, mut carrying, mut http) = (None, None, None, None);
        let mut way = Way::Channel(transport);
        match &config.transport {
            ServerTransport::Stdio { .. } => {
                let own = ways.executor.scope();
                let command = stdio::prepared(command(config, launch)?);
                program = Some(stdio::start(own.executor(), command, carrier).await?);
                scope = Some(own);
            }
            ServerTransport::Tunnel(tunnel) => {
                carrying = Some(stdio::task(carry(tunnel.clone(), carrier)));
            }
            ServerTransport::Http { url, headers } => {
                let client = http_client(config, headers, ways)?;
                way = Way::Http(Box::new(streamable(&client, url)));
                http = Some(client);
            }
            ServerTransport::Sse { url, headers } => {
                let client = http_client(config, headers, ways)?;
                let (events, to) = sse_carrier::open(&client, url).await?;
                let work = sse_carrier::carry(client.clone(), events, to, carrier);
                carrying = Some(stdio::task(work));
                http = Some(client);
            }
        }
        let link = Link::new(way, handler.clone());
        let service = match handler.clone().serve_with_lifecycle(link, greeting.lifecycle()).await {
            Ok(service) => service,
            Err(error) => {
                let needed = http.as_ref().and_then(HttpClient::needs_auth);
                return Err(match needed {
                    Some(needed) => ServerError::NeedsAuth(needed),
                    None => refused(error, program.as_mut()).await,
                });
            }
        };
        let version = service.peer().peer_info().map(|info| info.protocol_version.to_string());
        if let Some(version) = version.filter(|version| !VERSIONS.contains(&version.as_str())) {
            let version = ServerError::quoted(&version);
            return Err(ServerError::Protocol(format!("its revision \"{version}\" is unknown")));
        }
        let program = tokio::sync::Mutex::new(program);
        Ok(Connection { service, handler, program, http, _scope: scope, _carrier: carrying })
    }

    /// The last request was refused because somebody has to log in.
    pub(crate) fn needs_auth(&self) -> Option<ServerError> {
        self.http.as_ref().and_then(HttpClient::needs_auth).map(ServerError::NeedsAuth)
    }

    /// It is not on the network.
    pub(crate) fn is_program(&self) -> bool {
        self.http.is_none()
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// How it ended, where the other side is a program.
    pub(crate) async fn last_words(&self) -> String {
        match self.program.lock().await.as_mut() {
            Some(program) => program.last_words().await,
            None => String::new(),
        }
    }

    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(mut program) = self.program.lock().await.take() {
            program.stop().await;
        }
    }

    /// Everything that it offers.
    pub(crate) async fn manifest(&self) -> Result<Manifest, ServerError> {
        let peer = self.peer();
        let info = peer.peer_info();
        let mut offered = Offered::default();
        let (mut has_tools, mut has_prompts) = (true, false);
        if let Some(info) = info {
            offered.protocol = info.protocol_version.to_string();
            offered.instructions = info.instructions.clone();
            if let Some(server) = &info.server_info {
                offered.server = server.name.clone();
                offered.version = server.version.clone();
            }
            has_tools = info.capabilities.tools.is_some();
            has_prompts = info.capabilities.prompts.is_some();
            offered.resources = info.capabilities.resources.is_some();
        }
        if has_tools {
            (offered.tools, offered.more_tools) = self.tools().await?;
        }
        if has_prompts {
            // A server without prompts that says it has some is still worth its tools.
            offered.prompts = self.prompts().await.unwrap_or_default();
        }
        Ok(Manifest::checked(offered))
    }

    async fn tools(&self) -> Result<(Vec<rmcp::model::Tool>, bool), ServerError> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let page = self.peer().list_tools(paginated(cursor)).await;
            let page = page.map_err(|error| protocol_fault(&error))?;
            all.extend(page.tools);
            cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
            if cursor.is_none() || all.len() > MOST_ENTRIES {
                break;
            }
        }
        let more = cursor.is_some() || all.len() > MOST_ENTRIES;
        all.truncate(MOST_ENTRIES);
        Ok((all, more))
    }

    async fn prompts(&self) -> Result<Vec<rmcp::model::Prompt>, ServerError> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let page = self.peer().list_prompts(paginated(cursor)).await;
            let page = page.map_err(|error| protocol_fault(&error))?;
            all.extend(page.prompts);
            cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
            if cursor.is_none() || all.len() > MOST_ENTRIES {
                break;
            }
        }
        Ok(all)
    }
}

pub(crate) fn paginated(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

async fn refused(error: ClientInitializeError, program: Option<&mut ServerProgram>) -> ServerError {
    let words = match program {
        Some(program) => program.last_words().await,
        None => String::new(),
    };
    let mut error = error;
    while let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        error = *fallback;
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => ServerError::Ended(words),
        ClientInitializeError::TransportError { .. } if !words.is_empty() => {
            ServerError::Ended(words)
        }
        ClientInitializeError::TransportError { error, .. } => {
            ServerError::Unreachable(ServerError::quoted(&error.error.to_string()))
        }
        other => {
            ServerError::Protocol(format!("{}{words}", ServerError::quoted(&other.to_string())))
        }
    }
}

pub(crate) fn protocol_fault(error: &ServiceError) -> ServerError {
    match error {
        ServiceError::McpError(data) => ServerError::Refused(ServerError::quoted(&data.message)),
        ServiceError::TransportSend(error) => {
            ServerError::Unreachable(ServerError::quoted(&error.error.to_string()))
        }
        ServiceError::TransportClosed => ServerError::Ended(String::new()),
        other => ServerError::Protocol(ServerError::quoted(&other.to_string())),
    }
}

fn http_client(
    config: &ServerConfig,
    headers: &[(String, String)],
    ways: &Ways,
) -> Result<HttpClient, ServerError> {
    let server = config.http_server();
    let server = server.ok_or_else(|| ServerError::Start("it has no address".into()))?;
    HttpClient::new(server, headers, &ways.http)
}

fn streamable(client: &HttpClient, url: &str) -> StreamableHttpClientTransport<HttpClient> {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    StreamableHttpClientTransport::with_client(client.clone(), config)
}

fn command(config: &ServerConfig, launch: &LaunchServer) -> Result<Command, ServerError> {
    let ServerTransport::Stdio { command, args, env, cwd } = &config.transport else {
        return Err(ServerError::Start("it is not a program".into()));
    };
    let cwd = match cwd {
        Some(cwd) => launch.cwd.join(cwd),
        None => launch.cwd.clone(),
    };
    let mut environment = launch.environment.clone();
    for (name, value) in env {
        environment.retain(|(known, _)| known != name.as_str());
        environment.push((OsString::from(name), OsString::from(value)));
    }
    let program = program::find(command, &environment, &cwd).map_err(ServerError::Start)?;
    let mut command = Command::new(program, cwd);
    command.args = args.iter().map(OsString::from).collect();
    command.env = environment;
    (launch.prepare)(config, &mut command).map_err(ServerError::Start)?;
    Ok(command)
}

/// Several requests may be on their way; each answer comes back when it is there.
async fn carry(tunnel: Arc<dyn Tunnel>, mut carrier: Carrier) {
    let room = Arc::new(tokio::sync::Semaphore::new(MOST_EXCHANGES));
    let mut exchanges = tokio::task::JoinSet::new();
    while let Some(message) = carrier.outgoing.recv().await {
        while exchanges.try_join_next().is_some() {}
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        let (tunnel, incoming) = (tunnel.clone(), carrier.incoming.clone());
        exchanges.spawn(async move {
            let id = message.get("id").cloned();
            let answer = match tunnel.exchange(message).await {
                Ok(answer) => answer,
                Err(error) => id.map(|id| failure(&id, &error.to_string())),
            };
            if let Some(answer) = answer {
                let _ = incoming.send(answer).await;
            }
            drop(permit);
        });
    }
}

fn failure(id: &Value, why: &str) -> Value {
    let message = ServerError::quoted(why);
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}})
}
