//! Fetches the metadata of a server and of its authorization server.

use crate::challenge::Challenge;
use crate::discovery::{Issuer, endpoint, resource_metadata_urls};
use crate::error::OAuthError;
use crate::metadata::{ResourceMetadata, ServerMetadata, without_query};
use ostler_models::address_check::Reach;
use ostler_models::{Exchange, ExchangeAnswer, ExchangeBody, ExchangeError, Network};
use std::time::Duration;
use url::Url;

/// For one request.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
pub(crate) const LONGEST_ANSWER: usize = 256 << 10;

/// One server's way out: what it may lead us to.
#[derive(Clone, Copy)]
pub(crate) struct Requests<'a> {
    pub network: &'a Network,
    pub reach: Reach,
}

impl<'a> Requests<'a> {
    pub async fn for_server(network: &'a Network, server: &Url) -> Requests<'a> {
        Requests { network, reach: Reach::of_server(server).await }
    }

    pub async fn send(
        &self,
        url: &Url,
        body: ExchangeBody<'_>,
        authorization: Option<&str>,
    ) -> Result<ExchangeAnswer, ExchangeError> {
        let exchange = Exchange {
            url,
            body,
            accept: "application/json",
            authorization,
            reach: self.reach,
            limit: LIMIT,
            most: LONGEST_ANSWER,
        };
        self.network.exchange(exchange).await
    }

    /// The server's own metadata: where its challenge says, else at the well-known places. A server that has none is
    /// taken for its own authorization server.
    pub async fn resource(
        &self,
        server: &Url,
        challenge: &Challenge,
    ) -> Result<ResourceMetadata, OAuthError> {
        const WHAT: &str = "the metadata of the server";
        if let Some(told) = &challenge.resource_metadata {
            let url = endpoint(WHAT, told)?;
            return match self.document(WHAT, &url).await? {
                Some(body) => ResourceMetadata::parse(&body, &url, server),
                None => Err(OAuthError::Metadata {
                    what: WHAT,
                    url: without_query(&url),
                    why: "it is not there, although the server says so".to_owned(),
                }),
            };
        }
        for url in resource_metadata_urls(server) {
            if let Some(body) = self.document(WHAT, &url).await? {
                return ResourceMetadata::parse(&body, &url, server);
            }
        }
        Ok(ResourceMetadata::assumed(server))
    }

    /// The metadata of an authorization server, from the first place that has any.
    pub async fn authorization_server(
        &self,
        issuer: &Issuer,
    ) -> Result<ServerMetadata, OAuthError> {
        const WHAT: &str = "the metadata of the authorization server";
        for url in issuer.metadata_urls() {
            if let Some(body) = self.document(WHAT, &url).await? {
                return ServerMetadata::parse(&body, &url, issuer);
            }
        }
        Err(OAuthError::NoServerMetadata { issuer: issuer.text().to_owned() })
    }

    /// None: it is not there. A server that fails is an error: a document elsewhere might say something else.
    async fn document(&self, what: &'static str, url: &Url) -> Result<Option<Vec<u8>>, OAuthError> {
        let failed = |why: String| OAuthError::Metadata { what, url: without_query(url), why };
        let answer = self.send(url, ExchangeBody::None, None).await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        match answer.status {
            200..300 => Ok(Some(answer.body)),
            status @ (500.. | 429) => Err(failed(format!("status {status}"))),
            _ => Ok(None),
        }
    }
}
