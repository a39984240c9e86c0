//! Who is asked, and with which credential. A provider is data: an entry of `providers.toml`, or of a person's settings.

use crate::catalog::{self, Family};
use crate::secret::Secret;
use crate::settings::ModelSetupError;
use ostler_core::ids::ModelId;
use reqwest::Url;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("providers.toml")).unwrap_or_default());

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Who is asked when a model's name does not say.
    default: String,
    provider: BTreeMap<String, Provider>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Names of a person's own providers stand before their models, as in `local/qwen3`. Empty for built-in ones.
    #[serde(skip)]
    pub prefix: String,
    /// For texts.
    #[serde(default)]
    pub title: String,
    /// The name of a wire protocol.
    pub protocol: String,
    pub base_url: String,
    /// Where an API key goes; without it, and for a token, into `authorization: Bearer`.
    #[serde(default)]
    pub api_key_header: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Variables that hold an API key, and those that hold a bearer token. Where none is named, none is needed.
    #[serde(default, deserialize_with = "one_or_many")]
    pub api_key_env: Vec<String>,
    #[serde(default, deserialize_with = "one_or_many")]
    pub token_env: Vec<String>,
    /// Variables that replace the base URL and choose the model.
    #[serde(default)]
    pub base_url_env: Option<String>,
    #[serde(default)]
    pub model_env: Option<String>,
    /// What a key looks like.
    #[serde(default)]
    pub key_example: Option<String>,
    /// Features of the protocol that it does not know.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Its models can search the web on their own side.
    #[serde(default)]
    pub web_search: bool,
    /// What is known of its models, before the built-in table.
    #[serde(default)]
    pub models: Vec<Family>,
}

impl Default for Provider {
    /// Who is asked when a model's name does not say.
    fn default() -> Self {
        TABLE.provider.get(&TABLE.default).cloned().unwrap_or_else(|| Provider {
            prefix: String::new(),
            title: String::new(),
            protocol: String::new(),
            base_url: String::new(),
            api_key_header: None,
            headers: BTreeMap::new(),
            api_key_env: Vec::new(),
            token_env: Vec::new(),
            base_url_env: None,
            model_env: None,
            key_example: None,
            lacks: Vec::new(),
            web_search: false,
            models: Vec::new(),
        })
    }
}

