//! The streamable HTTP transport on a socket of our own: a token, checks against DNS rebinding, and limits.

use crate::http_limits::{Answer, LARGEST_BODY, admitted, refused};
use crate::token::Token;
use http::{Request, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at the same time; more wait in the queue of the kernel.
const MOST_CONNECTIONS: usize = 64;
/// Clients that did the handshake of the older protocol revisions and have not left.
const MOST_SESSIONS: usize = 64;
/// How long the head of a request may take to arrive.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Bytes of the head of a request.
const LARGEST_HEAD: usize = 64 * 1024;
/// The pause after a connection that could not be accepted, e.g. because no descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Who may use the server.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    /// None: everybody who can reach it.
    pub token: Option<Token>,
    /// Names besides those of the loopback interface under which it is reached.
    pub hosts: Vec<String>,
    /// Web pages that may use it, as in `https://example.com:443`.
    pub origins: Vec<String>,
}

/// Until `stop` is cancelled; then it closes all connections.
///
/// # Errors
/// If the socket says nothing about its address.
pub async fn serve_http<H: ServerHandler + Clone>(
    listener: TcpListener,
    handler: H,
    options: HttpOptions,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let front = Arc::new(Front::new(handler, &options, address, stop.clone()));
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            accepted = async {
                let permit = free.clone().acquire_owned().await;
                (listener.accept().await, permit)
            } => accepted,
        };
        let (Ok((stream, _)), Ok(permit)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (front, stop) = (front.clone(), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = connection(front, stream) => {}
            }
            drop(permit);
        });
    }
}

async fn connection<H: ServerHandler + Clone>(front: Arc<Front<H>>, stream: TcpStream) {
    let service = service_fn(move |request| {
        let front = front.clone();
        async move { Ok::<_, Infallible>(front.respond(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(LARGEST_HEAD);
    // A connection that breaks concerns nobody but its client.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

struct Front<H> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    token: Option<Token>,
}

impl<H: ServerHandler + Clone> Front<H> {
    fn new(
        handler: H,
        options: &HttpOptions,
        address: SocketAddr,
        stop: CancellationToken,
    ) -> Self {
        let (hosts, origins) = names(options, address);
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(origins)
            .enforce_origin_validation();
        config.cancellation_token = stop;
        config.max_request_body_bytes = LARGEST_BODY;
        let sessions = Arc::new(LocalSessionManager::default());
        let make = move || Ok(handler.clone());
        let service = StreamableHttpService::new(make, sessions.clone(), config);
        Front { service, sessions, token: options.token.clone() }
    }

    async fn respond(&self, request: Request<Incoming>) -> Answer {
        let request = match admitted(request, self.token.as_ref()).await {
            Ok(request) => request,
            Err(answer) => return *answer,
        };
        if self.is_full().await && is_handshake(request.body()) {
            return *refused(StatusCode::SERVICE_UNAVAILABLE, "too many clients; try again later");
        }
        self.service.handle(request.map(Full::new)).await
    }

    async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= MOST_SESSIONS
    }
}

/// Names and origins that requests may carry: those of the address itself, and what was added.
fn names(options: &HttpOptions, address: SocketAddr) -> (Vec<String>, Vec<String>) {
    let port = address.port();
    let own = match address.ip() {
        ip if ip.is_loopback() => vec![],
        ip if ip.is_ipv6() => vec![format!("[{ip}]")],
        ip => vec![ip.to_string()],
    };
    let local = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
    let own: Vec<String> = local.into_iter().chain(own).collect();
    let hosts = own.iter().map(|host| format!("{host}:{port}"));
    let origins = own.iter().map(|host| format!("http://{host}:{port}"));
    (
        hosts.chain(options.hosts.iter().cloned()).collect(),
        origins.chain(options.origins.iter().cloned()).collect(),
    )
}

/// It would begin a session.
fn is_handshake(body: &[u8]) -> bool {
    let message = serde_json::from_slice::<Value>(body).ok();
    message.is_some_and(|message| message["method"] == "initialize")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_names_and_the_own_port_are_known() {
        let options = HttpOptions { hosts: vec!["tools.example".into()], ..HttpOptions::default() };
        let (hosts, origins) = names(&options, "127.0.0.1:7000".parse().unwrap());
        assert_eq!(hosts, ["localhost:7000", "127.0.0.1:7000", "[::1]:7000", "tools.example"]);
        assert_eq!(
            origins,
            ["http://localhost:7000", "http://127.0.0.1:7000", "http://[::1]:7000"]
        );
    }

    #[test]
    fn a_handshake_is_known_by_its_method() {
        assert!(is_handshake(br#"{"method":"initialize"}"#));
        assert!(!is_handshake(br#"{"method":"tools/call","params":{"name":"initialize"}}"#));
        assert!(!is_handshake(b"not json"));
    }
}
