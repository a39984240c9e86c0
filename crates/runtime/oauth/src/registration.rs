//! Which client we are at an authorization server, and how we become one.

use crate::discovery::endpoint;
use crate::error::{OAuthError, printable};
use crate::metadata::{ClientAuth, ServerMetadata, object, text};
use crate::scopes::Scopes;
use crate::secret_text::SecretText;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

/// What a person configured for one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    pub client_secret: Option<SecretText>,
    /// The authorization server that it was registered with; none: the first one it is used with.
    pub issuer: Option<String>,
    /// The port of the redirect address, where the authorization server compares it.
    pub callback_port: Option<u16>,
    /// Where a document about this client is published; its address is the client ID.
    pub metadata_document: Option<String>,
    pub scopes: Option<Scopes>,
}

/// A client of one authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    pub issuer: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretText>,
    pub auth: ClientAuth,
    pub origin: ClientOrigin,
    /// The port in the redirect address that was registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientOrigin {
    Configured,
    MetadataDocument,
    Registered,
}

/// What to do for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientChoice {
    Use(Client),
    Register(Url),
}

/// A configured client, else a metadata document, else the client of an earlier login, else a new registration.
///
/// # Errors
/// If none of these is possible, or the configured client belongs to another authorization server.
pub fn choose(
    settings: &ClientSettings,
    earlier: Option<&Client>,
    metadata: &ServerMetadata,
) -> Result<ClientChoice, OAuthError> {
    let issuer = metadata.issuer.text();
    if let Some(id) = &settings.client_id {
        let used_with = earlier.filter(|client| client.id == *id).map(|client| &client.issuer);
        if let Some(registered) =
            settings.issuer.as_ref().or(used_with).filter(|known| *known != issuer)
        {
            return Err(OAuthError::OtherIssuer {
                registered: registered.clone(),
                issuer: issuer.to_owned(),
            });
        }
        let secret = settings.client_secret.clone();
        return Ok(ClientChoice::Use(Client {
            issuer: issuer.to_owned(),
            id: id.clone(),
            auth: token_auth(metadata, secret.is_some(), None),
            secret,
            origin: ClientOrigin::Configured,
            port: settings.callback_port,
        }));
    }
    if let Some(document) =
        settings.metadata_document.as_deref().filter(|_| metadata.reads_client_documents)
    {
        check_document_address(document)?;
        return Ok(ClientChoice::Use(Client {
            issuer: issuer.to_owned(),
            id: document.to_owned(),
            secret: None,
            auth: ClientAuth::None,
            origin: ClientOrigin::MetadataDocument,
            port: settings.callback_port,
        }));
    }
    let is_ours =
        |client: &&Client| client.issuer == issuer && client.origin == ClientOrigin::Registered;
    if let Some(client) = earlier.filter(is_ours) {
        return Ok(ClientChoice::Use(client.clone()));
    }
    match &metadata.registration_endpoint {
        Some(url) => Ok(ClientChoice::Register(url.clone())),
        None => Err(OAuthError::NoRegistration { issuer: issuer.to_owned() }),
    }
}

/// An authorization server fetches it: https, with a path.
fn check_document_address(text: &str) -> Result<(), OAuthError> {
    const WHAT: &str = "a client metadata document";
    let url = endpoint(WHAT, text)?;
    match url.scheme() == "https" && url.path() != "/" {
        true => Ok(()),
        false => Err(OAuthError::Address {
            what: WHAT,
            url: printable(text),
            why: "it has to use https and to have a path",
        }),
    }
}

/// The body of a registration (RFC 7591).
pub fn registration_body(
    redirect: &str,
    scopes: Option<&Scopes>,
    metadata: &ServerMetadata,
) -> Value {
    let supported = metadata.token_auth.as_deref().unwrap_or(&[ClientAuth::None]);
    let auth = match supported {
        all if all.contains(&ClientAuth::None) => ClientAuth::None,
        [first, ..] => *first,
        [] => ClientAuth::None,
    };
    let mut body = json!({
        "client_name": "Ostler",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": auth.name(),
    });
    if let (Some(scopes), Some(body)) = (scopes, body.as_object_mut()) {
        body.insert("scope".to_owned(), scopes.to_string().into());
    }
    body
}

/// The client that a registration gave us.
///
/// # Errors
/// If it was refused or makes no sense. A server that fails by itself is `Unavailable`.
pub fn registered(
    status: u16,
    body: &[u8],
    port: u16,
    metadata: &ServerMetadata,
) -> Result<Client, OAuthError> {
    let issuer = metadata.issuer.text().to_owned();
    if status >= 500 || status == 429 {
        return Err(OAuthError::Unavailable { why: format!("registering: status {status}") });
    }
    let refused = |why: String| OAuthError::RegistrationRefused { issuer: issuer.clone(), why };
    let answer = object(body).unwrap_or_default();
    if !(200..300).contains(&status) {
        let told = text(&answer, "error_description").or_else(|| text(&answer, "error"));
        return Err(refused(
            told.map_or_else(|| format!("status {status}"), |told| printable(&told)),
        ));
    }
    let id =
        text(&answer, "client_id").ok_or_else(|| refused("the answer has no client ID".into()))?;
    let secret = text(&answer, "client_secret").map(SecretText::new);
    let method =
        text(&answer, "token_endpoint_auth_method").and_then(|name| ClientAuth::named(&name));
    let auth = token_auth(metadata, secret.is_some(), method);
    Ok(Client { issuer, id, secret, auth, origin: ClientOrigin::Registered, port: Some(port) })
}

/// How to authenticate: as registered, else as the server prefers among what is possible.
fn token_auth(
    metadata: &ServerMetadata,
    has_secret: bool,
    registered: Option<ClientAuth>,
) -> ClientAuth {
    if !has_secret {
        return ClientAuth::None;
    }
    if let Some(method) = registered {
        return method;
    }
    // RFC 8414: a document that says nothing means basic.
    let supported = metadata.token_auth.as_deref().unwrap_or(&[ClientAuth::ClientSecretBasic]);
    let preferred = [ClientAuth::ClientSecretBasic, ClientAuth::ClientSecretPost];
    preferred.into_iter().find(|method| supported.contains(method)).unwrap_or(ClientAuth::None)
}

#[cfg(test)]
#[path = "registration_tests.rs"]
mod tests;
