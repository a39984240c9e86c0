//! One bounded request and its whole answer, whatever its status: for protocols that read error bodies. Redirects are
//! not followed, and the address is checked before anything is sent.

use crate::address_check::{Reach, check_unresolved, resolve_within};
use crate::fetch::{Network, cause};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Url};
use serde_json::Value;
use std::time::Duration;

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub enum ExchangeBody<'a> {
    /// Nothing: a GET.
    None,
    /// A POST of `application/x-www-form-urlencoded` text.
    Form(&'a str),
    /// A POST of a document.
    Json(&'a Value),
}

#[derive(Clone, Copy)]
pub struct Exchange<'a> {
    pub url: &'a Url,
    pub body: ExchangeBody<'a>,
    pub accept: &'a str,
    /// The whole value of the header.
    pub authorization: Option<&'a str>,
    pub reach: Reach,
    /// For everything, from resolving the name to the last byte.
    pub limit: Duration,
    /// Bytes of the answer's body.
    pub most: usize,
}

/// An answer, whatever it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeAnswer {
    pub status: u16,
    /// All headers of this name, joined by commas.
    pub www_authenticate: Option<String>,
    pub body: Vec<u8>,
}

/// Why there is no answer. The texts hold no secrets: neither headers nor queries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// Nothing was sent.
    #[error("{0}")]
    Refused(String),
    /// Something may have been sent.
    #[error("{0}")]
    NoAnswer(String),
}

impl Network {
    /// # Errors
    /// If the address is out of reach, or no whole answer came within the limits.
    pub async fn exchange(&self, request: Exchange<'_>) -> Result<ExchangeAnswer, ExchangeError> {
        let host = request.url.host_str().unwrap_or("the server").to_owned();
        let late = || {
            let seconds = request.limit.as_secs();
            ExchangeError::NoAnswer(format!("{host} does not answer within {seconds} s"))
        };
        tokio::time::timeout(request.limit, self.exchange_unlimited(request, &host))
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    /// Whether this address may be opened, here or in a browser.
    ///
    /// # Errors
    /// If it is out of reach.
    pub async fn check_address(&self, url: &Url, reach: Reach) -> Result<(), String> {
        match self.proxies.proxy_for(url) {
            Some(_) => check_unresolved(url, reach),
            None => resolve_within(url, reach).await.map(|_| ()),
        }
    }

    async fn exchange_unlimited(
        &self,
        request: Exchange<'_>,
        host: &str,
    ) -> Result<ExchangeAnswer, ExchangeError> {
        let built = self.builder(request.url).map_err(ExchangeError::Refused)?;
        let builder = match self.proxies.proxy_for(request.url) {
            Some(_) => {
                check_unresolved(request.url, request.reach).map_err(ExchangeError::Refused)?;
                built
            }
            None => {
                let addresses = resolve_within(request.url, request.reach)
                    .await
                    .map_err(ExchangeError::Refused)?;
                built.resolve_to_addrs(host, &addresses)
            }
        };
        let client = builder
            .build()
            .map_err(|error| ExchangeError::Refused(format!("no HTTP client: {error}")))?;
        let headers = headers(&request)?;
        let sending = match request.body {
            ExchangeBody::None => client.get(request.url.clone()),
            ExchangeBody::Form(text) => {
                posted(&client, &request, "application/x-www-form-urlencoded").body(text.to_owned())
            }
            ExchangeBody::Json(document) => {
                posted(&client, &request, "application/json").body(document.to_string())
            }
        };
        let unreachable = |error: reqwest::Error| {
            ExchangeError::NoAnswer(format!("{host} cannot be reached: {}", cause(&error)))
        };
        let mut response = sending.headers(headers).send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let www_authenticate = joined(response.headers());
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreachable)? {
            if body.len() + piece.len() > request.most {
                let most = request.most;
                return Err(ExchangeError::NoAnswer(format!(
                    "{host} sends more than {most} bytes"
                )));
            }
            body.extend_from_slice(&piece);
        }
        Ok(ExchangeAnswer { status, www_authenticate, body })
    }
}

fn posted(client: &reqwest::Client, request: &Exchange<'_>, kind: &'static str) -> RequestBuilder {
    client.post(request.url.clone()).header(CONTENT_TYPE, kind)
}

fn headers(request: &Exchange<'_>) -> Result<HeaderMap, ExchangeError> {
    let unusable = |_| ExchangeError::Refused("a header cannot be sent: it is not text".to_owned());
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_str(request.accept).map_err(unusable)?);
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("ostler/", env!("CARGO_PKG_VERSION"))),
    );
    if let Some(value) = request.authorization {
        let mut value = HeaderValue::from_str(value).map_err(unusable)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn joined(headers: &HeaderMap) -> Option<String> {
    let values: Vec<&str> =
        headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
