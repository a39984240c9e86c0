use super::*;
use crate::protocol::anthropic_messages::AnthropicMessages;
use crate::provider::{Credentials, Provider};
use crate::secret::Secret;
use http_body::Body as _;

fn settings(base_url: &str) -> ModelSettings {
    let credentials = Credentials {
        kind: CredentialKind::ApiKey,
        label: "THE_KEY".into(),
        secret: Secret::new("sk-very-secret"),
    };
    ModelSettings::new(Provider::default().at(base_url), credentials)
}

fn transport(settings: &ModelSettings) -> Result<Transport, ModelSetupError> {
    Transport::new(settings, &AnthropicMessages)
}

fn refused(settings: &ModelSettings) -> ModelSetupError {
    transport(settings).err().expect("an error")
}

#[test]
fn settings_that_cannot_work_are_refused_at_once() {
    for base in ["", "api.test", "ftp://api.test", "http://", "http://user:pw@api.test"] {
        let error = refused(&settings(base));
        assert!(matches!(error, ModelSetupError::BaseUrl { .. }), "{base}: {error}");
        assert!(!error.to_string().contains("pw"));
    }
    let mut bad_key = settings("https://api.test");
    bad_key.credentials.secret = Secret::new("sk-\u{7}bell");
    assert_eq!(
        refused(&bad_key).to_string(),
        "the credential from THE_KEY contains characters that cannot be sent; check that it was copied completely"
    );
    for proxy in ["socks5://proxy:1", "http://", "::::"] {
        let mut bad_proxy = settings("https://api.test");
        bad_proxy.proxies.https = Some(proxy.into());
        assert!(matches!(refused(&bad_proxy), ModelSetupError::Proxy { .. }), "{proxy}");
    }
    let mut bad_roots = settings("https://api.test");
    bad_roots.ca_file = Some(crate::CaFile { label: "roots.pem".into(), pem: b"nothing".to_vec() });
    assert_eq!(refused(&bad_roots), ModelSetupError::Certificates { label: "roots.pem".into() });
}

#[test]
fn credentials_go_into_their_header_and_nowhere_else() {
    let key = headers(&settings("https://api.test"), &AnthropicMessages).expect("headers");
    assert_eq!(key.get("x-api-key").and_then(|v| v.to_str().ok()), Some("sk-very-secret"));
    assert!(key.get("authorization").is_none());
    assert!(
        key.get("user-agent")
            .and_then(|v| v.to_str().ok())
            .is_some_and(|v| v.starts_with("ostler/"))
    );
    assert!(!format!("{key:?}").contains("very"), "headers are marked as sensitive");
    let mut bearer = settings("https://api.test");
    bearer.credentials.kind = CredentialKind::Bearer;
    let token = headers(&bearer, &AnthropicMessages).expect("headers");
    assert_eq!(
        token.get("authorization").and_then(|v| v.to_str().ok()),
        Some("Bearer sk-very-secret")
    );
    assert!(token.get("x-api-key").is_none());
    assert!(!format!("{bearer:?}").contains("very"));
}

#[test]
fn hosts_are_named_with_their_port() {
    let peer = |base: &str| transport(&settings(base)).expect("a transport").peer;
    assert_eq!(peer("https://api.test").host, "api.test");
    assert_eq!(peer("https://api.test").host_and_port, "api.test:443");
    assert_eq!(peer("http://[::1]:80/x").host_and_port, "[::1]:80");
    let mut through = settings("https://api.test");
    through.proxies.https = Some("user:pw@proxy.test:3128".into());
    assert_eq!(
        transport(&through).expect("a transport").peer.proxy.as_deref(),
        Some("proxy.test:3128")
    );
}

#[test]
fn plain_http_needs_no_certificates() {
    let tls = |base: &str, proxy: Option<&str>| {
        let mut settings = settings(base);
        settings.proxies.http = proxy.map(str::to_owned);
        transport(&settings).expect("a transport").tls
    };
    assert!(!tls("http://api.test", None) && !tls("http://api.test", Some("http://proxy:1")));
    assert!(tls("https://api.test", None) && tls("http://api.test", Some("https://proxy:1")));
}

fn frames(slices: &[usize]) -> Vec<usize> {
    let slices: Vec<Bytes> = slices.iter().map(|n| Bytes::from(vec![b'x'; *n])).collect();
    let length = slices.iter().map(|s| s.len() as u64).sum();
    let mut body = Slices::new(Body { slices, length });
    assert_eq!(body.size_hint().exact(), Some(length));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut sizes = Vec::new();
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut cx) {
        sizes.push(frame.into_data().expect("data").len());
    }
    assert!(body.is_end_stream() && body.size_hint().exact() == Some(0));
    assert_eq!(sizes.iter().sum::<usize>() as u64, length);
    sizes
}

#[test]
fn small_slices_travel_together_and_large_ones_alone() {
    assert_eq!(frames(&[]), [0usize; 0]);
    assert_eq!(frames(&[10]), [10]);
    assert_eq!(frames(&[10, 20, 30]), [60]);
    assert_eq!(frames(&[10, 100_000, 20, 30, 100_000]), [10, 100_000, 50, 100_000]);
    assert!(frames(&[4_000; 100]).iter().all(|n| *n <= GATHERED + SMALL));
}
