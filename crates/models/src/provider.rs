//! Who is asked, and with which credential. A provider is data; the table is `providers.toml`.

use crate::secret::Secret;
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

    pub(crate) fn endpoint(&self) -> String {
        format!("{}{}", self.base_url.trim().trim_end_matches('/'), self.path)
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
        assert_eq!(anthropic.endpoint(), "https://api.anthropic.com/v1/messages");
        assert_eq!(anthropic.headers["anthropic-version"], "2023-06-01");
        assert_eq!(Provider::named("nobody"), None);
    }

    #[test]
    fn a_base_url_may_have_a_path_and_a_slash() {
        let provider = Provider::named("anthropic").expect("the built-in provider");
        for base in ["http://127.0.0.1:8080/proxy", "http://127.0.0.1:8080/proxy/", " http://127.0.0.1:8080/proxy// "] {
            assert_eq!(provider.clone().at(base).endpoint(), "http://127.0.0.1:8080/proxy/v1/messages");
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
