use super::*;
use proptest::prelude::*;
use serde_json::json;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn server_metadata(change: Value) -> Result<ServerMetadata, OAuthError> {
    let mut document = json!({
        "issuer": "https://auth.example",
        "authorization_endpoint": "https://auth.example/authorize",
        "token_endpoint": "https://auth.example/token",
        "code_challenge_methods_supported": ["plain", "S256"],
    });
    for (key, value) in change.as_object().unwrap() {
        match value {
            Value::Null => document.as_object_mut().unwrap().remove(key),
            value => document.as_object_mut().unwrap().insert(key.clone(), value.clone()),
        };
    }
    let issuer = Issuer::parse("https://auth.example").unwrap();
    let from = url("https://auth.example/.well-known/oauth-authorization-server");
    ServerMetadata::parse(document.to_string().as_bytes(), &from, &issuer)
}

#[test]
fn a_resource_covers_its_own_paths_only() {
    let server = url("https://s.example/a/mcp");
    let table = [
        ("https://s.example/a/mcp", true),
        ("https://s.example/a/mcp/", true),
        ("https://s.example/a", true),
        ("https://s.example", true),
        ("https://S.example:443/", true),
        ("https://s.example/a/mc", false),
        ("https://s.example/a/mcp/more", false),
        ("https://s.example/b", false),
        ("https://evil.example/a/mcp", false),
        ("https://s.example.evil.example/a/mcp", false),
        ("http://s.example/a/mcp", false),
        ("https://s.example:8443/a/mcp", false),
        ("https://s.example/a/mcp#x", false),
        ("https://s.example/a/mcp?tenant=1", false),
        ("not a url", false),
    ];
    for (resource, expected) in table {
        assert_eq!(covers(resource, &server), expected, "{resource}");
    }
}

#[test]
fn the_document_of_another_server_is_refused() {
    let server = url("https://s.example/mcp");
    let from = url("https://s.example/.well-known/oauth-protected-resource/mcp");
    let parse =
        |document: Value| ResourceMetadata::parse(document.to_string().as_bytes(), &from, &server);
    let found = parse(json!({
        "resource": "https://s.example/mcp",
        "authorization_servers": ["https://auth.example"],
        "scopes_supported": ["a", "b"],
    }));
    assert_eq!(found.unwrap().scopes, Scopes::parse("a b"));
    let other = parse(
        json!({"resource": "https://evil.example/mcp", "authorization_servers": ["https://x"]}),
    );
    assert!(matches!(other, Err(OAuthError::ResourceMismatch { .. })), "{other:?}");
    for bad in [
        json!([]),
        json!({}),
        json!({"resource": "https://s.example/mcp"}),
        json!({"resource": "https://s.example/mcp", "authorization_servers": []}),
        json!({"resource": "https://s.example/mcp", "authorization_servers": [1]}),
    ] {
        assert!(matches!(parse(bad.clone()), Err(OAuthError::Metadata { .. })), "{bad}");
    }
}

#[test]
fn an_issuer_has_to_be_the_one_that_was_asked() {
    assert!(server_metadata(json!({})).is_ok());
    for other in ["https://auth.example/", "https://AUTH.example", "https://honest.example"] {
        let found = server_metadata(json!({ "issuer": other }));
        assert!(matches!(found, Err(OAuthError::IssuerMismatch { .. })), "{other}: {found:?}");
    }
}

#[test]
fn without_pkce_nobody_logs_in() {
    for methods in [json!(null), json!([]), json!(["plain"]), json!("S256")] {
        let found = server_metadata(json!({ "code_challenge_methods_supported": methods }));
        assert!(matches!(found, Err(OAuthError::NoPkce { .. })), "{methods}: {found:?}");
    }
}

#[test]
fn endpoints_have_to_be_safe_to_use() {
    for key in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        for bad in [
            "http://auth.example/x",
            "javascript:alert(1)",
            "http://localhost/x",
            "https://localhost/x",
        ] {
            let found = server_metadata(json!({ key: bad }));
            assert!(matches!(found, Err(OAuthError::Address { .. })), "{key} {bad}: {found:?}");
        }
        assert!(server_metadata(json!({ key: "https://other.example/x" })).is_ok());
    }
    for key in ["authorization_endpoint", "token_endpoint"] {
        assert!(matches!(server_metadata(json!({ key: null })), Err(OAuthError::Metadata { .. })));
    }
}

#[test]
fn what_is_not_said_stays_open() {
    let plain = server_metadata(json!({})).unwrap();
    assert_eq!((plain.token_auth, plain.scopes, plain.registration_endpoint), (None, None, None));
    assert!(!plain.names_itself && !plain.reads_client_documents);
    let full = server_metadata(json!({
        "token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_post", "none"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    }))
    .unwrap();
    assert_eq!(full.token_auth, Some(vec![ClientAuth::ClientSecretPost, ClientAuth::None]));
    assert!(full.names_itself && full.reads_client_documents);
}

#[test]
fn a_server_is_identified_without_slash_and_fragment() {
    let table = [
        ("https://s.example", "https://s.example"),
        ("https://s.example/", "https://s.example"),
        ("https://s.example/mcp#x", "https://s.example/mcp"),
        ("https://s.example/mcp/", "https://s.example/mcp/"),
        ("https://S.example:443/mcp?a=1", "https://s.example/mcp?a=1"),
    ];
    for (text, expected) in table {
        assert_eq!(canonical(&url(text)), expected);
    }
}

proptest! {
    #[test]
    fn a_resource_never_covers_another_origin(host in "[a-z]{1,8}\\.example", path in "(/[a-z]{0,5}){0,3}") {
        let server = url(&format!("https://s.example{path}"));
        let other = format!("https://{host}{path}");
        prop_assert_eq!(covers(&other, &server), host == "s.example");
    }

    #[test]
    fn a_server_is_covered_by_its_own_identifier(path in "(/[a-zA-Z0-9%]{0,5}){0,3}", query in "(\\?[a-z=]{1,5})?") {
        let server = url(&format!("https://s.example{path}{query}"));
        prop_assert!(covers(&canonical(&server), &server));
    }
}
