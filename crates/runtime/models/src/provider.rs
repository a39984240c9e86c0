//! Who is asked, and with which credential. A provider is data; the table is `providers.toml`.

use crate::secret::Secret;
use crate::settings::SetupError;
use reqwest::Url;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static TABLE: LazyLock<BTreeMap<String, Provider>> =
    LazyLock::new(|| toml::from_str(include_str!("providers.toml")).unwrap_or_default());

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub protocol: Protocol,
    pub base_url: String,
    pub path: String,
    pub api_key_header: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    AnthropicMessages,
}

impl Provider {
    /// A provider of the built-in table.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.get(name).cloned()
    }

    /// The same provider at another address, such as a gateway or the scripted server.
    #[must_use]
    pub fn at(self, base_url: impl Into<String>) -> Self {
        Provider { base_url: base_url.into(), ..self }
    }

    /// Where requests go: the base URL, which may have a path of its own, and the provider's path.
    pub(crate) fn endpoint(&self) -> Result<Url, SetupError> {
        let bad = |why: &'static str| SetupError::BaseUrl { why };
        let mut url =
            Url::parse(self.base_url.trim()).map_err(|_| bad("it cannot be read as a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("it must not hold a user name or password"));
        }
        let path = format!("{}{}", url.path().trim_end_matches('/'), self.path);
        url.set_path(&path);
        url.set_query(None);
        url.set_fragment(None);
        Ok(url)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// Goes into the provider's own header.
    ApiKey,
    /// Goes into `authorization: Bearer`.
    Bearer,
}

#[derive(Clone, Debug)]
pub struct Credentials {
    pub kind: CredentialKind,
    /// Where it came from, e.g. the name of a variable. It is shown when the provider refuses it.
    pub label: String,
    pub secret: Secret,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_whole() {
        let table: BTreeMap<String, Provider> =
            toml::from_str(include_str!("providers.toml")).expect("providers.toml");
        assert_eq!(table, *TABLE);
        let anthropic = Provider::named("anthropic").expect("the built-in provider");
        assert_eq!(
            anthropic.endpoint().map(String::from),
            Ok("https://api.anthropic.com/v1/messages".into())
        );
        assert_eq!(anthropic.headers["anthropic-version"], "2023-06-01");
        assert_eq!(Provider::named("nobody"), None);
    }

    #[test]
    fn a_base_url_may_have_a_path_and_a_slash() {
        let provider = Provider::named("anthropic").expect("the built-in provider");
        for base in [
            "http://127.0.0.1:8080/proxy",
            "http://127.0.0.1:8080/proxy/",
            " http://127.0.0.1:8080/proxy// ",
        ] {
            let endpoint = provider.clone().at(base).endpoint().map(String::from);
            assert_eq!(endpoint, Ok("http://127.0.0.1:8080/proxy/v1/messages".into()));
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("sk-very-secret\n");
        let credentials =
            Credentials { kind: CredentialKind::ApiKey, label: "ANTHROPIC_API_KEY".into(), secret };
        let shown = format!("{credentials:?} {:?}", credentials.secret);
        assert!(!shown.contains("very"), "{shown}");
        assert!(shown.contains("ANTHROPIC_API_KEY"));
        assert_eq!(credentials.secret.expose(), "sk-very-secret");
        assert_eq!(credentials.secret.hide_in("bad key sk-very-secret!"), "bad key [secret]!");
        assert_eq!(Secret::new("a").hide_in("a bad key"), "a bad key");
    }
}
