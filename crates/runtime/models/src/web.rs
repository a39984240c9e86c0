//! Pages of the public internet. A name is resolved once, every address it has is checked, and the connection goes to one
//! of these addresses: no second answer of a name server can lead elsewhere.

use crate::address_check::{Reach, check_unresolved, resolve};
use crate::fetch::{Network, cause};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, LOCATION, USER_AGENT};
use reqwest::{Response, Url};
use std::net::SocketAddr;
use std::time::Duration;

const AGENT: &str = concat!("ostler/", env!("CARGO_PKG_VERSION"));
const WANTED: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5";

/// What may be asked for.
#[derive(Clone, Debug)]
pub struct PageLimits<'a> {
    /// Hosts that may be on a private network: `name` or `name:port`.
    pub private_hosts: &'a [String],
    /// Bytes that are read of a body.
    pub bytes: usize,
    /// For everything, from the name server to the last byte.
    pub time: Duration,
}

/// Whatever the server said; a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAnswer {
    pub status: u16,
    /// Where a redirect leads, made absolute.
    pub location: Option<String>,
    pub content_type: String,
    pub body: Vec<u8>,
    /// There is more than was read.
    pub is_cut: bool,
}

impl Network {
    /// # Errors
    /// In words, why there is no answer. A host that is not public is refused unless it is listed.
    pub async fn page(&self, url: &str, limits: &PageLimits<'_>) -> Result<PageAnswer, String> {
        let whole = self.page_without_limit(url, limits);
        tokio::time::timeout(limits.time, whole)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", limits.time.as_secs())))
    }

    async fn page_without_limit(
        &self,
        url: &str,
        limits: &PageLimits<'_>,
    ) -> Result<PageAnswer, String> {
        let url = Url::parse(url).map_err(|_| "the address cannot be read".to_owned())?;
        let host = url.host_str().ok_or("the address has no host")?.to_owned();
        let port = url.port_or_known_default().ok_or("the address has no port")?;
        let is_listed = is_private_host(limits.private_hosts, &host, port);
        let mut builder = self.builder(&url)?;
        if self.proxies.proxy_for(&url).is_some() {
            // The proxy connects, and it looks the name up itself.
            check_seen_through_proxy(&url, is_listed).await?;
        } else {
            let addresses = checked_addresses(&url, is_listed).await?;
            builder = builder.resolve_to_addrs(&host, &addresses);
        }
        let client = builder.build().map_err(|error| format!("no HTTP client: {error}"))?;
        let request = client.get(url.clone()).header(USER_AGENT, AGENT).header(ACCEPT, WANTED);
        let unreachable = |error: &reqwest::Error| format!("cannot reach {host}: {}", cause(error));
        let mut response = request.send().await.map_err(|error| unreachable(&error))?;
        let location = header(&response, &LOCATION);
        let location = location.and_then(|to| Some(url.join(&to).ok()?.to_string()));
        let mut answer = PageAnswer {
            status: response.status().as_u16(),
            location: location.filter(|_| response.status().is_redirection()),
            content_type: header(&response, &CONTENT_TYPE).unwrap_or_default(),
            body: Vec::new(),
            is_cut: false,
        };
        while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
            let room = limits.bytes - answer.body.len();
            answer.body.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
            if piece.len() > room {
                answer.is_cut = true;
                break;
            }
        }
        Ok(answer)
    }
}

fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Whether a person named it as one that may be private. `host` as in a URL.
pub fn is_private_host(listed: &[String], host: &str, port: u16) -> bool {
    listed.iter().map(|entry| entry.trim()).any(|entry| {
        let with_port = entry.eq_ignore_ascii_case(&format!("{host}:{port}"));
        with_port || entry.eq_ignore_ascii_case(host)
    })
}

/// Addresses to connect to: all of them public, unless the host is listed.
async fn checked_addresses(url: &Url, is_listed: bool) -> Result<Vec<SocketAddr>, String> {
    let addresses = resolve(url).await?;
    let private = addresses.iter().find(|address| !Reach::Public.allows(address.ip()));
    match private.filter(|_| !is_listed) {
        Some(private) => Err(format!(
            "{} is at {}, which is not a public address; the setting webPrivateHosts can allow the host",
            url.host_str().unwrap_or_default(),
            private.ip()
        )),
        None => Ok(addresses),
    }
}

/// Behind a proxy a name need not resolve here. If it does, it must be public.
async fn check_seen_through_proxy(url: &Url, is_listed: bool) -> Result<(), String> {
    if is_listed {
        return Ok(());
    }
    check_unresolved(url, Reach::Public)?;
    match resolve(url).await {
        Ok(_) => checked_addresses(url, is_listed).await.map(drop),
        Err(_) => Ok(()),
    }
}
