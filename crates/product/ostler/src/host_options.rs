//! What all sessions of a process share.

use crate::calendar::Calendar;
use ostler_core::ports::Authorizer;
use ostler_ledger::SharedLimits as Budgets;
use ostler_models::protocol::Protocol;
use ostler_models::{
    CaFile, Credentials, Deadlines, Effort, PriceBook, Provider, ProxySettings, RequestExtras,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Each field has a sensible default except the credential.
#[derive(Clone)]
pub struct HostOptions {
    /// Where sessions and blobs live; none keeps them in memory.
    pub home: Option<PathBuf>,
    /// The person's home directory, for rules that begin with `~/`.
    pub user_home: PathBuf,
    pub credentials: Credentials,
    pub base_url: Option<String>,
    /// Providers besides the default one, which `credentials` and `base_url` are for. Their models are called
    /// `name/model`.
    pub providers: Vec<(Provider, Credentials)>,
    /// Wire protocols of the calling program, for providers that name them.
    pub protocols: Vec<Arc<dyn Protocol>>,
    pub proxies: ProxySettings,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<CaFile>,
    pub deadlines: Deadlines,
    /// The first wait before a failed request is repeated; later ones double.
    pub retry_wait: Option<Duration>,
    /// Sent to the models that know it.
    pub effort: Option<Effort>,
    /// Sent with every request where the protocol has a place for it.
    pub extras: RequestExtras,
    /// Prices that count before the built-in ones.
    pub prices: PriceBook,
    /// Sums that all sessions of this home share.
    pub budgets: Budgets,
    /// Which day it is.
    pub calendar: Calendar,
    /// Where vectors come from instead of the installed model.
    pub embeddings: Option<crate::memory::EmbeddingEndpoint>,
    /// Who authorizes requests to MCP servers on the network; none: the logins of the home.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    /// Stops the process at a chosen write of a log: for crash tests only.
    pub fault: Option<ostler_store::Fault>,
}

impl HostOptions {
    pub fn new(credentials: Credentials) -> Self {
        HostOptions {
            home: None,
            user_home: PathBuf::new(),
            credentials,
            base_url: None,
            providers: Vec::new(),
            protocols: Vec::new(),
            proxies: ProxySettings::default(),
            ca_file: None,
            deadlines: Deadlines::default(),
            retry_wait: None,
            effort: None,
            extras: RequestExtras::default(),
            prices: PriceBook::default(),
            budgets: Budgets::default(),
            calendar: Calendar::default(),
            embeddings: None,
            authorizer: None,
            fault: None,
        }
    }
}
