//! One POST to one host, and its answer piece by piece. No redirects, no cookies, no compression; a connection is
//! kept for the next request.

use crate::deadline::{DeadlineWatch, within};
use crate::failure::{AttemptFailure, Now, Peer};
use crate::protocol::{Body, Protocol, ProtocolCall};
use crate::provider::{CredentialKind, url_of};
use crate::settings::{ModelSettings, ModelSetupError};
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Frame, SizeHint};
use ostler_core::model::{ModelError, ModelErrorKind};
use reqwest::{Certificate, Client, Proxy, Url, redirect};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

/// What is read of a body that is not an event stream.
const LONGEST_ERROR: usize = 64 << 10;
/// How long the end of a body is waited for once the answer is complete; without it the connection is lost.
const DRAIN: Duration = Duration::from_millis(50);
/// Smaller slices travel together: each would cost a system call of its own.
const SMALL: usize = 4 << 10;
const GATHERED: usize = 32 << 10;

pub(crate) struct Transport {
    pub peer: Peer,
    base: Url,
    headers: HeaderMap,
    media_type: &'static str,
    proxy: Option<Proxy>,
    /// Whether TLS is spoken at all; reading the system's certificates costs milliseconds.
    tls: bool,
    roots: Vec<Certificate>,
    connect: Duration,
    client: OnceLock<Result<Client, String>>,
}

impl Transport {
    pub fn new(settings: &ModelSettings, protocol: &dyn Protocol) -> Result<Self, ModelSetupError> {
        let base = settings.provider.base()?;
        let proxy = settings.proxies.proxy_for(&base).map(proxy).transpose()?;
        let tls = base.scheme() == "https"
            || proxy.as_ref().is_some_and(|(url, _)| url.scheme() == "https");
        let roots = match &settings.ca_file {
            Some(ca) if tls => Certificate::from_pem_bundle(&ca.pem)
                .ok()
                .filter(|certificates| !certificates.is_empty())
                .ok_or_else(|| ModelSetupError::Certificates { label: ca.label.clone() })?,
            _ => Vec::new(),
        };
        Ok(Transport {
            peer: peer(&base, proxy.as_ref().map(|(url, _)| url), settings),
            headers: headers(settings, protocol)?,
            media_type: protocol.media_type(),
            proxy: proxy.map(|(_, proxy)| proxy),
            base,
            tls,
            roots,
            connect: settings.deadlines.connect,
            client: OnceLock::new(),
        })
    }

    /// Sends the request and waits for an answer to begin. Everything else is a failure.
    pub async fn send(
        &self,
        call: ProtocolCall,
        protocol: &dyn Protocol,
        model: &str,
        watch: &mut DeadlineWatch,
    ) -> Result<HttpReply, AttemptFailure> {
        let url = url_of(&self.base, &call.path);
        // What a provider's entry says counts before what its protocol says.
        let request = self.client()?.post(url).headers(call.headers).headers(self.headers.clone());
        let sending = request.body(reqwest::Body::wrap(Slices::new(call.body))).send();
        let response = match within(watch, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(why)) => return Err(self.peer.unreachable(&why)),
            Err(expired) => return Err(self.peer.late(expired, false)),
        };
        let mut reply = HttpReply { peer: self.peer.clone(), response };
        if reply.is_answer(self.media_type) {
            return Ok(reply);
        }
        let (status, headers) = (reply.response.status(), reply.response.headers().clone());
        let body = reply.beginning(watch).await;
        let refusal = protocol.classify(status.as_u16(), &headers, &body);
        Err(self.peer.refused(refusal, &headers, model))
    }

    fn client(&self) -> Result<&Client, ModelError> {
        let built = self.client.get_or_init(|| self.build().map_err(|why| why.to_string()));
        built.as_ref().map_err(|why| {
            ModelError::new(
                ModelErrorKind::BadRequest,
                format!("the HTTP client cannot be set up: {why}"),
            )
        })
    }

    fn build(&self) -> Result<Client, reqwest::Error> {
        // Fails when it is set already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .connect_timeout(self.connect);
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy.clone());
        }
        builder = match self.tls {
            true => builder.tls_certs_merge(self.roots.iter().cloned()),
            false => builder.tls_certs_only([]),
        };
        builder.build()
    }
}

