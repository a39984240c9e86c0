//! Who authorizes requests to servers on the network.

use super::BoxFuture;
use std::fmt;

/// A server that is reached over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpServer {
    /// As the configuration calls it.
    pub name: String,
    pub url: String,
    pub login: LoginSettings,
}

/// What a person configured about logging in to a server; empty for most.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct LoginSettings {
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// The authorization server that knows this client.
    pub issuer: Option<String>,
    /// The port of the redirect address.
    pub callback_port: Option<u16>,
    /// The address of a client metadata document.
    pub client_metadata_url: Option<String>,
    /// Exactly these, separated by blanks.
    pub scopes: Option<String>,
}

/// Without the secret.
impl fmt::Debug for LoginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginSettings").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// A person has to log in first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{server} needs a login: {why}")]
pub struct NeedsAuth {
    pub server: String,
    pub why: String,
}

pub trait Authorizer: Send + Sync {
    /// The value of the `Authorization` header for the next request; none: send it without one.
    ///
    /// # Errors
    /// If a login is known to be missing.
    fn header(&self, server: &HttpServer) -> BoxFuture<'_, Result<Option<String>, NeedsAuth>>;

    /// The server refused a request that carried `sent`, with this `WWW-Authenticate` header. Gives another value to
    /// try once, or none if nothing else can be tried.
    ///
    /// # Errors
    /// If a login is missing.
    fn challenged(
        &self,
        server: &HttpServer,
        sent: Option<&str>,
        www_authenticate: &str,
    ) -> BoxFuture<'_, Result<Option<String>, NeedsAuth>>;
}
