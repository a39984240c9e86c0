//! What the MCP client sees of logins.

use crate::world::{HOUR, START, TestClock, World, browse, oauth};
use ostler_core::ports::{Authorizer, HttpServer, LoginSettings, NeedsAuth};
use ostler_oauth::ClientSettings;
use std::future::pending;
use std::sync::Arc;

fn server(url: &str) -> HttpServer {
    HttpServer { name: "tracker".into(), url: url.into(), login: LoginSettings::default() }
}

#[tokio::test]
async fn a_missing_login_names_the_command() {
    let (world, home) = (World::start().await, tempfile::tempdir().unwrap());
    let oauth = oauth(home.path(), TestClock::at(START));
    let server = server(world.server().as_str());
    assert_eq!(oauth.header(&server).await, Ok(None));
    let why = "you are not logged in; run: ostler mcp login tracker".to_owned();
    let needed = NeedsAuth { server: "tracker".into(), why };
    assert_eq!(oauth.challenged(&server, None, "Bearer").await, Err(needed));
}

#[tokio::test]
async fn headers_follow_the_tokens() {
    let (world, home) = (World::start().await, tempfile::tempdir().unwrap());
    let clock = TestClock::at(START);
    let oauth = oauth(home.path(), Arc::clone(&clock));
    let login = oauth.begin_login(&world.server(), &ClientSettings::default(), None).await.unwrap();
    let url = login.url();
    let (record, _) = tokio::join!(login.finish(pending()), browse(&url));
    record.unwrap();
    let server = server(world.server().as_str());
    let header = |name: &str| Ok(Some(format!("Bearer {name}")));
    assert_eq!(oauth.header(&server).await, header("access-1"));
    clock.advance(HOUR);
    assert_eq!(oauth.header(&server).await, header("access-2"));
    // A request that was on its way with the old one.
    let challenge = "Bearer error=\"invalid_token\"";
    assert_eq!(
        oauth.challenged(&server, Some("Bearer access-1"), challenge).await,
        header("access-2")
    );
}

#[tokio::test]
async fn no_token_goes_over_an_open_line() {
    let home = tempfile::tempdir().unwrap();
    let oauth = oauth(home.path(), TestClock::at(START));
    let server = server("http://tracker.example/mcp");
    assert_eq!(oauth.header(&server).await, Ok(None));
    let refused = oauth.challenged(&server, None, "Bearer").await.unwrap_err();
    assert!(refused.why.contains("https"), "{refused}");
}
