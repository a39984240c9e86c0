use super::*;
use crate::discovery::Issuer;
use crate::metadata::ClientAuth;
use crate::registration::ClientOrigin;
use proptest::prelude::*;
use std::collections::HashMap;

fn request(names_itself: bool) -> AuthorizationRequest {
    let url = |text: &str| Url::parse(text).unwrap();
    AuthorizationRequest {
        client: Client {
            issuer: "https://auth.example".into(),
            id: "me & you".into(),
            secret: None,
            auth: ClientAuth::None,
            origin: ClientOrigin::Registered,
            port: None,
        },
        metadata: ServerMetadata {
            issuer: Issuer::parse("https://auth.example").unwrap(),
            authorization_endpoint: url("https://auth.example/authorize?tenant=1"),
            token_endpoint: url("https://auth.example/token"),
            registration_endpoint: None,
            scopes: None,
            token_auth: None,
            names_itself,
            reads_client_documents: false,
        },
        redirect: "http://127.0.0.1:4711/callback".into(),
        resource: "https://s.example/mcp".into(),
        scopes: Scopes::parse("a b"),
        state: SecretText::new("the-state"),
        // The example of RFC 7636, appendix B.
        verifier: SecretText::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
    }
}

#[test]
fn a_request_carries_everything_once() {
    let url = request(true).url();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let query: HashMap<String, String> = pairs.iter().cloned().collect();
    assert_eq!(pairs.len(), query.len(), "{url}");
    let expected = [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", "me & you"),
        ("redirect_uri", "http://127.0.0.1:4711/callback"),
        ("state", "the-state"),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ("code_challenge_method", "S256"),
        ("resource", "https://s.example/mcp"),
        ("scope", "a b"),
    ];
    assert_eq!(query.len(), expected.len(), "{url}");
    for (name, value) in expected {
        assert_eq!(query.get(name).map(String::as_str), Some(value), "{name}");
    }
    let open = AuthorizationRequest { scopes: None, ..request(true) };
    assert!(!open.url().as_str().contains("scope"));
    let offline = AuthorizationRequest { scopes: Scopes::parse("offline_access"), ..request(true) };
    assert!(offline.url().as_str().contains("prompt=consent"));
}

#[test]
fn an_answer_is_checked_before_it_is_used() {
    use CallbackError::{IssuerMismatch, IssuerMissing, NoCode, Refused, Repeated, State};
    const ISS: &str = "iss=https%3A%2F%2Fauth.example";
    // Whether the server always names itself, the answer, and what comes of it.
    let table: &[(bool, String, Result<&str, CallbackError>)] = &[
        (true, format!("code=c%2B1&state=the-state&{ISS}"), Ok("c+1")),
        (false, format!("code=c&state=the-state&{ISS}"), Ok("c")),
        (false, "code=c&state=the-state".into(), Ok("c")),
        (true, "code=c&state=the-state".into(), Err(IssuerMissing)),
        (true, "code=c&state=the-state&iss=https://evil.example".into(), Err(IssuerMismatch)),
        (false, "code=c&state=the-state&iss=https://evil.example".into(), Err(IssuerMismatch)),
        (true, format!("code=c&state=the-state&{ISS}%2F"), Err(IssuerMismatch)),
        (true, "code=c&state=the-state&iss=".into(), Err(IssuerMismatch)),
        (true, format!("code=c&{ISS}"), Err(State)),
        (true, format!("code=c&state=other&{ISS}"), Err(State)),
        (true, format!("code=c&state=the-state&state=the-state&{ISS}"), Err(Repeated)),
        (true, format!("code=c&code=d&state=the-state&{ISS}"), Err(Repeated)),
        (true, format!("state=the-state&{ISS}"), Err(NoCode)),
        (true, format!("code=&state=the-state&{ISS}"), Err(NoCode)),
        (
            true,
            format!("error=access_denied&error_description=no%0Anever&state=the-state&{ISS}"),
            Err(Refused("access_denied (no never)".into())),
        ),
        // What somebody else says is neither shown nor acted on.
        (true, "error=evil&state=the-state&iss=https://evil.example".into(), Err(IssuerMismatch)),
        (true, format!("error=evil&state=other&{ISS}"), Err(State)),
        (true, String::new(), Err(State)),
    ];
    for (names_itself, query, expected) in table {
        let found = request(*names_itself).code(query).map(|code| code.expose().to_owned());
        assert_eq!(found.as_deref().map_err(Clone::clone), *expected, "{query}");
    }
}

proptest! {
    #[test]
    fn only_the_right_state_gets_through(state in "\\PC{0,80}", code in "\\PC{1,20}") {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("code", &code)
            .append_pair("state", &state)
            .append_pair("iss", "https://auth.example")
            .finish();
        let mut wanted = request(true);
        prop_assert_eq!(wanted.code(&query), Err(CallbackError::State));
        wanted.state = SecretText::new(state.as_str());
        prop_assert_eq!(wanted.code(&query), Ok(SecretText::new(code)));
    }
}
