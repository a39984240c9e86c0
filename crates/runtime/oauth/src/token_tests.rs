use super::*;
use crate::registration::ClientOrigin;
use proptest::prelude::*;
use std::collections::HashMap;

fn client(auth: ClientAuth) -> Client {
    Client {
        issuer: "https://auth.example".into(),
        id: "a:b c".into(),
        secret: Some(SecretText::new("s%t&")),
        auth,
        origin: ClientOrigin::Registered,
        port: None,
    }
}

fn sent(auth: ClientAuth) -> (HashMap<String, String>, Option<String>) {
    let request =
        TokenRequest::refresh(&client(auth), &SecretText::new("r 1"), "https://s.example/mcp");
    let form = form_urlencoded::parse(request.form.expose().as_bytes()).into_owned().collect();
    (form, request.authorization.map(|header| header.expose().to_owned()))
}

#[test]
fn each_method_puts_the_secret_where_it_belongs() {
    let (form, header) = sent(ClientAuth::None);
    assert_eq!(
        (form.get("client_id").unwrap().as_str(), form.get("client_secret")),
        ("a:b c", None)
    );
    assert_eq!(header, None);
    let (form, header) = sent(ClientAuth::ClientSecretPost);
    assert_eq!(form.get("client_secret").unwrap(), "s%t&");
    assert_eq!((form.get("client_id").unwrap().as_str(), header), ("a:b c", None));
    let (form, header) = sent(ClientAuth::ClientSecretBasic);
    assert!(!form.contains_key("client_id") && !form.contains_key("client_secret"));
    let header = header.unwrap();
    let pair = STANDARD.decode(header.strip_prefix("Basic ").unwrap()).unwrap();
    assert_eq!(String::from_utf8(pair).unwrap(), "a%3Ab+c:s%25t%26");
    for (form, _) in [sent(ClientAuth::None), sent(ClientAuth::ClientSecretBasic)] {
        assert_eq!(form.get("grant_type").unwrap(), "refresh_token");
        assert_eq!(form.get("refresh_token").unwrap(), "r 1");
        assert_eq!(form.get("resource").unwrap(), "https://s.example/mcp");
    }
}

#[test]
fn tokens_are_read_with_their_end() {
    let body = br#"{"access_token":"a.b","token_type":"bearer","expires_in":60,"refresh_token":"r","scope":"x y"}"#;
    let tokens = read_tokens(200, body, 1_000).unwrap();
    assert_eq!((tokens.access.expose(), tokens.expires_at), ("a.b", Some(61_000)));
    assert_eq!(
        (tokens.refresh, tokens.granted),
        (Some(SecretText::new("r")), Scopes::parse("x y"))
    );
    let ends = [
        ("60", Some(61_000)),
        ("\"60\"", Some(61_000)),
        ("60.9", Some(61_000)),
        ("0", Some(1_000)),
        ("-1", Some(1_000)),
        ("null", None),
        ("\"soon\"", None),
        ("99999999999999", None),
    ];
    for (text, expected) in ends {
        let body = format!(r#"{{"access_token":"a","token_type":"Bearer","expires_in":{text}}}"#);
        assert_eq!(
            read_tokens(200, body.as_bytes(), 1_000).unwrap().expires_at,
            expected,
            "{text}"
        );
    }
}

#[test]
fn tokens_are_due_five_minutes_ahead_or_half_way() {
    const MINUTE: u64 = 60_000;
    let tokens = |life: Option<u64>| Tokens {
        access: SecretText::new("a"),
        refresh: None,
        issued_at: 0,
        expires_at: life.map(|minutes| minutes * MINUTE),
        granted: None,
    };
    // lifetime, minutes later, due, expired
    let table = [
        (None, 1_000_000, false, false),
        (Some(60), 54, false, false),
        (Some(60), 55, true, false),
        (Some(60), 60, true, true),
        (Some(4), 1, false, false),
        (Some(4), 2, true, false),
        (Some(4), 4, true, true),
    ];
    for (life, later, due, expired) in table {
        let (tokens, now) = (tokens(life), later * MINUTE);
        assert_eq!(
            (tokens.is_due(now), tokens.is_expired(now)),
            (due, expired),
            "{life:?} {later}"
        );
    }
}

/// In one word.
fn failure(status: u16, body: &str) -> &'static str {
    match read_tokens(status, body.as_bytes(), 0) {
        Ok(_) => "tokens",
        Err(TokenFailure::InvalidClient) => "client",
        Err(TokenFailure::InvalidGrant) => "grant",
        Err(TokenFailure::Refused { .. }) => "refused",
        Err(TokenFailure::Unavailable { .. }) => "unavailable",
    }
}

#[test]
fn only_an_explicit_word_makes_tokens_worthless() {
    let table = [
        (400, r#"{"error":"invalid_grant"}"#, "grant"),
        (401, r#"{"error":"invalid_client"}"#, "client"),
        (200, r#"{"error":"invalid_grant"}"#, "grant"),
        (400, r#"{"error":"invalid_scope"}"#, "refused"),
        (400, r#"{"error":"temporarily_unavailable"}"#, "unavailable"),
        (400, "", "unavailable"),
        (401, "Unauthorized", "unavailable"),
        (404, "<html>", "unavailable"),
        (302, "", "unavailable"),
        (500, "", "unavailable"),
        // A server that fails has decided nothing, whatever it writes.
        (500, r#"{"error":"invalid_grant"}"#, "unavailable"),
        (503, r#"{"error":"invalid_client"}"#, "unavailable"),
        (429, r#"{"error":"invalid_grant"}"#, "unavailable"),
        (200, r#"{"access_token":"a","token_type":"Bearer"}"#, "tokens"),
        (200, r#"{"access_token":"a"}"#, "refused"),
        (200, r#"{"access_token":"a","token_type":"DPoP"}"#, "refused"),
        (200, r#"{"token_type":"Bearer"}"#, "refused"),
        // It would end the header and begin another one.
        (200, r#"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#, "refused"),
        (200, "[]", "unavailable"),
    ];
    for (status, body, expected) in table {
        assert_eq!(failure(status, body), expected, "{status} {body}");
    }
}

proptest! {
    #[test]
    fn no_answer_of_a_failing_server_makes_tokens_worthless(status in 500_u16..600, body in "\\PC{0,80}") {
        prop_assert_eq!(failure(status, &body), "unavailable");
    }

    #[test]
    fn every_token_fits_into_a_header(token in "\\PC{1,40}") {
        let body = serde_json::json!({"access_token": token, "token_type": "Bearer"}).to_string();
        if let Ok(tokens) = read_tokens(200, body.as_bytes(), 0) {
            prop_assert!(tokens.access.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
