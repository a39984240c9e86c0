//! What a server says about itself, and what its authorization server says: read, checked, and nothing else kept.

use crate::discovery::{Issuer, endpoint, is_this_machine};
use crate::error::{OAuthError, printable};
use crate::scopes::Scopes;
use serde_json::{Map, Value};
use url::Url;

/// Lists in documents are read up to here.
const LONGEST_LIST: usize = 1000;

/// A server's own metadata (RFC 9728).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceMetadata {
    /// As the server writes it.
    pub resource: String,
    pub authorization_servers: Vec<String>,
    pub scopes: Option<Scopes>,
}

impl ResourceMetadata {
    /// # Errors
    /// If it is not such a document, or it is about another server.
    pub fn parse(body: &[u8], from: &Url, server: &Url) -> Result<ResourceMetadata, OAuthError> {
        const WHAT: &str = "the metadata of the server";
        let wrong = |why: &str| metadata_error(WHAT, from, why);
        let document = object(body).ok_or_else(|| wrong("it is not a JSON object"))?;
        let resource =
            text(&document, "resource").ok_or_else(|| wrong("it has no \"resource\""))?;
        if !covers(&resource, server) {
            return Err(OAuthError::ResourceMismatch {
                server: without_query(server),
                resource: printable(&resource),
            });
        }
        let authorization_servers = list(&document, "authorization_servers").unwrap_or_default();
        if authorization_servers.is_empty() {
            return Err(wrong("it names no authorization servers"));
        }
        let scopes = list(&document, "scopes_supported");
        let scopes = scopes.and_then(|all| Scopes::collect(all.iter().map(String::as_str)));
        Ok(ResourceMetadata { resource, authorization_servers, scopes })
    }

    /// For a server without such a document (protocol revision 2025-03-26): its origin is the authorization server.
    pub fn assumed(server: &Url) -> ResourceMetadata {
        ResourceMetadata {
            resource: canonical(server),
            authorization_servers: vec![server.origin().ascii_serialization()],
            scopes: None,
        }
    }
}

/// Whether a token for `resource` may be sent to `server`: the same origin, and the same path or one above it.
pub fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.fragment().is_some() || resource.origin() != server.origin() {
        return false;
    }
    if resource.query().is_some() && resource.query() != server.query() {
        return false;
    }
    let above = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The address of a server as an identifier: no fragment, no slash for an empty path.
pub fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = url.to_string();
    match url.path() {
        "/" if url.query().is_none() => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}

/// For messages: a query may hold a key.
pub(crate) fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// How a client proves who it is at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuth {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

impl ClientAuth {
    pub fn name(self) -> &'static str {
        match self {
            ClientAuth::None => "none",
            ClientAuth::ClientSecretBasic => "client_secret_basic",
            ClientAuth::ClientSecretPost => "client_secret_post",
        }
    }

    pub fn named(name: &str) -> Option<ClientAuth> {
        let all = [ClientAuth::None, ClientAuth::ClientSecretBasic, ClientAuth::ClientSecretPost];
        all.into_iter().find(|method| method.name() == name)
    }
}

/// An authorization server's metadata (RFC 8414), checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerMetadata {
    pub issuer: Issuer,
    pub authorization_endpoint: Url,
    pub token_endpoint: Url,
    pub registration_endpoint: Option<Url>,
    pub scopes: Option<Scopes>,
    /// None: the document does not say.
    pub token_auth: Option<Vec<ClientAuth>>,
    /// Its answers always say who they come from (RFC 9207).
    pub names_itself: bool,
    pub reads_client_documents: bool,
}

impl ServerMetadata {
    /// # Errors
    /// If it is not such a document, is about another issuer, lacks PKCE, or names an unusable endpoint.
    pub fn parse(body: &[u8], from: &Url, issuer: &Issuer) -> Result<ServerMetadata, OAuthError> {
        const WHAT: &str = "the metadata of the authorization server";
        let wrong = |why: &str| metadata_error(WHAT, from, why);
        let document = object(body).ok_or_else(|| wrong("it is not a JSON object"))?;
        let found = text(&document, "issuer").ok_or_else(|| wrong("it has no \"issuer\""))?;
        if found != issuer.text() {
            return Err(OAuthError::IssuerMismatch {
                expected: issuer.text().to_owned(),
                found: printable(&found),
            });
        }
        let methods = list(&document, "code_challenge_methods_supported").unwrap_or_default();
        if !methods.iter().any(|method| method == "S256") {
            return Err(OAuthError::NoPkce { issuer: found });
        }
        let url = |key: &str, what| {
            text(&document, key).map(|url| usable(what, &url, issuer)).transpose()
        };
        let token_auth = list(&document, "token_endpoint_auth_methods_supported");
        let scopes = list(&document, "scopes_supported");
        Ok(ServerMetadata {
            authorization_endpoint: url("authorization_endpoint", "logging in")?
                .ok_or_else(|| wrong("it has no \"authorization_endpoint\""))?,
            token_endpoint: url("token_endpoint", "tokens")?
                .ok_or_else(|| wrong("it has no \"token_endpoint\""))?,
            registration_endpoint: url("registration_endpoint", "registering clients")?,
            scopes: scopes.and_then(|all| Scopes::collect(all.iter().map(String::as_str))),
            token_auth: token_auth
                .map(|all| all.iter().filter_map(|name| ClientAuth::named(name)).collect()),
            names_itself: flag(&document, "authorization_response_iss_parameter_supported"),
            reads_client_documents: flag(&document, "client_id_metadata_document_supported"),
            issuer: issuer.clone(),
        })
    }
}

/// Only an authorization server on this machine may have endpoints on this machine: a browser would reach them.
fn usable(what: &'static str, text: &str, issuer: &Issuer) -> Result<Url, OAuthError> {
    let url = endpoint(what, text)?;
    match is_this_machine(&url) && !is_this_machine(issuer.url()) {
        true => Err(OAuthError::Address {
            what,
            url: printable(text),
            why: "it is on this machine, and the authorization server is not",
        }),
        false => Ok(url),
    }
}

fn metadata_error(what: &'static str, from: &Url, why: &str) -> OAuthError {
    OAuthError::Metadata { what, url: without_query(from), why: why.to_owned() }
}

pub(crate) fn object(body: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

pub(crate) fn text(document: &Map<String, Value>, key: &str) -> Option<String> {
    document.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn list(document: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    let all = document.get(key)?.as_array()?;
    Some(all.iter().take(LONGEST_LIST).filter_map(Value::as_str).map(str::to_owned).collect())
}

fn flag(document: &Map<String, Value>, key: &str) -> bool {
    document.get(key).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
