//! The request that a browser carries to the authorization server, and the answer that it brings back.

use crate::error::{CallbackError, printable};
use crate::metadata::ServerMetadata;
use crate::registration::Client;
use crate::scopes::Scopes;
use crate::secret_text::SecretText;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

/// Everything about one login that its answer is checked against.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    pub client: Client,
    pub metadata: ServerMetadata,
    pub redirect: String,
    pub resource: String,
    pub scopes: Option<Scopes>,
    pub state: SecretText,
    pub verifier: SecretText,
}

impl AuthorizationRequest {
    pub fn url(&self) -> Url {
        let mut url = self.metadata.authorization_endpoint.clone();
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client.id)
                .append_pair("redirect_uri", &self.redirect)
                .append_pair("state", self.state.expose())
                .append_pair("code_challenge", &challenge(&self.verifier))
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &self.resource);
            if let Some(scopes) = &self.scopes {
                query.append_pair("scope", &scopes.to_string());
                // OpenID Connect issues refresh tokens only after a question (Core, 11).
                if scopes.iter().any(|scope| scope == "offline_access") {
                    query.append_pair("prompt", "consent");
                }
            }
        }
        url
    }

    /// The code in an answer. Nothing else of an answer is looked at before its `state` and `iss` are right.
    ///
    /// # Errors
    /// If the answer is not the answer to this request, or is a refusal.
    pub fn code(&self, query: &str) -> Result<SecretText, CallbackError> {
        let answer = Answer::parse(query)?;
        if answer.state.as_deref() != Some(self.state.expose()) {
            return Err(CallbackError::State);
        }
        match &answer.issuer {
            Some(issuer) if issuer != self.metadata.issuer.text() => {
                return Err(CallbackError::IssuerMismatch);
            }
            None if self.metadata.names_itself => return Err(CallbackError::IssuerMissing),
            _ => {}
        }
        if let Some(error) = answer.error {
            let why = answer.description.map(|more| format!("{error} ({more})")).unwrap_or(error);
            return Err(CallbackError::Refused(printable(&why)));
        }
        answer
            .code
            .filter(|code| !code.is_empty())
            .map(SecretText::new)
            .ok_or(CallbackError::NoCode)
    }
}

#[derive(Default)]
struct Answer {
    code: Option<String>,
    state: Option<String>,
    issuer: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

impl Answer {
    fn parse(query: &str) -> Result<Answer, CallbackError> {
        let mut answer = Answer::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let place = match &*name {
                "code" => &mut answer.code,
                "state" => &mut answer.state,
                "iss" => &mut answer.issuer,
                "error" => &mut answer.error,
                "error_description" => &mut answer.description,
                _ => continue,
            };
            if place.replace(value.into_owned()).is_some() {
                return Err(CallbackError::Repeated);
            }
        }
        Ok(answer)
    }
}

fn challenge(verifier: &SecretText) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose().as_bytes()))
}

#[cfg(test)]
#[path = "authorization_tests.rs"]
mod tests;
