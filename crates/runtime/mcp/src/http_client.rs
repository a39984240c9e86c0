//! Requests to a server on the network: no redirects, bounded answers, and whoever authorizes them asked for each.

use crate::error::ServerError;
use crate::line_reader::LONGEST_LINE;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use ostler_core::ports::{Authorizer, HttpServer, NeedsAuth};
use reqwest::{Client, Method, RequestBuilder, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
/// Bytes that are read of an error.
const MOST_OF_ERROR: usize = 64 * 1024;

/// Makes a client for an address: how the network is reached is decided elsewhere.
pub type HttpStack = Arc<dyn Fn(&str) -> Result<Client, String> + Send + Sync>;

/// How servers on the network are reached.
#[derive(Clone)]
pub struct HttpAccess {
    pub stack: HttpStack,
    pub authorizer: Option<Arc<dyn Authorizer>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFault {
    #[error("{0}")]
    Unreachable(String),
    #[error(transparent)]
    NeedsAuth(NeedsAuth),
    #[error("it redirects to another address, which is not followed")]
    Redirected,
    #[error("its answer has more than {} MB", LONGEST_LINE >> 20)]
    TooLong,
}

#[derive(Clone)]
pub(crate) struct HttpClient(Arc<HttpParts>);

struct HttpParts {
    client: Client,
    server: HttpServer,
    headers: HeaderMap,
    authorizer: Option<Arc<dyn Authorizer>>,
    /// Why the last request needed a login.
    needs_auth: Mutex<Option<NeedsAuth>>,
}

type HttpResult<T> = Result<T, StreamableHttpError<HttpFault>>;

impl HttpClient {
    pub(crate) fn new(
        server: HttpServer,
        headers: &[(String, String)],
        access: &HttpAccess,
    ) -> Result<Self, ServerError> {
        let client = (access.stack)(&server.url).map_err(ServerError::Start)?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let wrong = || ServerError::Start(format!("the header {name} cannot be sent"));
            let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            map.insert(header, value);
        }
        // Who gives the header by hand authorizes.
        let is_given = map.contains_key(http::header::AUTHORIZATION);
        let authorizer = access.authorizer.clone().filter(|_| !is_given);
        let needs_auth = Mutex::default();
        Ok(HttpClient(Arc::new(HttpParts { client, server, headers: map, authorizer, needs_auth })))
    }

    pub(crate) fn needs_auth(&self) -> Option<NeedsAuth> {
        self.0.needs_auth.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn login_needed(&self, needed: NeedsAuth) -> HttpFault {
        *self.0.needs_auth.lock().unwrap_or_else(PoisonError::into_inner) = Some(needed.clone());
        HttpFault::NeedsAuth(needed)
    }

    /// Sends a request, a second time if the first one was refused and somebody knows another header.
    pub(crate) async fn send(
        &self,
        build: &(dyn Fn(&Client) -> RequestBuilder + Sync),
    ) -> Result<Response, HttpFault> {
        let HttpParts { client, server, headers, authorizer, .. } = &*self.0;
        let mut header = match authorizer {
            Some(authorizer) => {
                authorizer.header(server).await.map_err(|needed| self.login_needed(needed))?
            }
            None => None,
        };
        let mut tries = 0;
        loop {
            let mut request = build(client).headers(headers.clone());
            if let Some(header) = &header {
                request = request.header(http::header::AUTHORIZATION, header);
            }
            let response = request.send().await.map_err(|error| unreachable(&error))?;
            let status = response.status();
            if status.is_redirection() {
                return Err(HttpFault::Redirected);
            }
            let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            let challenge = challenge(&response);
            let is_challenged = status == StatusCode::UNAUTHORIZED || challenge.is_some();
            if !is_refused || !is_challenged {
                *self.0.needs_auth.lock().unwrap_or_else(PoisonError::into_inner) = None;
                return Ok(response);
            }
            let challenge = challenge.unwrap_or_default();
            let other = match authorizer {
                Some(authorizer) if tries == 0 => authorizer
                    .challenged(server, header.as_deref(), &challenge)
                    .await
                    .map_err(|needed| self.login_needed(needed))?,
                _ => None,
            };
            let Some(other) = other else {
                let why = format!("it answers with status {}", status.as_u16());
                return Err(self.login_needed(NeedsAuth { server: server.name.clone(), why }));
            };
            header = Some(other);
            tries += 1;
        }
    }
}

fn challenge(response: &Response) -> Option<String> {
    let header = response.headers().get(http::header::WWW_AUTHENTICATE)?;
    header.to_str().ok().map(str::to_owned)
}

/// The innermost reason; the outer ones repeat the address, which may hold a password.
fn unreachable(error: &reqwest::Error) -> HttpFault {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    HttpFault::Unreachable(format!("it cannot be reached: {inner}"))
}

/// The body, if it has at most so many bytes.
pub(crate) async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, HttpFault> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            return Err(HttpFault::TooLong);
        }
    }
    Ok(bytes)
}

