use super::*;
use crate::discovery::Issuer;

fn metadata(auth: Option<&[ClientAuth]>, documents: bool, registers: bool) -> ServerMetadata {
    let url = |text: &str| Url::parse(text).unwrap();
    ServerMetadata {
        issuer: Issuer::parse("https://auth.example").unwrap(),
        authorization_endpoint: url("https://auth.example/authorize"),
        token_endpoint: url("https://auth.example/token"),
        registration_endpoint: registers.then(|| url("https://auth.example/register")),
        scopes: None,
        token_auth: auth.map(<[ClientAuth]>::to_vec),
        names_itself: true,
        reads_client_documents: documents,
    }
}

fn earlier(issuer: &str) -> Client {
    Client {
        issuer: issuer.to_owned(),
        id: "earlier".into(),
        secret: None,
        auth: ClientAuth::None,
        origin: ClientOrigin::Registered,
        port: Some(4711),
    }
}

/// The client ID, or what else happens.
fn chosen(
    settings: &ClientSettings,
    earlier: Option<&Client>,
    metadata: &ServerMetadata,
) -> String {
    match choose(settings, earlier, metadata) {
        Ok(ClientChoice::Use(client)) => client.id,
        Ok(ClientChoice::Register(url)) => url.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_configured_client_comes_before_a_document_before_a_registration() {
    const DOCUMENT: &str = "https://ostler.example/client.json";
    let by_hand = ClientSettings { client_id: Some("by-hand".into()), ..ClientSettings::default() };
    let document =
        ClientSettings { metadata_document: Some(DOCUMENT.into()), ..ClientSettings::default() };
    let both = ClientSettings { client_id: Some("by-hand".into()), ..document.clone() };
    let none = ClientSettings::default();
    let ours = earlier("https://auth.example");
    let full = metadata(None, true, true);
    assert_eq!(chosen(&both, Some(&ours), &full), "by-hand");
    assert_eq!(chosen(&by_hand, None, &metadata(None, false, false)), "by-hand");
    assert_eq!(chosen(&document, Some(&ours), &full), DOCUMENT);
    // The authorization server does not read documents.
    assert_eq!(
        chosen(&document, None, &metadata(None, false, true)),
        "https://auth.example/register"
    );
    assert_eq!(chosen(&none, Some(&ours), &full), "earlier");
    assert_eq!(chosen(&none, None, &full), "https://auth.example/register");
    assert!(chosen(&none, None, &metadata(None, true, false)).contains("set its client ID"));
}

#[test]
fn a_client_is_never_used_with_another_authorization_server() {
    let full = metadata(None, true, true);
    let moved = earlier("https://old.example");
    assert_eq!(
        chosen(&ClientSettings::default(), Some(&moved), &full),
        "https://auth.example/register"
    );
    let by_hand = ClientSettings { client_id: Some("earlier".into()), ..ClientSettings::default() };
    let refused = choose(&by_hand, Some(&moved), &full);
    assert!(matches!(refused, Err(OAuthError::OtherIssuer { .. })), "{refused:?}");
    let bound = ClientSettings { issuer: Some("https://old.example".into()), ..by_hand };
    assert!(matches!(choose(&bound, None, &full), Err(OAuthError::OtherIssuer { .. })));
}

#[test]
fn the_address_of_a_document_has_to_be_public() {
    for bad in
        ["http://localhost/client.json", "https://ostler.example", "https://ostler.example/", "x"]
    {
        let settings =
            ClientSettings { metadata_document: Some(bad.into()), ..ClientSettings::default() };
        let found = choose(&settings, None, &metadata(None, true, true));
        assert!(matches!(found, Err(OAuthError::Address { .. })), "{bad}: {found:?}");
    }
}

#[test]
fn a_registration_says_that_we_are_a_native_program() {
    let body = registration_body(
        "http://127.0.0.1:1/callback",
        Scopes::parse("a b").as_ref(),
        &metadata(None, false, true),
    );
    assert_eq!(body["application_type"], "native");
    assert_eq!(body["redirect_uris"], json!(["http://127.0.0.1:1/callback"]));
    assert_eq!(body["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(body["scope"], "a b");
    assert_eq!(body["token_endpoint_auth_method"], "none");
    let only_post = metadata(Some(&[ClientAuth::ClientSecretPost]), false, true);
    let body = registration_body("http://127.0.0.1:1/callback", None, &only_post);
    assert_eq!(body["token_endpoint_auth_method"], "client_secret_post");
    assert_eq!(body.get("scope"), None);
}

#[test]
fn the_method_is_the_registered_one_or_the_best_that_both_know() {
    use ClientAuth::{ClientSecretBasic as Basic, ClientSecretPost as Post, None as Public};
    // supported, secret, registered -> used
    let table = [
        (None, false, None, Public),
        (None, true, None, Basic),
        (Some(vec![Public]), true, None, Public),
        (Some(vec![Post]), true, None, Post),
        (Some(vec![Post, Basic]), true, None, Basic),
        (Some(vec![Basic]), true, Some("client_secret_post"), Post),
        (Some(vec![Basic]), true, Some("none"), Public),
        (Some(vec![Basic]), false, Some("client_secret_basic"), Public),
        (Some(vec![Post]), true, Some("private_key_jwt"), Post),
    ];
    for (supported, has_secret, method, expected) in table {
        let mut answer = json!({"client_id": "c"});
        if has_secret {
            answer["client_secret"] = json!("s");
        }
        if let Some(method) = method {
            answer["token_endpoint_auth_method"] = json!(method);
        }
        let client = registered(
            201,
            answer.to_string().as_bytes(),
            1,
            &metadata(supported.as_deref(), false, true),
        );
        assert_eq!(client.unwrap().auth, expected, "{supported:?} {has_secret} {method:?}");
    }
}

#[test]
fn a_refused_registration_says_why() {
    let at = metadata(None, false, true);
    let body = br#"{"error":"invalid_redirect_uri","error_description":"no\u001b[31m loopback"}"#;
    let refused = registered(400, body, 1, &at).unwrap_err().to_string();
    assert_eq!(refused, "https://auth.example refused to register Ostler: no [31m loopback");
    assert!(matches!(registered(503, b"", 1, &at), Err(OAuthError::Unavailable { .. })));
    assert!(matches!(registered(201, b"{}", 1, &at), Err(OAuthError::RegistrationRefused { .. })));
}
