//! A login from its beginning (an address for a browser) to its end (tokens in the store).

use crate::authorization::AuthorizationRequest;
use crate::challenge::Challenge;
use crate::discovery::{Issuer, endpoint};
use crate::error::{CallbackError, OAuthError};
use crate::metadata::{ResourceMetadata, ServerMetadata};
use crate::metadata_fetch::Requests;
use crate::oauth::OAuth;
use crate::redirect_listener::{PATIENCE, RedirectListener, Verdict};
use crate::registration::{
    Client, ClientChoice, ClientOrigin, ClientSettings, choose, registered, registration_body,
};
use crate::scopes::{ScopeSources, Scopes, select};
use crate::secret_text::SecretText;
use crate::store::LoginRecord;
use crate::token::TokenRequest;
use ostler_models::{Exchange, ExchangeBody};
use serde_json::json;
use std::time::Duration;
use url::Url;

/// A server that does not answer this fast is asked at its well-known places.
const PROBE: Duration = Duration::from_secs(10);
const LOCK: Duration = Duration::from_secs(60);

/// What is shown in the browser.
const RECEIVED: &str = "Ostler has received the answer. You can close this tab.";
const REFUSED: &str = "The login was not completed. Ostler says why. You can close this tab.";

/// A login that waits for a person.
#[derive(Debug)]
pub struct PendingLogin {
    oauth: OAuth,
    server: Url,
    request: AuthorizationRequest,
    listener: RedirectListener,
}

impl OAuth {
    /// Finds out where to log in, as which client and with which scopes. `challenge` is what the server said last, if
    /// that is known; else the server is asked.
    ///
    /// # Errors
    /// If a document is missing or wrong, or Ostler cannot become a client.
    pub async fn begin_login(
        &self,
        server: &Url,
        settings: &ClientSettings,
        challenge: Option<Challenge>,
    ) -> Result<PendingLogin, OAuthError> {
        endpoint("a server to log in to", server.as_str())?;
        let requests = Requests::for_server(self.network(), server).await;
        let challenge = match challenge {
            Some(challenge) => challenge,
            None => self.probe(server, requests).await,
        };
        let resource = requests.resource(server, &challenge).await?;
        // A damaged or foreign file is replaced by this login.
        let earlier = self.store().read(server).unwrap_or_default();
        let issuer = issuer_of(&resource, settings, earlier.as_ref())?;
        let metadata = requests.authorization_server(&issuer).await?;
        let place = &metadata.authorization_endpoint;
        requests
            .network
            .check_address(place, requests.reach)
            .await
            .map_err(|why| OAuthError::Unavailable { why })?;
        let scopes = scopes_for(&challenge, &resource, &metadata, settings, earlier.as_ref())?;
        let known = earlier.map(|record| record.client);
        let (client, listener) =
            client_for(settings, known.as_ref(), &metadata, scopes.as_ref(), requests).await?;
        let request = AuthorizationRequest {
            client,
            metadata,
            redirect: listener.address(),
            resource: resource.resource,
            scopes,
            state: self.random(),
            verifier: self.random(),
        };
        Ok(PendingLogin { oauth: self.clone(), server: server.clone(), request, listener })
    }

    /// What the server says to somebody without a token.
    async fn probe(&self, server: &Url, requests: Requests<'_>) -> Challenge {
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "ostler", "version": env!("CARGO_PKG_VERSION")},
            },
        });
        let exchange = Exchange {
            url: server,
            body: ExchangeBody::Json(&body),
            accept: "application/json, text/event-stream",
            authorization: None,
            reach: requests.reach,
            limit: PROBE,
            most: crate::metadata_fetch::LONGEST_ANSWER,
        };
        let answer = requests.network.exchange(exchange).await.ok();
        let header = answer.filter(|answer| matches!(answer.status, 401 | 403));
        let header = header.and_then(|answer| answer.www_authenticate);
        header.map(|header| Challenge::parse(&header)).unwrap_or_default()
    }
}

impl PendingLogin {
    /// What to open in a browser.
    pub fn url(&self) -> Url {
        self.request.url()
    }

