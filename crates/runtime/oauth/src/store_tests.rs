use super::*;
use crate::metadata::ClientAuth;
use crate::registration::ClientOrigin;
use crate::secret_text::SecretText;
use std::os::unix::fs::symlink;

const SERVER: &str = "https://s.example/mcp";

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn record() -> LoginRecord {
    let client = Client {
        issuer: "https://auth.example".into(),
        id: "id".into(),
        secret: Some(SecretText::new("hidden-secret")),
        auth: ClientAuth::ClientSecretBasic,
        origin: ClientOrigin::Registered,
        port: Some(4711),
    };
    let endpoint = url("https://auth.example/token");
    let mut record = LoginRecord::new(&url(SERVER), SERVER.into(), &endpoint, client);
    record.requested = Scopes::parse("a b");
    record.tokens = Some(Tokens {
        access: SecretText::new("hidden-access"),
        refresh: Some(SecretText::new("hidden-refresh")),
        issued_at: 1,
        expires_at: Some(5),
        granted: None,
    });
    record
}

fn place() -> (tempfile::TempDir, LoginStore) {
    let home = tempfile::tempdir().unwrap();
    let store = LoginStore::new(home.path().join("oauth"));
    (home, store)
}

async fn written(store: &LoginStore) -> PathBuf {
    let lock = store.lock(&url(SERVER), Duration::from_secs(5)).await.unwrap();
    lock.write(&record()).unwrap();
    store.path(&url(SERVER))
}

#[tokio::test]
async fn a_login_is_read_as_it_was_written() {
    let (_home, store) = place();
    assert_eq!(store.read(&url(SERVER)), Ok(None));
    written(&store).await;
    assert_eq!(store.read(&url(SERVER)), Ok(Some(record())));
    // The same server, spelled differently; and other ones.
    assert_eq!(store.read(&url("https://S.example:443/mcp#x")), Ok(Some(record())));
    for other in ["https://s.example/", "https://s.example/mcp2", "http://s.example/mcp"] {
        assert_eq!(store.read(&url(other)), Ok(None), "{other}");
    }
    let lock = store.lock(&url(SERVER), Duration::from_secs(5)).await.unwrap();
    lock.remove().unwrap();
    assert_eq!(store.read(&url(SERVER)), Ok(None));
    lock.remove().unwrap();
}

#[tokio::test]
async fn files_are_private_and_others_are_refused() {
    let (_home, store) = place();
    let path = written(&store).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = store.read(&url(SERVER)).unwrap_err().to_string();
    assert!(refused.contains("not private"), "{refused}");
    let elsewhere = path.with_extension("elsewhere");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert!(matches!(store.read(&url(SERVER)), Err(OAuthError::Store { .. })));
}

#[tokio::test]
async fn a_login_is_bound_to_its_server_and_issuer() {
    let (_home, store) = place();
    let path = written(&store).await;
    let good = fs::read_to_string(&path).unwrap();
    let changes = [
        ("https://s.example/mcp\"", "https://evil.example/mcp\""),
        (
            "\"issuer\": \"https://auth.example\",\n  \"token",
            "\"issuer\": \"https://evil.example\",\n  \"token",
        ),
        ("\"version\": 1", "\"version\": 2"),
        ("{", "["),
    ];
    for (from, to) in changes {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        fs::write(&path, bad).unwrap();
        let read = store.read(&url(SERVER));
        assert!(matches!(read, Err(OAuthError::Store { .. })), "{to}: {read:?}");
    }
    // The file of another server under this server's name.
    fs::write(&path, good).unwrap();
    fs::rename(&path, store.path(&url("https://evil.example/mcp"))).unwrap();
    assert!(store.read(&url("https://evil.example/mcp")).is_err());
}

#[tokio::test]
async fn a_lock_keeps_others_out_and_ends_with_its_holder() {
    let (_home, store) = place();
    let held = store.lock(&url(SERVER), Duration::ZERO).await.unwrap();
    let other = store.lock(&url(SERVER), Duration::ZERO).await;
    assert!(matches!(other, Err(OAuthError::Store { .. })));
    // Another server is another lock.
    store.lock(&url("https://t.example/mcp"), Duration::ZERO).await.unwrap();
    drop(held);
    store.lock(&url(SERVER), Duration::ZERO).await.unwrap();
}

#[test]
fn no_debug_output_shows_a_secret() {
    let text = format!("{:?}", record());
    assert!(!text.contains("hidden"), "{text}");
}
