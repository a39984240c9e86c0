//! The tokens of servers: read before each use, refreshed ahead by one process for all.

use crate::challenge::Challenge;
use crate::error::{NeedsAuthReason, OAuthError};
use crate::metadata_fetch::Requests;
use crate::registration::{ClientOrigin, ClientSettings};
use crate::scopes::check_step_up;
use crate::secret_text::SecretText;
use crate::store::{LoginLock, LoginRecord, LoginStore};
use crate::token::{TokenFailure, TokenRequest, Tokens, read_tokens};
use ostler_core::time::Clock;
use ostler_models::{ExchangeBody, Network};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// Longer than a refresh can take.
const LOCK: Duration = Duration::from_secs(60);
/// After a refresh that got no verdict, a token that still works is used for so many milliseconds.
const PAUSE: u64 = 30_000;
/// A token that is rejected so many milliseconds after its issue would be rejected again.
const JUST_ISSUED: u64 = 10_000;

/// Gives at least 43 random letters and digits, as PKCE wants them (RFC 7636, 4.1).
pub type RandomText = fn() -> String;

/// Everything that the logins of a home directory need. Clones share everything.
#[derive(Clone)]
pub struct OAuth(Arc<Inner>);

struct Inner {
    network: Network,
    store: LoginStore,
    clock: Arc<dyn Clock>,
    random: RandomText,
    /// When a refresh last got no verdict, by server.
    failures: Mutex<HashMap<String, u64>>,
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth").field("store", &self.0.store).finish_non_exhaustive()
    }
}

/// Why a refresh is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RefreshCause {
    Due,
    /// The server does not accept this token.
    Rejected(SecretText),
}

impl OAuth {
    pub fn new(
        network: Network,
        store: LoginStore,
        clock: Arc<dyn Clock>,
        random: RandomText,
    ) -> OAuth {
        let failures = Mutex::new(HashMap::new());
        OAuth(Arc::new(Inner { network, store, clock, random, failures }))
    }

    pub(crate) fn random(&self) -> SecretText {
        SecretText::new((self.0.random)())
    }

    pub(crate) fn network(&self) -> &Network {
        &self.0.network
    }

    pub fn store(&self) -> &LoginStore {
        &self.0.store
    }

    fn now(&self) -> u64 {
        self.0.clock.now().0
    }

    /// The token to send to this server; none if nobody has logged in.
    ///
    /// # Errors
    /// If there was a login that cannot be used any more, or cannot be used right now.
    pub async fn access(
        &self,
        server: &Url,
        settings: &ClientSettings,
    ) -> Result<Option<SecretText>, OAuthError> {
        let Some(record) = self.record(server, settings)? else { return Ok(None) };
        let Some(tokens) = record.tokens else { return Ok(None) };
        let now = self.now();
        if !tokens.is_due(now) {
            return Ok(Some(tokens.access));
        }
        if !tokens.is_expired(now)
            && (tokens.refresh.is_none() || self.failed_lately(&record.server, now))
        {
            return Ok(Some(tokens.access));
        }
        self.refresh(server, settings, RefreshCause::Due).await.map(Some)
    }

    /// Another token, after the server refused a request that carried `sent`.
    ///
    /// # Errors
    /// If a person has to log in, or no token can be had right now.
    pub async fn replacement(
        &self,
        server: &Url,
        settings: &ClientSettings,
        sent: Option<&SecretText>,
        challenge: &Challenge,
    ) -> Result<SecretText, OAuthError> {
        let needs = |reason| OAuthError::needs(reason, challenge.scope.clone());
        let record = self.record(server, settings)?;
        let Some(record) = record.filter(|record| record.tokens.is_some()) else {
            return Err(needs(NeedsAuthReason::NotLoggedIn));
        };
        let current = record.tokens.as_ref().map(|tokens| &tokens.access);
        if let Some(access) = current.filter(|access| sent != Some(*access)) {
            // Somebody has logged in or refreshed since.
            return Ok(access.clone());
        }
        if challenge.is_insufficient_scope() {
            check_step_up(record.requested.as_ref(), challenge.scope.as_ref())?;
            self.remember_wanted(server, challenge).await;
            return Err(needs(NeedsAuthReason::MoreScopes));
        }
        let is_new = |tokens: &Tokens| self.now().saturating_sub(tokens.issued_at) < JUST_ISSUED;
        if record.tokens.as_ref().is_some_and(is_new) {
            return Err(needs(NeedsAuthReason::Rejected));
        }
        let requests = Requests::for_server(self.network(), server).await;
        let resource = requests.resource(server, challenge).await?;
        if !resource.authorization_servers.contains(&record.issuer) {
            return Err(needs(NeedsAuthReason::Rejected));
        }
        let cause = RefreshCause::Rejected(sent.cloned().unwrap_or_else(|| SecretText::new("")));
        self.refresh(server, settings, cause).await
    }

    /// Whether there is a login for this server.
    ///
    /// # Errors
    /// If its file cannot be used.
    pub fn is_logged_in(
        &self,
        server: &Url,
        settings: &ClientSettings,
    ) -> Result<bool, OAuthError> {
        let now = self.now();
        let is_usable = |tokens: &Tokens| tokens.refresh.is_some() || !tokens.is_expired(now);
        let record = self.record(server, settings)?;
        Ok(record.and_then(|record| record.tokens).is_some_and(|tokens| is_usable(&tokens)))
    }