impl Provider {
    /// A provider of the built-in table.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.provider.get(name).cloned()
    }

    /// A person's own provider, as settings describe it. Keys may be written in `camelCase`, too.
    ///
    /// # Errors
    /// What is wrong with the entry.
    pub fn from_settings(name: &str, entry: &Value) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(fits) {
            return Err("its name must consist of letters, digits, `-`, `_` and `.`".into());
        }
        let mut entry = snake_keys(entry);
        if let Some(Value::Array(models)) = entry.get_mut("models") {
            for model in models {
                *model = snake_keys(model);
            }
        }
        let provider: Provider =
            serde_json::from_value(entry).map_err(|error| error.to_string())?;
        provider.base().map_err(|error| error.to_string())?;
        Ok(Provider { prefix: name.to_owned(), ..provider })
    }

    /// The same provider at another address, such as a gateway or the scripted server.
    #[must_use]
    pub fn at(self, base_url: impl Into<String>) -> Self {
        // What another server offers is not known.
        Provider { base_url: base_url.into(), web_search: false, ..self }
    }

    /// The first credential that its variables hold. Some without a secret where it needs none.
    pub fn credentials(&self, variable: impl Fn(&str) -> Option<String>) -> Option<Credentials> {
        let of = |kind, names: &[String]| {
            let found = |name: &String| Some((name.clone(), variable(name)?));
            let (label, value) = names.iter().find_map(found)?;
            Some(Credentials { kind, label, secret: Secret::new(value) })
        };
        if self.api_key_env.is_empty() && self.token_env.is_empty() {
            return Some(Credentials::none());
        }
        of(CredentialKind::ApiKey, &self.api_key_env)
            .or_else(|| of(CredentialKind::Bearer, &self.token_env))
    }

    /// The variables that may hold its credential, the usual one first.
    pub fn credential_names(&self) -> Vec<&str> {
        self.api_key_env.iter().chain(&self.token_env).map(String::as_str).collect()
    }

    /// The model's name as the provider knows it.
    pub fn wire_name<'a>(&self, model: &'a ModelId) -> &'a str {
        let name = model.as_str();
        match self.prefix.as_str() {
            "" => name,
            prefix => {
                name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
            }
        }
    }

    pub(crate) fn family(&self, name: &str) -> &Family {
        catalog::best(&self.models, name).unwrap_or_else(|| catalog::family(name))
    }

    /// What `name` means on the wire. `claude-opus-5-fast` is `claude-opus-5` in its fast mode, unless the provider knows
    /// nothing of such a mode: others sell it as a model of that name.
    pub(crate) fn variant<'a>(&self, name: &'a str) -> Variant<'_, 'a> {
        if let Some(base) = name.strip_suffix(FAST)
            && let Some(factor) = self.fast_factor(base)
        {
            return Variant { family: self.family(base), name: base, fast: Some(factor) };
        }
        Variant { family: self.family(name), name, fast: None }
    }

    /// The built-in table speaks of the default provider only.
    fn fast_factor(&self, name: &str) -> Option<f64> {
        match catalog::best(&self.models, name) {
            Some(own) => own.fast,
            None if self.prefix.is_empty() => catalog::family(name).fast,
            None => None,
        }
    }

    /// The name of a model's fast mode; none if it has none.
    pub fn fast_mode(&self, model: &ModelId) -> Option<ModelId> {
        let name = self.wire_name(model);
        if self.variant(name).fast.is_some() {
            return Some(model.clone());
        }
        self.fast_factor(name)?;
        Some(ModelId::new(format!("{model}{FAST}")))
    }

    /// The base URL, which may have a path of its own.
    pub(crate) fn base(&self) -> Result<Url, ModelSetupError> {
        let bad = |why: &'static str| ModelSetupError::BaseUrl { why };
        let mut url =
            Url::parse(self.base_url.trim()).map_err(|_| bad("it cannot be read as a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("it must not contain a user name or password"));
        }
        url.set_query(None);
        url.set_fragment(None);
        Ok(url)
    }
}

/// What follows the name of a model in its fast mode.
const FAST: &str = "-fast";

/// A model as the provider knows it.
pub(crate) struct Variant<'p, 'n> {
    pub family: &'p Family,
    pub name: &'n str,
    /// In its fast mode, by how much it costs more.
    pub fast: Option<f64>,
}

/// Where a request goes. The path may have a query of its own.
pub(crate) fn url_of(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let (path, query) =
        path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let path = format!("{}{path}", base.path().trim_end_matches('/'));
    url.set_path(&path);
    url.set_query(query);
    url
}

/// `baseUrl` → `base_url`. Only of this object: what is in it may have names of its own.
fn snake_keys(value: &Value) -> Value {
    let snake = |key: &String| {
        let mut name = String::new();
        for c in key.chars() {
            if c.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(c.to_ascii_lowercase());
        }
        name
    };
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (snake(key), value.clone())).collect()
        }
        other => other.clone(),
    }
}

fn one_or_many<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Names::deserialize(input)? {
        Names::One(name) => vec![name],
        Names::Many(names) => names,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// Goes into the provider's own header.
    ApiKey,
    /// Goes into `authorization: Bearer`.
    Bearer,
    /// Nothing is sent.
    None,
}

#[derive(Clone, Debug)]
pub struct Credentials {
    pub kind: CredentialKind,
    /// Where it came from, e.g. the name of a variable. It is shown when the provider refuses it.
    pub label: String,
    pub secret: Secret,
}

impl Credentials {
    pub fn none() -> Self {
        Credentials { kind: CredentialKind::None, label: "none".into(), secret: Secret::new("") }
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
