//! All that is told to a model from outside, and what can be wrong with it. Nothing is read from the environment.

use crate::capabilities::{CacheSetting, Effort, RequestExtras};
use crate::deadline::Deadlines;
use crate::prices::PriceBook;
use crate::protocol::Protocol;
use crate::provider::{Credentials, Provider};
use crate::proxy::ProxySettings;
use crate::retry::RetryPolicy;
use ostler_core::time::Clock;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// A number between 0 and 1, different each time; tests hand in a fixed one.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

#[derive(Clone)]
pub struct ModelSettings {
    pub provider: Provider,
    pub credentials: Credentials,
    pub deadlines: Deadlines,
    pub retry: RetryPolicy,
    pub proxies: ProxySettings,
    pub ca_file: Option<CaFile>,
    pub cache: CacheSetting,
    /// Sent to the models that know it.
    pub effort: Option<Effort>,
    pub extras: RequestExtras,
    pub jitter: Jitter,
    /// For dates in answers whose sender does not say what the time is; without it they are ignored.
    pub clock: Option<Arc<dyn Clock>>,
    /// Prices that count before the built-in ones.
    pub prices: PriceBook,
    pub user_agent: String,
    /// Protocols besides the built-in ones, for providers that name them.
    pub protocols: Vec<Arc<dyn Protocol>>,
}

/// Certificates trusted besides the system's own.
#[derive(Clone)]
pub struct CaFile {
    /// Where they came from, for error texts.
    pub label: String,
    pub pem: Vec<u8>,
}

impl ModelSettings {
    pub fn new(provider: Provider, credentials: Credentials) -> Self {
        ModelSettings {
            provider,
            credentials,
            deadlines: Deadlines::default(),
            retry: RetryPolicy::default(),
            proxies: ProxySettings::default(),
            ca_file: None,
            cache: CacheSetting::default(),
            effort: None,
            extras: RequestExtras::default(),
            jitter: Arc::new(|| 0.0),
            clock: None,
            prices: PriceBook::default(),
            user_agent: concat!("ostler/", env!("CARGO_PKG_VERSION")).into(),
            protocols: Vec::new(),
        }
    }
}

impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("provider", &self.provider)
            .field("credentials", &self.credentials)
            .field("deadlines", &self.deadlines)
            .field("retry", &self.retry)
            .field("cache", &self.cache)
            .field("effort", &self.effort)
            .finish_non_exhaustive()
    }
}

/// The settings cannot work. Values are not shown: a URL may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelSetupError {
    #[error("the provider's base URL cannot be used: {why}")]
    BaseUrl { why: &'static str },
    #[error("the protocol `{name}` of the provider is not known")]
    Protocol { name: String },
    #[error("the protocol of the provider has no feature `{name}`; it knows {known}")]
    Feature { name: String, known: String },
    #[error("the proxy's URL cannot be used: {why}")]
    Proxy { why: &'static str },
    #[error(
        "the credential from {label} contains characters that cannot be sent; check that it was copied completely"
    )]
    Credential { label: String },
    #[error("the header `{name}` of the provider cannot be sent")]
    Header { name: String },
    #[error("{label} contains no readable certificates; it must be a PEM file")]
    Certificates { label: String },
}