    /// Waits for the browser to come back, or for the address that it was sent to, copied by a person; then gets the
    /// tokens and stores them.
    ///
    /// # Errors
    /// If nobody answers in time, the answer is wrong, or there are no tokens.
    pub async fn finish(
        self,
        copied: impl Future<Output = String>,
    ) -> Result<LoginRecord, OAuthError> {
        let PendingLogin { oauth, server, request, listener } = self;
        let coming_back = listener.wait(PATIENCE, |query| verdict(&request, query));
        let code = tokio::select! {
            came = coming_back => came?,
            text = copied => request.code(query_of(&text)),
        }?;
        let requests = Requests::for_server(oauth.network(), &server).await;
        let asked = TokenRequest::for_code(&request, &code);
        let endpoint = &request.metadata.token_endpoint;
        let tokens = oauth.tokens(requests, endpoint, &asked).await?;
        let mut record = LoginRecord::new(&server, request.resource, endpoint, request.client);
        record.tokens = Some(tokens);
        record.requested = request.scopes;
        let lock = oauth.store().lock(&server, LOCK).await?;
        lock.write(&record)?;
        Ok(record)
    }
}

/// An answer with another state is not ours; anything else ends the login.
fn verdict(
    request: &AuthorizationRequest,
    query: &str,
) -> Verdict<Result<SecretText, CallbackError>> {
    match request.code(query) {
        Err(CallbackError::State | CallbackError::Repeated) => Verdict::NotOurs,
        Ok(code) => Verdict::Done(Ok(code), RECEIVED),
        Err(error) => Verdict::Done(Err(error), REFUSED),
    }
}

/// Of a whole address, or of what somebody copied from it.
fn query_of(text: &str) -> &str {
    let text = text.trim();
    let query = text.split_once('?').map_or(text, |(_, query)| query);
    query.split('#').next().unwrap_or_default()
}

/// The configured one, or the one of the last login, if the server still names it; else the first.
fn issuer_of(
    resource: &ResourceMetadata,
    settings: &ClientSettings,
    earlier: Option<&LoginRecord>,
) -> Result<Issuer, OAuthError> {
    let all = &resource.authorization_servers;
    let known = [settings.issuer.as_ref(), earlier.map(|record| &record.issuer)];
    let known = known.into_iter().flatten().find(|issuer| all.contains(issuer));
    let chosen = known.or(all.first()).map(String::as_str).unwrap_or_default();
    Issuer::parse(chosen)
}

fn scopes_for(
    challenge: &Challenge,
    resource: &ResourceMetadata,
    metadata: &ServerMetadata,
    settings: &ClientSettings,
    earlier: Option<&LoginRecord>,
) -> Result<Option<Scopes>, OAuthError> {
    // What another authorization server granted means nothing here.
    let earlier = earlier.filter(|record| record.issuer == metadata.issuer.text());
    let wanted = earlier.and_then(|record| record.wanted.as_ref());
    let challenged = match (&challenge.scope, wanted) {
        (Some(now), Some(before)) => Some(before.union(now)),
        (now, before) => now.clone().or_else(|| before.cloned()),
    };
    select(ScopeSources {
        configured: settings.scopes.as_ref(),
        challenged: challenged.as_ref(),
        resource: resource.scopes.as_ref(),
        earlier: earlier.and_then(|record| record.requested.as_ref()),
        authorization_server: metadata.scopes.as_ref(),
    })
}

/// The client, and the port that its redirect address names. A registered client whose port is taken is registered
/// again: not every authorization server lets the port vary.
async fn client_for(
    settings: &ClientSettings,
    earlier: Option<&Client>,
    metadata: &ServerMetadata,
    scopes: Option<&Scopes>,
    requests: Requests<'_>,
) -> Result<(Client, RedirectListener), OAuthError> {
    let place = match choose(settings, earlier, metadata)? {
        ClientChoice::Register(place) => place,
        ClientChoice::Use(client) => {
            let listener = RedirectListener::bind(client.port).await;
            match (listener, &metadata.registration_endpoint) {
                (Ok(listener), _) => return Ok((client, listener)),
                (Err(_), Some(place)) if client.origin == ClientOrigin::Registered => place.clone(),
                (Err(error), _) => return Err(error),
            }
        }
    };
    let listener = RedirectListener::bind(settings.callback_port).await?;
    let body = registration_body(&listener.address(), scopes, metadata);
    let answer = requests.send(&place, ExchangeBody::Json(&body), None).await;
    let answer = answer.map_err(|error| OAuthError::Unavailable { why: error.to_string() })?;
    let client = registered(answer.status, &answer.body, listener.port(), metadata)?;
    Ok((client, listener))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_address_may_be_whole_or_not() {
        for text in
            ["http://127.0.0.1:1/callback?code=c&state=s#x", " code=c&state=s\n", "?code=c&state=s"]
        {
            assert_eq!(query_of(text), "code=c&state=s");
        }
    }
}
