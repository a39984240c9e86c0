//! Single requests besides the model's: a file to download, a JSON document to send. Bounded in size and time, no
//! redirects, the same proxies and certificates.

use crate::proxy::ProxySettings;
use crate::secret::Secret;
use crate::settings::CaFile;
use crate::transport::proxy;
use reqwest::{Certificate, Client, ClientBuilder, Response, Url, redirect};
use serde_json::Value;
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(10);
/// A server that says nothing for so long has nothing to say.
const SILENCE: Duration = Duration::from_secs(30);

/// How the network is reached.
#[derive(Clone, Default)]
pub struct Network {
    pub proxies: ProxySettings,
    pub ca_file: Option<CaFile>,
}

impl Network {
    /// The body, if it has at most so many bytes. `progress` hears how many there are so far.
    pub async fn download(
        &self,
        url: &str,
        most: usize,
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<u8>, String> {
        let (client, url) = self.client(url)?;
        let mut response = sent(client.get(url.clone()).send(), &url).await?;
        let mut body = Vec::new();
        while let Some(piece) = piece(&mut response, &url).await? {
            body.extend_from_slice(&piece);
            if body.len() > most {
                return Err(format!("{} sends more than {most} bytes", host(&url)));
            }
            progress(body.len());
        }
        Ok(body)
    }

    /// Sends a document and reads the answer, all of it within `limit`.
    pub async fn post_json(
        &self,
        url: &str,
        key: Option<&Secret>,
        body: &Value,
        limit: Duration,
    ) -> Result<Value, String> {
        /// A batch of embeddings of the largest kind, in decimal.
        const MOST: usize = 32 << 20;
        let (client, url) = self.client(url)?;
        let mut request = client.post(url.clone()).header("content-type", "application/json");
        if let Some(key) = key {
            request = request.bearer_auth(key.expose());
        }
        let text = serde_json::to_vec(body).map_err(|error| error.to_string())?;
        let whole = async {
            let mut response = sent(request.body(text).send(), &url).await?;
            let mut answer = Vec::new();
            while let Some(piece) = piece(&mut response, &url).await? {
                answer.extend_from_slice(&piece);
                if answer.len() > MOST {
                    return Err(format!("{} sends too much", host(&url)));
                }
            }
            serde_json::from_slice(&answer).map_err(|_| "the answer is not JSON".to_owned())
        };
        tokio::time::timeout(limit, whole)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())))
    }

    /// A client for one address, for whoever speaks a protocol of its own over HTTP. It follows no redirect.
    ///
    /// # Errors
    /// In words, if the address, the proxy or the certificates cannot be used.
    pub fn client_for(&self, url: &str) -> Result<Client, String> {
        self.client(url).map(|(client, _)| client)
    }

    fn client(&self, url: &str) -> Result<(Client, Url), String> {
        let url = Url::parse(url).map_err(|_| "its address cannot be read".to_owned())?;
        let client = self.builder(&url)?;
        let client = client.build().map_err(|error| format!("no HTTP client: {error}"))?;
        Ok((client, url))
    }

    /// A client for this address: its proxy, our certificates, no redirects.
    pub(crate) fn builder(&self, url: &Url) -> Result<ClientBuilder, String> {
        // Fails when it is set already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT);
        if let Some(text) = self.proxies.proxy_for(url) {
            builder = builder.proxy(proxy(text).map_err(|error| error.to_string())?.1);
        }
        if let Some(ca) = &self.ca_file {
            let roots = Certificate::from_pem_bundle(&ca.pem)
                .map_err(|_| format!("{} contains no readable certificates", ca.label))?;
            builder = builder.tls_certs_merge(roots);
        }
        Ok(builder)
    }
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or("the server")
}

async fn sent(
    sending: impl Future<Output = Result<Response, reqwest::Error>>,
    url: &Url,
) -> Result<Response, String> {
    let answer = tokio::time::timeout(SILENCE, sending)
        .await
        .map_err(|_| format!("{} does not answer", host(url)))?;
    let response =
        answer.map_err(|error| format!("{} cannot be reached: {}", host(url), cause(&error)))?;
    match response.status() {
        status if status.is_success() => Ok(response),
        status => Err(format!("{} answers with status {}", host(url), status.as_u16())),
    }
}

async fn piece(response: &mut Response, url: &Url) -> Result<Option<bytes::Bytes>, String> {
    let waited = tokio::time::timeout(SILENCE, response.chunk()).await;
    let piece = waited.map_err(|_| format!("{} fell silent", host(url)))?;
    piece.map_err(|error| format!("the connection to {} broke: {}", host(url), cause(&error)))
}

/// The innermost reason; the outer ones repeat the address, which may hold a password.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
