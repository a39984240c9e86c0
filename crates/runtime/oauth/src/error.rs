//! Everything that can go wrong, by what a caller has to do about it.

use crate::scopes::Scopes;
use std::path::PathBuf;
use thiserror::Error;

/// Why a server cannot be used before a person has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedsAuth {
    pub reason: NeedsAuthReason,
    /// What the server asked for.
    pub scopes: Option<Scopes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedsAuthReason {
    NotLoggedIn,
    /// The authorization server no longer accepts the refresh token or the client.
    Revoked,
    /// The access token has expired and cannot be refreshed.
    Expired,
    /// The server does not accept the token.
    Rejected,
    /// The server asks for more than was granted.
    MoreScopes,
}

impl NeedsAuthReason {
    pub fn text(self) -> &'static str {
        match self {
            NeedsAuthReason::NotLoggedIn => "you are not logged in",
            NeedsAuthReason::Revoked => "your login was revoked",
            NeedsAuthReason::Expired => "your login has expired",
            NeedsAuthReason::Rejected => "the server does not accept your login",
            NeedsAuthReason::MoreScopes => "the server asks for more permissions",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OAuthError {
    #[error("{}", .0.reason.text())]
    NeedsAuth(NeedsAuth),
    #[error("{url} is not an address for {what}: {why}")]
    Address { what: &'static str, url: String, why: &'static str },
    #[error("cannot read {what} at {url}: {why}")]
    Metadata { what: &'static str, url: String, why: String },
    #[error("{issuer} publishes no authorization server metadata")]
    NoServerMetadata { issuer: String },
    #[error(
        "{server} names {resource} as its resource, which is a different server; not logging in"
    )]
    ResourceMismatch { server: String, resource: String },
    #[error("the metadata of {expected} names {found} as its issuer; not using it")]
    IssuerMismatch { expected: String, found: String },
    #[error("{issuer} does not support PKCE with S256, which is required; not logging in")]
    NoPkce { issuer: String },
    #[error(
        "{issuer} does not register clients by itself; register one there and set its client ID for this server"
    )]
    NoRegistration { issuer: String },
    #[error(
        "the client ID of this server was registered with {registered}, but the server now uses {issuer}"
    )]
    OtherIssuer { registered: String, issuer: String },
    #[error("{issuer} refused to register Ostler: {why}")]
    RegistrationRefused { issuer: String, why: String },
    #[error("{0}")]
    Callback(#[from] CallbackError),
    #[error("the authorization server refused the request: {why}")]
    TokenRefused { code: String, why: String },
    #[error("the authorization server cannot be used right now: {why}")]
    Unavailable { why: String },
    #[error("the server asks for more than {most} scopes")]
    TooManyScopes { most: usize },
    #[error("the server still asks for the scopes {scopes}, although the login asked for them")]
    ScopesNotEnough { scopes: Scopes },
    #[error("cannot use {}: {why}", .path.display())]
    Store { path: PathBuf, why: String },
    #[error("cannot listen on 127.0.0.1{}: {why}", port_text(*.port))]
    Listen { port: u16, why: String },
    #[error("nobody finished the login within {minutes} minutes")]
    Late { minutes: u64 },
}

fn port_text(port: u16) -> String {
    if port == 0 { String::new() } else { format!(":{port}") }
}

impl OAuthError {
    pub(crate) fn needs(reason: NeedsAuthReason, scopes: Option<Scopes>) -> OAuthError {
        OAuthError::NeedsAuth(NeedsAuth { reason, scopes })
    }
}

/// What is wrong with the answer that a browser brought back.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallbackError {
    #[error("the answer belongs to another login")]
    State,
    #[error(
        "the answer does not say which authorization server it comes from, although that server always does"
    )]
    IssuerMissing,
    #[error("the answer comes from another authorization server")]
    IssuerMismatch,
    #[error("the answer contains a parameter twice")]
    Repeated,
    #[error("the answer contains no code")]
    NoCode,
    #[error("the login was refused: {0}")]
    Refused(String),
}

/// Text from a server, for one line on a screen.
pub(crate) fn printable(text: &str) -> String {
    const LONGEST: usize = 300;
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.filter(|c| !is_direction(*c)).take(LONGEST).collect::<String>().trim().to_owned()
}

/// Marks that change the direction or the joining of what follows.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