/// The events of an answer; none may be longer than a message.
pub(crate) fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let start = (response, EventSize::default());
    let pieces = stream::unfold(Some(start), |state| async move {
        let (mut response, mut size) = state?;
        match response.chunk().await {
            Ok(Some(piece)) if size.take(&piece) => Some((Ok(piece), Some((response, size)))),
            Ok(Some(_)) => Some((Err(HttpFault::TooLong), None)),
            Ok(None) => None,
            Err(error) => Some((Err(unreachable(&error)), None)),
        }
    });
    let pieces = pieces.map(|piece: Result<Bytes, HttpFault>| piece);
    SseStream::from_bytes_stream(Box::pin(pieces)).boxed()
}

/// How long the event is that is being read.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    /// Nothing stands in the line so far.
    blank: bool,
}

impl EventSize {
    /// False: it is too long.
    fn take(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            match byte {
                b'\n' if self.blank => self.bytes = 0,
                b'\n' => self.blank = true,
                b'\r' => {}
                _ => self.blank = false,
            }
            self.bytes += 1;
            if self.bytes > LONGEST_LINE {
                return false;
            }
        }
        true
    }
}

impl HttpClient {
    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let text = serde_json::to_vec(message)?;
        let has_session = session.is_some();
        let build = |client: &Client| {
            let accept = format!("{JSON}, {EVENTS}");
            let request = client.post(uri).header("accept", accept).header("content-type", JSON);
            with_headers(request, session.as_deref(), &more).body(text.clone())
        };
        let response = self.send(&build).await.map_err(StreamableHttpError::Client)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let header = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let (kind, new_session) = (header("content-type").unwrap_or_default(), header(SESSION));
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if !status.is_success() {
            let bytes = body(response, MOST_OF_ERROR).await.unwrap_or_default();
            return refused(message, has_session, status, &bytes);
        }
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), new_session));
        }
        let bytes = body(response, LONGEST_LINE).await.map_err(StreamableHttpError::Client)?;
        match serde_json::from_slice::<ServerJsonRpcMessage>(&bytes) {
            Ok(answer) if kind.starts_with(JSON) => {
                let answer = understood(message, has_session, answer);
                Ok(StreamableHttpPostResponse::Json(answer, new_session))
            }
            _ if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Ok(_) => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            Err(error) => Err(error.into()),
        }
    }
}

fn with_headers(
    mut request: RequestBuilder,
    session: Option<&str>,
    more: &HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    more.iter().fold(request, |request, (name, value)| request.header(name, value))
}

/// The id of a greeting of the newest revision.
fn greeting(message: &ClientJsonRpcMessage, has_session: bool) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) if !has_session => {
            matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
        }
        _ => None,
    }
}

/// Some older servers answer whatever they do not know with an empty result. To a greeting, that is a refusal.
fn understood(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    answer: ServerJsonRpcMessage,
) -> ServerJsonRpcMessage {
    let is_empty = matches!(&answer, ServerJsonRpcMessage::Response(response)
        if matches!(response.result, ServerResult::EmptyResult(_)));
    match greeting(message, has_session).filter(|_| is_empty) {
        Some(id) => {
            let refusal = ErrorData::invalid_request("it does not support this handshake", None);
            ServerJsonRpcMessage::error(refusal, Some(id))
        }
        None => answer,
    }
}

/// An error status may carry an answer. One to the greeting of the newest revision means an older server.
fn refused(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    status: StatusCode,
    bytes: &[u8],
) -> HttpResult<StreamableHttpPostResponse> {
    let answer = serde_json::from_slice::<ServerJsonRpcMessage>(bytes).ok();
    let error = match answer {
        Some(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let greeting = greeting(message, has_session).filter(|_| status.is_client_error());
    let text = format!("it answers with status {}", status.as_u16());
    match (greeting, error) {
        (Some(id), error) => {
            let data = error.map_or_else(|| ErrorData::invalid_request(text, None), |it| it.error);
            let answer = ServerJsonRpcMessage::error(data, Some(id));
            Ok(StreamableHttpPostResponse::Json(answer, None))
        }
        (None, Some(error)) => {
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), None))
        }
        (None, None) => Err(StreamableHttpError::UnexpectedServerResponse(text.into())),
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let posted = self.post(&uri, &message, session_id, custom_headers).await;
        posted.map_err(|error| match error {
            StreamableHttpError::Client(HttpFault::NeedsAuth(needed)) => {
                StreamableHttpError::AuthRequired(AuthRequiredError::new(needed.why))
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<()> {
        let build = |client: &Client| {
            let request = client.request(Method::DELETE, &*uri);
            with_headers(request, Some(&session_id), &custom_headers)
        };
        self.send(&build).await.map(drop).map_err(StreamableHttpError::Client)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        let build = |client: &Client| {
            let request = client.get(&*uri).header("accept", EVENTS);
            let request = match &last_event_id {
                Some(id) => request.header("last-event-id", id),
                None => request,
            };
            with_headers(request, session_id.as_deref(), &custom_headers)
        };
        let response = self.send(&build).await.map_err(StreamableHttpError::Client)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if status.is_success() => Ok(events(response)),
            status => Err(StreamableHttpError::UnexpectedServerResponse(
                format!("it answers with status {}", status.as_u16()).into(),
            )),
        }
    }
}
