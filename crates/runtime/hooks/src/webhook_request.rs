//! One POST to one webhook. No redirects, no cookies, no proxy; within a time limit.

use crate::clock_and_ids::ClockAndIds;
use crate::signature::signature;
use ostler_core::hook::{HookSecret, check_url};
use reqwest::{Certificate, Client, redirect};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What is read of an answer.
const MOST: usize = 256 << 10;
const CONNECT: Duration = Duration::from_secs(10);

/// Clones share their connections.
#[derive(Clone)]
pub struct Sender {
    shared: Arc<ClientShared>,
}

struct ClientShared {
    /// Certificates to trust besides the system's, as PEM.
    certificates: Vec<u8>,
    given: ClockAndIds,
    plain: OnceLock<Result<Client, String>>,
    encrypted: OnceLock<Result<Client, String>>,
}

pub(crate) struct WebhookReply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Sender {
    /// `certificates`: to trust besides the system's, as PEM; may be empty.
    pub fn new(certificates: Vec<u8>, given: ClockAndIds) -> Self {
        let (plain, encrypted) = (OnceLock::new(), OnceLock::new());
        Sender { shared: Arc::new(ClientShared { certificates, given, plain, encrypted }) }
    }

    pub(crate) fn given(&self) -> &ClockAndIds {
        &self.shared.given
    }

    /// # Errors
    /// In words without the secret, if there was no answer.
    pub(crate) async fn send(
        &self,
        url: &str,
        secret: Option<&HookSecret>,
        event: &str,
        id: &str,
        body: &[u8],
        limit: Duration,
    ) -> Result<WebhookReply, String> {
        check_url(url).map_err(|why| format!("the url cannot be used: {why}"))?;
        let sending = self.exchange(url, secret, event, id, body);
        match tokio::time::timeout(limit, sending).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {limit:?}")),
        }
    }

    async fn exchange(
        &self,
        url: &str,
        secret: Option<&HookSecret>,
        event: &str,
        id: &str,
        body: &[u8],
    ) -> Result<WebhookReply, String> {
        let timestamp = (self.given().clock.now().0 / 1000).to_string();
        let mut request = self
            .client(url.starts_with("https://"))?
            .post(url)
            .header("content-type", "application/json")
            .header("user-agent", concat!("ostler/", env!("CARGO_PKG_VERSION")))
            .header("x-ostler-event", event)
            .header("x-ostler-delivery", id)
            .header("x-ostler-timestamp", &timestamp);
        if let Some(secret) = secret {
            let signed = signature(secret.expose(), &timestamp, body);
            request = request.header("x-ostler-signature", signed);
        }
        let sent = request.body(body.to_vec()).send().await;
        let mut response = sent.map_err(|error| chain(&error))?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| chain(&error))? {
            if body.len() + piece.len() > MOST {
                return Err(format!("its answer is longer than {MOST} bytes"));
            }
            body.extend_from_slice(&piece);
        }
        Ok(WebhookReply { status, body })
    }

    fn client(&self, encrypted: bool) -> Result<&Client, String> {
        let slot = if encrypted { &self.shared.encrypted } else { &self.shared.plain };
        let built = slot.get_or_init(|| self.build(encrypted));
        built.as_ref().map_err(|why| format!("the HTTP client cannot be set up: {why}"))
    }

    fn build(&self, encrypted: bool) -> Result<Client, String> {
        // Fails when it is set already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .connect_timeout(CONNECT);
        let builder = match encrypted {
            // Reading the system's certificates costs milliseconds.
            false => builder.tls_certs_only([]),
            true => {
                let own = Certificate::from_pem_bundle(&self.shared.certificates);
                builder.tls_certs_merge(own.unwrap_or_default())
            }
        };
        builder.build().map_err(|error| chain(&error))
    }
}

/// The innermost cause says what happened; the address is known.
fn chain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let text = cause.to_string();
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}
