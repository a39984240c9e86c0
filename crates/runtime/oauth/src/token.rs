//! Requests to the token endpoint and their answers.

use crate::authorization::AuthorizationRequest;
use crate::error::{OAuthError, printable};
use crate::metadata::{ClientAuth, object, text};
use crate::registration::Client;
use crate::scopes::Scopes;
use crate::secret_text::SecretText;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::form_urlencoded;

/// Tokens are refreshed so many milliseconds before they end.
pub const AHEAD: u64 = 5 * 60 * 1000;
const LONGEST_TOKEN: usize = 16 << 10;
/// A token that says nothing about its end, or nonsense, is used until the server rejects it.
const LONGEST_LIFE_SECONDS: u64 = 10 * 365 * 24 * 3600;

/// What is sent to the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    pub form: SecretText,
    pub authorization: Option<SecretText>,
}

impl TokenRequest {
    pub fn for_code(request: &AuthorizationRequest, code: &SecretText) -> TokenRequest {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &request.redirect),
            ("code_verifier", request.verifier.expose()),
            ("resource", &request.resource),
        ];
        TokenRequest::with(&request.client, &fields)
    }

    pub fn refresh(client: &Client, refresh: &SecretText, resource: &str) -> TokenRequest {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
            ("resource", resource),
        ];
        TokenRequest::with(client, &fields)
    }

    fn with(client: &Client, fields: &[(&str, &str)]) -> TokenRequest {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let secret = client.secret.as_ref().map(SecretText::expose).unwrap_or_default();
        let authorization = match client.auth {
            ClientAuth::ClientSecretBasic => Some(basic(&client.id, secret)),
            ClientAuth::ClientSecretPost => {
                form.append_pair("client_id", &client.id).append_pair("client_secret", secret);
                None
            }
            ClientAuth::None => {
                form.append_pair("client_id", &client.id);
                None
            }
        };
        TokenRequest { form: SecretText::new(form.finish()), authorization }
    }
}

/// Both parts are form-encoded first (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &str) -> SecretText {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    SecretText::new(format!("Basic {}", STANDARD.encode(pair)))
}

/// What the token endpoint gave us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    pub access: SecretText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<SecretText>,
    /// When we got them, in milliseconds since the epoch.
    pub issued_at: u64,
    /// In milliseconds since the epoch; none: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What was granted, if the server said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Scopes>,
}

impl Tokens {
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Whether it is time for new ones: `AHEAD` before their end, or half way for those that live shortly.
    pub fn is_due(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| {
            let life = end.saturating_sub(self.issued_at);
            end.saturating_sub(AHEAD.min(life / 2)) <= now
        })
    }
}

/// Why the token endpoint gave us nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenFailure {
    /// The client is not known: its registration is worthless.
    InvalidClient,
    /// The code or the refresh token is not valid: it is worthless.
    InvalidGrant,
    /// Anything else that the server decided.
    Refused { code: String, why: String },
    /// The server failed, or the answer makes no sense: nothing is known about our tokens.
    Unavailable { why: String },
}

impl From<TokenFailure> for OAuthError {
    fn from(failure: TokenFailure) -> OAuthError {
        let refused =
            |code: &str, why: &str| OAuthError::TokenRefused { code: code.into(), why: why.into() };
        match failure {
            TokenFailure::InvalidClient => {
                refused("invalid_client", "it does not know this client")
            }
            TokenFailure::InvalidGrant => {
                refused("invalid_grant", "it does not accept the code or token")
            }
            TokenFailure::Refused { code, why } => OAuthError::TokenRefused { code, why },
            TokenFailure::Unavailable { why } => OAuthError::Unavailable { why },
        }
    }
}

/// Reads an answer that came at `now` (milliseconds since the epoch).
///
/// # Errors
/// If there are no usable tokens in it.
pub fn read_tokens(status: u16, body: &[u8], now: u64) -> Result<Tokens, TokenFailure> {
    let unavailable = |why: String| TokenFailure::Unavailable { why };
    // Whatever the body says: a server that fails has decided nothing.
    if status >= 500 || status == 429 || status == 408 {
        return Err(unavailable(format!("status {status}")));
    }
    let answer = object(body).ok_or_else(|| unavailable(format!("status {status}, no JSON")))?;
    // Some servers answer with 200 and an error.
    if let Some(code) = text(&answer, "error") {
        return Err(match code.as_str() {
            "invalid_client" => TokenFailure::InvalidClient,
            "invalid_grant" => TokenFailure::InvalidGrant,
            "server_error" | "temporarily_unavailable" => unavailable(code),
            _ => {
                let why = text(&answer, "error_description").unwrap_or_else(|| code.clone());
                TokenFailure::Refused { code: printable(&code), why: printable(&why) }
            }
        });
    }
    if !(200..300).contains(&status) {
        return Err(unavailable(format!("status {status}")));
    }
    let refused =
        |why: &str| TokenFailure::Refused { code: "invalid_answer".into(), why: why.into() };
    let kind = text(&answer, "token_type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(refused("it issues tokens that are not bearer tokens"));
    }
    let access = text(&answer, "access_token").filter(|token| is_token(token));
    let lifetime = answer.get("expires_in").and_then(seconds);
    Ok(Tokens {
        access: SecretText::new(
            access.ok_or_else(|| refused("its answer contains no usable token"))?,
        ),
        refresh: text(&answer, "refresh_token")
            .filter(|token| token.len() <= LONGEST_TOKEN)
            .map(SecretText::new),
        issued_at: now,
        expires_at: lifetime.map(|seconds| now.saturating_add(seconds.saturating_mul(1000))),
        granted: text(&answer, "scope").and_then(|scope| Scopes::parse(&scope)),
    })
}

/// A number, or a number as text.
fn seconds(value: &Value) -> Option<u64> {
    let number = value.as_u64().or_else(|| value.as_f64().map(|number| number as u64));
    let number = number.or_else(|| value.as_str()?.parse().ok());
    number.filter(|seconds| *seconds <= LONGEST_LIFE_SECONDS)
}

/// It has to fit into a header.
fn is_token(text: &str) -> bool {
    text.len() <= LONGEST_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