pub(crate) fn proxy(text: &str) -> Result<(Url, Proxy), ModelSetupError> {
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&text)
        .map_err(|_| ModelSetupError::Proxy { why: "it cannot be read as a URL" })?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(ModelSetupError::Proxy {
            why: "only http:// and https:// proxies are supported",
        });
    }
    let proxy =
        Proxy::all(url.clone()).map_err(|_| ModelSetupError::Proxy { why: "it cannot be used" })?;
    Ok((url, proxy))
}

fn peer(base: &Url, proxy: Option<&Url>, settings: &ModelSettings) -> Peer {
    let host = base.host_str().unwrap_or_default();
    Peer {
        host: base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
        host_and_port: host_and_port(base),
        proxy: proxy.map(host_and_port),
        credential: settings.credentials.label.clone(),
        secret: settings.credentials.secret.clone(),
        clock: Now(settings.clock.clone()),
    }
}

fn host_and_port(url: &Url) -> String {
    format!(
        "{}:{}",
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default()
    )
}

fn headers(
    settings: &ModelSettings,
    protocol: &dyn Protocol,
) -> Result<HeaderMap, ModelSetupError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static(protocol.media_type()));
    let named =
        settings.provider.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in named.chain([(USER_AGENT.as_str(), settings.user_agent.as_str())]) {
        let bad = || ModelSetupError::Header { name: name.to_owned() };
        let key: HeaderName = name.parse().map_err(|_| bad())?;
        headers.insert(key, value.parse().map_err(|_| bad())?);
    }
    let credentials = &settings.credentials;
    let secret = credentials.secret.expose();
    let (name, value) = match (credentials.kind, &settings.provider.api_key_header) {
        (CredentialKind::None, _) => return Ok(headers),
        (CredentialKind::ApiKey, Some(header)) => (header.clone(), secret.to_owned()),
        (CredentialKind::ApiKey | CredentialKind::Bearer, _) => {
            (AUTHORIZATION.as_str().to_owned(), format!("Bearer {secret}"))
        }
    };
    let bad = || ModelSetupError::Credential { label: credentials.label.clone() };
    let mut value: HeaderValue = value.parse().map_err(|_| bad())?;
    value.set_sensitive(true);
    let name: HeaderName = name.parse().map_err(|_| ModelSetupError::Header { name })?;
    headers.insert(name, value);
    Ok(headers)
}

/// An answer that has begun.
pub(crate) struct HttpReply {
    peer: Peer,
    response: reqwest::Response,
}

impl HttpReply {
    fn is_answer(&self, media_type: &str) -> bool {
        let kind = self.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let fits =
            kind.is_none_or(|kind| kind.trim_start().to_ascii_lowercase().starts_with(media_type));
        self.response.status().as_u16() == 200 && fits
    }

    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece; none at the end.
    pub async fn piece(
        &mut self,
        watch: &mut DeadlineWatch,
        started: bool,
    ) -> Result<Option<Bytes>, AttemptFailure> {
        match within(watch, self.response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(why)) => Err(self.peer.broken(&why)),
            Err(expired) => Err(self.peer.late(expired, started)),
        }
    }

    /// Reads the end of the body, which nobody needs but the next request: only then the connection is reused.
    pub async fn drain(mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }

    async fn beginning(&mut self, watch: &mut DeadlineWatch) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < LONGEST_ERROR
            && let Ok(Ok(Some(piece))) = within(watch, self.response.chunk()).await
        {
            body.extend_from_slice(&piece);
        }
        body
    }
}

/// The request body: its slices as they are, with their exact length.
struct Slices {
    slices: std::iter::Peekable<std::vec::IntoIter<Bytes>>,
    left: u64,
}

impl Slices {
    fn new(body: Body) -> Self {
        Slices { slices: body.slices.into_iter().peekable(), left: body.length }
    }

    fn next(&mut self) -> Option<Bytes> {
        let first = self.slices.next()?;
        let is_small = |slice: &Bytes| slice.len() < SMALL;
        if !is_small(&first) || !self.slices.peek().is_some_and(is_small) {
            return Some(first);
        }
        let mut gathered = BytesMut::from(&first[..]);
        while gathered.len() < GATHERED
            && let Some(slice) = self.slices.next_if(is_small)
        {
            gathered.extend_from_slice(&slice);
        }
        Some(gathered.freeze())
    }
}

impl http_body::Body for Slices {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.next();
        self.left -= next.as_ref().map_or(0, |slice| slice.len() as u64).min(self.left);
        Poll::Ready(next.map(|slice| Ok(Frame::data(slice))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
