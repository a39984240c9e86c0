//! Tokens that end, and servers that do not accept them.

use crate::world::{HOUR, START, TestClock, World, browse, oauth};
use ostler_oauth::{
    Challenge, ClientSettings, NeedsAuth, NeedsAuthReason, OAuth, OAuthError, Scopes, SecretText,
};
use serde_json::json;
use std::future::pending;
use std::sync::Arc;

const MINUTE: u64 = 60_000;

struct LoggedIn {
    world: World,
    home: tempfile::TempDir,
    clock: Arc<TestClock>,
    oauth: OAuth,
}

impl LoggedIn {
    async fn with(scope: &str) -> LoggedIn {
        let (world, home) = (World::start().await, tempfile::tempdir().unwrap());
        let clock = TestClock::at(START);
        let oauth = oauth(home.path(), Arc::clone(&clock));
        let challenge = Challenge::parse(&format!("Bearer scope=\"{scope}\""));
        let login = oauth.begin_login(&world.server(), &settings(), Some(challenge)).await.unwrap();
        let url = login.url();
        let (record, _) = tokio::join!(login.finish(pending()), browse(&url));
        record.unwrap();
        LoggedIn { world, home, clock, oauth }
    }

    async fn access(&self) -> Result<Option<String>, OAuthError> {
        let token = self.oauth.access(&self.world.server(), &settings()).await;
        token.map(|token| token.map(|token| token.expose().to_owned()))
    }

    async fn replacement(&self, sent: &str, header: &str) -> Result<String, OAuthError> {
        let (sent, challenge) = (SecretText::new(sent), Challenge::parse(header));
        let server = self.world.server();
        let found = self.oauth.replacement(&server, &settings(), Some(&sent), &challenge).await;
        found.map(|token| token.expose().to_owned())
    }

    fn refreshes(&self) -> usize {
        self.world.get(|state| state.refreshes)
    }
}

fn settings() -> ClientSettings {
    ClientSettings::default()
}

fn token(name: &str) -> Result<Option<String>, OAuthError> {
    Ok(Some(name.to_owned()))
}

