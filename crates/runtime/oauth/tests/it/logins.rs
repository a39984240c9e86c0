//! From the first request to tokens on disk.

use crate::world::{START, TestClock, World, browse, oauth, redirect};
use ostler_oauth::{
    CallbackError, Challenge, ClientOrigin, ClientSettings, LoginRecord, OAuthError, Scopes,
    SecretText,
};
use serde_json::json;
use std::future::pending;

/// Logs in as a person who agrees to everything.
async fn log_in(
    world: &World,
    home: &std::path::Path,
    settings: &ClientSettings,
) -> Result<LoginRecord, OAuthError> {
    log_in_after(world, home, settings, None).await
}

async fn log_in_after(
    world: &World,
    home: &std::path::Path,
    settings: &ClientSettings,
    challenge: Option<Challenge>,
) -> Result<LoginRecord, OAuthError> {
    let login =
        oauth(home, TestClock::at(START)).begin_login(&world.server(), settings, challenge).await?;
    let url = login.url();
    let (record, _page) = tokio::join!(login.finish(pending()), browse(&url));
    record
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn a_login_ends_with_a_token_that_the_server_accepts() {
    let (world, home) = (World::start().await, home());
    world.set(|state| state.challenge.push_str(", scope=\"a b\""));
    let record = log_in(&world, home.path(), &ClientSettings::default()).await.unwrap();
    assert_eq!(record.issuer, world.base());
    assert_eq!(record.client.origin, ClientOrigin::Registered);
    let oauth = oauth(home.path(), TestClock::at(START));
    let token = oauth.access(&world.server(), &ClientSettings::default()).await.unwrap().unwrap();
    assert!(world.accepts(token.expose()));
    let resource = format!("{}/mcp", world.base());
    world.get(|state| {
        let asked = &state.authorizations[0];
        assert_eq!(
            (asked["scope"].as_str(), asked["resource"].as_str()),
            ("a b", resource.as_str())
        );
        let (form, _) = &state.token_requests[0];
        assert_eq!(
            (form["resource"].as_str(), form["client_id"].as_str()),
            (resource.as_str(), "client-1")
        );
        assert_eq!(state.registrations[0]["application_type"], "native");
        assert_eq!(state.registrations[0]["redirect_uris"][0], asked["redirect_uri"].as_str());
    });
}

#[tokio::test]
async fn a_person_without_a_browser_here_copies_the_address() {
    let (world, home) = (World::start().await, home());
    let oauth = oauth(home.path(), TestClock::at(START));
    let settings = ClientSettings::default();
    let login = oauth.begin_login(&world.server(), &settings, None).await.unwrap();
    let copied = redirect(&login.url()).await;
    let record = login.finish(async { format!(" {copied}\n") }).await.unwrap();
    assert!(world.accepts(record.tokens.unwrap().access.expose()));
    let login = oauth.begin_login(&world.server(), &settings, None).await.unwrap();
    let refused = login.finish(async { copied }).await;
    assert_eq!(refused, Err(OAuthError::Callback(CallbackError::State)));
}

#[tokio::test]
async fn documents_are_looked_for_in_order() {
    let (world, home) = (World::start().await, home());
    world.set(|state| {
        state.challenge = String::new();
        state.missing = vec![
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
        ];
    });
    log_in(&world, home.path(), &ClientSettings::default()).await.unwrap();
    let looked: Vec<String> = world.get(|state| {
        state.paths.iter().filter(|path| path.starts_with("/.well-known")).cloned().collect()
    });
    let expected = [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ];
    assert_eq!(looked, expected);
}

#[tokio::test]
async fn a_server_without_metadata_is_its_own_authorization_server() {
    let (world, home) = (World::start().await, home());
    world.set(|state| {
        state.challenge = String::new();
        state.missing = vec![
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
        ];
    });
    let record = log_in(&world, home.path(), &ClientSettings::default()).await.unwrap();
    assert_eq!((record.issuer, record.resource), (world.base(), world.server().to_string()));
}

/// What `begin_login` says, and that no browser would have been opened nor a client registered.
async fn refused(world: &World) -> OAuthError {
    let home = home();
    let oauth = oauth(home.path(), TestClock::at(START));
    let error =
        oauth.begin_login(&world.server(), &ClientSettings::default(), None).await.unwrap_err();
    world.get(|state| assert!(state.registrations.is_empty()));
    error
}

#[tokio::test]
async fn wrong_documents_end_the_login_before_it_begins() {
    let world = World::start().await;
    let cases = [
        (json!({"resource": "https://evil.example/mcp"}), json!({}), "different server"),
        (json!({}), json!({"issuer": "https://evil.example"}), "issuer"),
        (json!({}), json!({"code_challenge_methods_supported": null}), "PKCE"),
        (json!({}), json!({"token_endpoint": "http://evil.example/token"}), "https"),
        (json!({"authorization_servers": ["http://evil.example"]}), json!({}), "https"),
        (json!({"authorization_servers": []}), json!({}), "no authorization servers"),
        (json!({}), json!({"registration_endpoint": null}), "client ID"),
        // Even from a server on this machine nothing leads to a cloud's metadata service.
        (
            json!({"authorization_servers": ["https://169.254.169.254"]}),
            json!({}),
            "not on the internet",
        ),
        (
            json!({}),
            json!({"authorization_endpoint": "https://169.254.169.254/"}),
            "not on the internet",
        ),
    ];
    for (resource, server, expected) in cases {
        world.set(|state| {
            state.resource_change = resource.clone();
            state.server_change = server.clone();
        });
        let error = refused(&world).await.to_string();
        assert!(error.contains(expected), "{resource} {server}: {error}");
    }
}

#[tokio::test]
async fn a_wrong_answer_never_reaches_the_token_endpoint() {
    let cases = [
        (vec![("iss", None)], CallbackError::IssuerMissing),
        (vec![("iss", Some("https://evil.example"))], CallbackError::IssuerMismatch),
        (vec![("code", None)], CallbackError::NoCode),
        (
            vec![("code", None), ("error", Some("access_denied"))],
            CallbackError::Refused("access_denied".into()),
        ),
    ];
    for (change, expected) in cases {
        let (world, home) = (World::start().await, home());
        world.set(|state| state.answer_change = change);
        let ended = log_in(&world, home.path(), &ClientSettings::default()).await;
        assert_eq!(ended, Err(OAuthError::Callback(expected)));
        world.get(|state| assert!(state.token_requests.is_empty()));
    }
}

#[tokio::test]
async fn a_configured_client_authenticates_as_the_server_wants() {
    let (world, home) = (World::start().await, home());
    world.set(|state| {
        state.server_change =
            json!({"registration_endpoint": null, "token_endpoint_auth_methods_supported": ["client_secret_basic"]});
    });
    let settings = ClientSettings {
        client_id: Some("by-hand".into()),
        client_secret: Some(SecretText::new("secret")),
        scopes: Scopes::parse("mine"),
        ..ClientSettings::default()
    };
    log_in(&world, home.path(), &settings).await.unwrap();
    world.get(|state| {
        let (form, authorization) = &state.token_requests[0];
        // by-hand:secret
        assert_eq!(authorization.as_deref(), Some("Basic YnktaGFuZDpzZWNyZXQ="));
        assert!(!form.contains_key("client_secret"));
        assert_eq!(state.authorizations[0]["scope"], "mine");
    });
    // The tokens belong to that client: with another one, nobody is logged in.
    let oauth = oauth(home.path(), TestClock::at(START));
    assert!(oauth.access(&world.server(), &settings).await.unwrap().is_some());
    assert_eq!(oauth.access(&world.server(), &ClientSettings::default()).await, Ok(None));
}

#[tokio::test]
async fn a_second_login_keeps_the_client_and_its_scopes() {
    let (world, home) = (World::start().await, home());
    let settings = ClientSettings::default();
    let challenge = |text: &str| Some(Challenge::parse(&format!("Bearer scope=\"{text}\"")));
    log_in_after(&world, home.path(), &settings, challenge("a")).await.unwrap();
    log_in_after(&world, home.path(), &settings, challenge("b")).await.unwrap();
    world.get(|state| {
        assert_eq!(state.registrations.len(), 1);
        assert_eq!(state.authorizations[1]["scope"], "a b");
        // Not every server lets the port vary.
        assert_eq!(
            state.authorizations[0]["redirect_uri"],
            state.authorizations[1]["redirect_uri"]
        );
    });
}

#[tokio::test]
async fn a_client_whose_port_is_taken_is_registered_again() {
    let (world, home) = (World::start().await, home());
    let settings = ClientSettings::default();
    let record = log_in(&world, home.path(), &settings).await.unwrap();
    let port = record.client.port.unwrap();
    let _taken = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let record = log_in(&world, home.path(), &settings).await.unwrap();
    assert_ne!(record.client.port, Some(port));
    assert_eq!(record.client.id, "client-2");
}

#[tokio::test]
async fn another_authorization_server_gets_neither_client_nor_scopes() {
    let (old, new, home) = (World::start().await, World::start().await, home());
    let settings = ClientSettings::default();
    let challenge = |text: &str| Some(Challenge::parse(&format!("Bearer scope=\"{text}\"")));
    log_in_after(&old, home.path(), &settings, challenge("a")).await.unwrap();
    let issuer = new.base();
    old.set(|state| state.resource_change = json!({ "authorization_servers": [issuer] }));
    let record = log_in_after(&old, home.path(), &settings, challenge("b")).await.unwrap();
    assert_eq!((record.issuer, record.client.issuer), (new.base(), new.base()));
    new.get(|state| {
        assert_eq!(state.registrations.len(), 1);
        assert_eq!(state.authorizations[0]["scope"], "b");
    });
}

#[tokio::test]
async fn logging_out_forgets_everything() {
    let (world, home) = (World::start().await, home());
    let settings = ClientSettings::default();
    log_in(&world, home.path(), &settings).await.unwrap();
    let oauth = oauth(home.path(), TestClock::at(START));
    assert_eq!(oauth.is_logged_in(&world.server(), &settings), Ok(true));
    assert_eq!(oauth.log_out(&world.server()).await, Ok(true));
    assert_eq!(oauth.is_logged_in(&world.server(), &settings), Ok(false));
    assert_eq!(oauth.log_out(&world.server()).await, Ok(false));
    assert_eq!(oauth.access(&world.server(), &settings).await, Ok(None));
}
