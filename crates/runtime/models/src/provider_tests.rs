use super::*;
use serde_json::json;

#[test]
fn the_table_is_read_whole() {
    let table: Table = toml::from_str(include_str!("providers.toml")).expect("providers.toml");
    assert_eq!(table, *TABLE);
    for (name, provider) in &table.provider {
        assert!(crate::protocol::named(&provider.protocol).is_some(), "{name}");
        assert!(provider.base().is_ok() && !provider.title.is_empty(), "{name}");
    }
    let anthropic = Provider::named("anthropic").expect("the built-in provider");
    assert_eq!(anthropic, Provider::default());
    assert_eq!(Provider::named("nobody"), None);
}

#[test]
fn a_base_url_may_have_a_path_and_a_slash() {
    for base in [
        "http://127.0.0.1:8080/proxy",
        "http://127.0.0.1:8080/proxy/",
        " http://127.0.0.1:8080/proxy// ",
    ] {
        let base = Provider::default().at(base).base().expect("a URL");
        let url = |path| String::from(url_of(&base, path));
        assert_eq!(url("/v1/messages"), "http://127.0.0.1:8080/proxy/v1/messages");
        assert_eq!(url("/say?alt=lines"), "http://127.0.0.1:8080/proxy/say?alt=lines");
    }
}

#[test]
fn a_secret_is_not_shown() {
    let secret = Secret::new("sk-very-secret\n");
    let credentials = Credentials { kind: CredentialKind::ApiKey, label: "THE_KEY".into(), secret };
    let shown = format!("{credentials:?} {:?}", credentials.secret);
    assert!(!shown.contains("very"), "{shown}");
    assert!(shown.contains("THE_KEY"));
    assert_eq!(credentials.secret.expose(), "sk-very-secret");
    assert_eq!(credentials.secret.hide_in("bad key sk-very-secret!"), "bad key [secret]!");
    assert_eq!(Secret::new("a").hide_in("a bad key"), "a bad key");
}

#[test]
fn credentials_come_from_the_variables_that_an_entry_names() {
    let found = |provider: &Provider, set: &[&str]| {
        let variable = |name: &str| set.contains(&name).then(|| format!("value of {name}"));
        provider.credentials(variable).map(|found| (found.kind, found.label))
    };
    let built_in = Provider::default();
    let (key, token) = (&*built_in.api_key_env[0], &*built_in.token_env[0]);
    let api_key = Some((CredentialKind::ApiKey, key.to_owned()));
    assert_eq!(found(&built_in, &[key, token]), api_key, "a key goes before a token");
    assert_eq!(found(&built_in, &[token]), Some((CredentialKind::Bearer, token.to_owned())));
    assert_eq!(found(&built_in, &["OTHER"]), None);
    let open = Provider { api_key_env: Vec::new(), token_env: Vec::new(), ..built_in };
    assert_eq!(found(&open, &[]), Some((CredentialKind::None, "none".to_owned())));
}

#[test]
fn a_provider_of_the_settings() {
    let entry = json!({
        "protocol": "anthropic_messages", "baseUrl": "http://127.0.0.1:8080/llm", "apiKeyEnv": "LOCAL_KEY",
        "headers": {"X-Team": "blue"}, "lacks": ["thinking"],
        "models": [{"prefix": "qwen3", "window": 32768, "maxOutput": 4096}],
    });
    let local = Provider::from_settings("local", &entry).expect("a provider");
    assert_eq!(
        (local.prefix.as_str(), local.api_key_env.as_slice()),
        ("local", &["LOCAL_KEY".to_owned()][..])
    );
    assert_eq!(local.headers["X-Team"], "blue", "names of headers stay as they are");
    let name = |model: &str| local.wire_name(&ModelId::new(model)).to_owned();
    assert_eq!(name("local/qwen3"), "qwen3");
    assert_eq!(name("local/org/qwen3"), "org/qwen3");
    assert_eq!(name("localhost/x"), "localhost/x");
    assert_eq!(local.family("qwen3-coder").info().window, 32_768);
    assert_eq!(local.family("other").info().window, 200_000, "the built-in table knows the rest");
}

#[test]
fn mistakes_in_an_entry_are_named() {
    let good = json!({"protocol": "p", "base_url": "http://h"});
    assert!(Provider::from_settings("a-1.b_c", &good).is_ok());
    for (name, entry, words) in [
        ("a/b", good.clone(), "its name must consist of"),
        ("", good, "its name must consist of"),
        ("a", json!({"protocol": "p"}), "base_url"),
        ("a", json!({"protocol": "p", "baseUrl": "h"}), "cannot be read as a URL"),
        ("a", json!({"protocol": "p", "base_url": "http://h", "basurl": 1}), "basurl"),
        (
            "a",
            json!({"protocol": "p", "base_url": "http://h", "models": [{"prefix": "x"}]}),
            "window",
        ),
        ("a", json!("http://h"), "invalid type"),
    ] {
        let error = Provider::from_settings(name, &entry).expect_err("an error");
        assert!(error.contains(words), "{name} {entry}: {error}");
    }
}