fn reason(result: Result<impl std::fmt::Debug, OAuthError>) -> NeedsAuthReason {
    match result {
        Err(OAuthError::NeedsAuth(NeedsAuth { reason, .. })) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn tokens_are_refreshed_five_minutes_ahead() {
    let user = LoggedIn::with("a").await;
    user.clock.advance(HOUR - 6 * MINUTE);
    assert_eq!((user.access().await, user.refreshes()), (token("access-1"), 0));
    user.clock.advance(MINUTE);
    assert_eq!((user.access().await, user.refreshes()), (token("access-2"), 1));
    // The new refresh token was stored, and is used next.
    user.clock.advance(HOUR);
    assert_eq!((user.access().await, user.refreshes()), (token("access-3"), 2));
    user.world.get(|state| assert_eq!(state.reuses, 0));
}

#[tokio::test]
async fn a_failing_server_costs_nothing() {
    for failure in
        [(503, r#"{"error":"invalid_grant"}"#), (500, "oops"), (429, ""), (400, "<html>")]
    {
        let user = LoggedIn::with("a").await;
        user.world.set(|state| state.token_failure = Some(failure));
        user.clock.advance(HOUR - MINUTE);
        // It still works for a minute, and the server is left alone for half of it.
        assert_eq!(user.access().await, token("access-1"), "{failure:?}");
        assert_eq!(user.access().await, token("access-1"), "{failure:?}");
        user.world.get(|state| assert_eq!(state.token_requests.len(), 2, "{failure:?}"));
        user.clock.advance(2 * MINUTE);
        let late = user.access().await;
        assert!(matches!(late, Err(OAuthError::Unavailable { .. })), "{failure:?}: {late:?}");
        user.world.set(|state| state.token_failure = None);
        assert_eq!(user.access().await, token("access-2"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_revoked_login_keeps_its_client_and_an_unknown_client_does_not() {
    for (failure, registrations) in [("invalid_grant", 1), ("invalid_client", 2)] {
        let user = LoggedIn::with("a").await;
        let body = if failure == "invalid_grant" {
            r#"{"error":"invalid_grant"}"#
        } else {
            r#"{"error":"invalid_client"}"#
        };
        user.world.set(|state| state.token_failure = Some((400, body)));
        user.clock.advance(HOUR);
        assert_eq!(reason(user.access().await), NeedsAuthReason::Revoked, "{failure}");
        // Nothing is tried again with what is worthless.
        assert_eq!(user.access().await, Ok(None), "{failure}");
        user.world.get(|state| assert_eq!(state.token_requests.len(), 2, "{failure}"));
        user.world.set(|state| state.token_failure = None);
        let login = user.oauth.begin_login(&user.world.server(), &settings(), None).await.unwrap();
        drop(login);
        user.world.get(|state| assert_eq!(state.registrations.len(), registrations, "{failure}"));
    }
}

#[tokio::test]
async fn a_login_elsewhere_is_noticed() {
    let user = LoggedIn::with("a").await;
    user.clock.advance(MINUTE);
    let other = oauth(user.home.path(), Arc::clone(&user.clock));
    let login = other.begin_login(&user.world.server(), &settings(), None).await.unwrap();
    let url = login.url();
    let (record, _) = tokio::join!(login.finish(pending()), browse(&url));
    record.unwrap();
    assert_eq!(user.access().await, token("access-2"));
    assert_eq!(
        user.replacement("access-1", "Bearer error=invalid_token").await.unwrap(),
        "access-2"
    );
    assert_eq!(user.refreshes(), 0);
}

#[tokio::test]
async fn a_rejected_token_is_refreshed_once() {
    let user = LoggedIn::with("a").await;
    user.clock.advance(MINUTE);
    let header = "Bearer error=\"invalid_token\"";
    // Two requests that carried the same token.
    assert_eq!(user.replacement("access-1", header).await.unwrap(), "access-2");
    assert_eq!(user.replacement("access-1", header).await.unwrap(), "access-2");
    assert_eq!(user.refreshes(), 1);
    // The new one is rejected, too: another one would be as well.
    assert_eq!(reason(user.replacement("access-2", header).await), NeedsAuthReason::Rejected);
    assert_eq!(user.refreshes(), 1);
}

#[tokio::test]
async fn no_token_is_refreshed_where_the_server_no_longer_looks() {
    let user = LoggedIn::with("a").await;
    user.clock.advance(MINUTE);
    user.world.set(|state| {
        state.resource_change = json!({"authorization_servers": ["https://new.example"]})
    });
    let found = user.replacement("access-1", "Bearer error=\"invalid_token\"").await;
    assert_eq!((reason(found), user.refreshes()), (NeedsAuthReason::Rejected, 0));
}

#[tokio::test]
async fn more_scopes_need_a_person_once() {
    let user = LoggedIn::with("a").await;
    let header = "Bearer error=\"insufficient_scope\", scope=\"b\"";
    let found = user.replacement("access-1", header).await;
    let expected = NeedsAuth { reason: NeedsAuthReason::MoreScopes, scopes: Scopes::parse("b") };
    assert_eq!(found, Err(OAuthError::NeedsAuth(expected)));
    assert_eq!(user.refreshes(), 0);
    // A login later, in another process, asks for both.
    let other = oauth(user.home.path(), Arc::clone(&user.clock));
    let login = other.begin_login(&user.world.server(), &settings(), None).await.unwrap();
    let url = login.url();
    let (record, _) = tokio::join!(login.finish(pending()), browse(&url));
    assert_eq!(record.unwrap().requested, Scopes::parse("a b"));
    // And then it is the server's turn.
    let found = user.replacement("access-2", header).await;
    assert_eq!(found, Err(OAuthError::ScopesNotEnough { scopes: Scopes::parse("b").unwrap() }));
}

#[tokio::test]
async fn a_refresh_is_stored_even_if_nobody_waits_for_it() {
    let user = LoggedIn::with("a").await;
    user.clock.advance(HOUR);
    let all = user.world.answers.available_permits();
    user.world.answers.forget_permits(all);
    {
        let mut waiting = Box::pin(user.access());
        // Until the request has arrived; then the caller goes away.
        while user
            .world
            .get(|state| !state.paths.ends_with(&["/token".to_owned(), "/token".to_owned()]))
        {
            tokio::select! {
                biased;
                done = &mut waiting => panic!("{done:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    user.world.answers.add_permits(10);
    assert_eq!(user.access().await, token("access-2"));
    user.world.get(|state| assert_eq!((state.refreshes, state.reuses), (1, 0)));
}