    /// Forgets the tokens and the client. Gives whether there were any.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub async fn log_out(&self, server: &Url) -> Result<bool, OAuthError> {
        let lock = self.store().lock(server, LOCK).await?;
        let had_any = !matches!(self.store().read(server), Ok(None));
        lock.remove()?;
        Ok(had_any)
    }

    /// A login that belongs to another client than the configured one is none.
    fn record(
        &self,
        server: &Url,
        settings: &ClientSettings,
    ) -> Result<Option<LoginRecord>, OAuthError> {
        let record = self.store().read(server)?;
        Ok(record.filter(|record| match &settings.client_id {
            Some(id) => record.client.id == *id,
            None => record.client.origin != ClientOrigin::Configured,
        }))
    }

    /// In a task of its own: a refresh that was sent is finished and stored even if nobody waits for it any more.
    async fn refresh(
        &self,
        server: &Url,
        settings: &ClientSettings,
        cause: RefreshCause,
    ) -> Result<SecretText, OAuthError> {
        let (oauth, server, settings) = (self.clone(), server.clone(), settings.clone());
        let task =
            tokio::spawn(async move { oauth.refresh_locked(&server, &settings, &cause).await });
        let ended = |_| OAuthError::Unavailable { why: "the refresh was stopped".to_owned() };
        task.await.map_err(ended)?
    }

    async fn refresh_locked(
        &self,
        server: &Url,
        settings: &ClientSettings,
        cause: &RefreshCause,
    ) -> Result<SecretText, OAuthError> {
        let lock = self.store().lock(server, LOCK).await?;
        // Whoever had the lock before us may have done it.
        let record = self.record(server, settings)?;
        let needs = |reason| OAuthError::needs(reason, None);
        let Some((record, tokens)) = record.and_then(|mut record| {
            let tokens = record.tokens.take()?;
            Some((record, tokens))
        }) else {
            return Err(needs(NeedsAuthReason::NotLoggedIn));
        };
        let now = self.now();
        let is_done = match cause {
            RefreshCause::Due => !tokens.is_due(now),
            RefreshCause::Rejected(sent) => tokens.access != *sent,
        };
        if is_done {
            return Ok(tokens.access);
        }
        let is_rejected = matches!(cause, RefreshCause::Rejected(_));
        let Some(refresh) = &tokens.refresh else {
            return match (is_rejected, tokens.is_expired(now)) {
                (true, _) => Err(needs(NeedsAuthReason::Rejected)),
                (false, true) => Err(needs(NeedsAuthReason::Expired)),
                (false, false) => Ok(tokens.access),
            };
        };
        let asked = TokenRequest::refresh(&record.client, refresh, &record.resource);
        let answer = self.send_refresh(server, &record, &asked).await;
        if matches!(answer, Err(TokenFailure::Unavailable { .. } | TokenFailure::Refused { .. }))
            && !is_rejected
            && !tokens.is_expired(self.now())
        {
            self.note_failure(&record.server);
            return Ok(tokens.access);
        }
        self.keep(&lock, record, tokens, answer)
    }

    async fn send_refresh(
        &self,
        server: &Url,
        record: &LoginRecord,
        asked: &TokenRequest,
    ) -> Result<Tokens, TokenFailure> {
        let endpoint = crate::discovery::endpoint("tokens", &record.token_endpoint)
            .map_err(|error| TokenFailure::Unavailable { why: error.to_string() })?;
        let requests = Requests::for_server(self.network(), server).await;
        self.tokens(requests, &endpoint, asked).await
    }

    /// Stores what came of a refresh. Only two answers delete anything.
    fn keep(
        &self,
        lock: &LoginLock,
        mut record: LoginRecord,
        old: Tokens,
        answer: Result<Tokens, TokenFailure>,
    ) -> Result<SecretText, OAuthError> {
        match answer {
            Ok(mut new) => {
                // A server that does not rotate sends no new one.
                new.refresh = new.refresh.or(old.refresh);
                new.granted = new.granted.or(old.granted);
                let access = new.access.clone();
                record.tokens = Some(new);
                lock.write(&record)?;
                Ok(access)
            }
            Err(TokenFailure::InvalidGrant) => {
                lock.write(&record)?;
                Err(OAuthError::needs(NeedsAuthReason::Revoked, record.requested))
            }
            Err(TokenFailure::InvalidClient) => {
                lock.remove()?;
                Err(OAuthError::needs(NeedsAuthReason::Revoked, record.requested))
            }
            Err(failure) => Err(failure.into()),
        }
    }

    pub(crate) async fn tokens(
        &self,
        requests: Requests<'_>,
        endpoint: &Url,
        asked: &TokenRequest,
    ) -> Result<Tokens, TokenFailure> {
        let body = ExchangeBody::Form(asked.form.expose());
        let authorization = asked.authorization.as_ref().map(SecretText::expose);
        let answer = requests.send(endpoint, body, authorization).await;
        let answer =
            answer.map_err(|error| TokenFailure::Unavailable { why: error.to_string() })?;
        read_tokens(answer.status, &answer.body, self.now())
    }

    /// So that the next login asks for it. Only a convenience: it may fail.
    async fn remember_wanted(&self, server: &Url, challenge: &Challenge) {
        let Some(scopes) = &challenge.scope else { return };
        let Ok(lock) = self.store().lock(server, LOCK).await else { return };
        let Ok(Some(mut record)) = self.store().read(server) else { return };
        let wanted =
            record.wanted.as_ref().map_or_else(|| scopes.clone(), |known| known.union(scopes));
        if record.wanted.as_ref() != Some(&wanted) {
            record.wanted = Some(wanted);
            let _ = lock.write(&record);
        }
    }

    fn failed_lately(&self, server: &str, now: u64) -> bool {
        let failures = self.0.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.get(server).is_some_and(|at| now.saturating_sub(*at) < PAUSE)
    }

    fn note_failure(&self, server: &str) {
        let mut failures = self.0.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.insert(server.to_owned(), self.now());
    }
}
