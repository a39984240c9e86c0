//! What a process needs once, however many sessions it has.

use crate::error::Error;
use crate::host_options::HostOptions;
use crate::init::Init;
use crate::log_choice;
use crate::plain_threads::CHORES;
use crate::session::Session;
use crate::session_options::SessionOptions;
use crate::system::{SystemClock, jitter};
use crate::{assembly, spending};
use ostler_core::ports::Authorizer;
use ostler_engine::SyncPool;
use ostler_exec::Executor;
use ostler_ledger::SharedLedger;
use ostler_mcp::{Connections, HttpAccess};
use ostler_models::{Credentials, HttpModel, Network, Provider, Providers};
use ostler_store::FaultPlan;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Directories that are remembered as cleaned; further ones are left alone.
const MOST_CLEANED: usize = 10_000;

/// One supervisor for all commands, one client for each provider, one writer of the ledger, a few threads that wait for
/// disks. Cloning copies a pointer.
#[derive(Clone)]
pub struct Host {
    parts: Arc<HostParts>,
}

struct HostParts {
    options: HostOptions,
    executor: Executor,
    model: Arc<Providers>,
    ledger: Option<SharedLedger>,
    syncs: SyncPool,
    /// MCP servers, which sessions share.
    mcp: Connections,
    /// Of everything that is written in crash tests.
    fault: Option<Arc<FaultPlan>>,
    /// Looking for the layers of the sandbox has begun.
    probing: Arc<AtomicBool>,
    /// Directories in which leftovers of dead processes were looked for.
    cleaned: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Host {
    /// Starts nothing: what is needed starts with its first use.
    ///
    /// # Errors
    /// If a provider or the network cannot be used as the options say.
    pub fn open(init: &Init, options: HostOptions) -> Result<Self, Error> {
        let model = Arc::new(providers(&options)?);
        let ledger = options.home.as_deref().map(spending::shared_ledger);
        let (executor, syncs) = (Executor::new(init.supervisor.clone()), SyncPool::default());
        let (probing, cleaned) = Default::default();
        let manifests = options.home.as_ref().map(|home| home.join("mcp").join("manifests"));
        let mcp = Connections::new(executor.clone(), manifests, http_access(&options));
        let fault = options.fault.map(|fault| Arc::new(FaultPlan::new(fault)));
        let parts =
            HostParts { options, executor, model, ledger, syncs, mcp, fault, probing, cleaned };
        Ok(Host { parts: Arc::new(parts) })
    }

    /// Opens a session.
    ///
    /// # Errors
    /// If the options cannot be used, or the session cannot be had.
    pub fn session(&self, options: SessionOptions) -> Result<Session, Error> {
        assembly::session(self, options, log_choice::open)
    }

    pub fn options(&self) -> &HostOptions {
        &self.parts.options
    }

    /// Ends all commands of all sessions, and the supervisor. No session runs a command after this.
    pub async fn close(&self) {
        // If the supervisor does not answer, its socket closes with us, and it ends everything by itself.
        let _ = self.parts.executor.shutdown().await;
    }

    /// The same with another home, for something that leaves no trace.
    pub(crate) fn at_home(&self, home: &Path) -> Self {
        let HostParts { options, executor, model, syncs, mcp, probing, cleaned, .. } = &*self.parts;
        let options = HostOptions { home: Some(home.to_owned()), ..options.clone() };
        let (executor, model, syncs) = (executor.clone(), model.clone(), syncs.clone());
        let (ledger, fault, mcp) = (None, self.fault(), mcp.clone());
        let (probing, cleaned) = (probing.clone(), cleaned.clone());
        let parts =
            HostParts { options, executor, model, ledger, syncs, mcp, fault, probing, cleaned };
        Host { parts: Arc::new(parts) }
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.parts.options.home.as_deref()
    }

    pub(crate) fn fault(&self) -> Option<Arc<FaultPlan>> {
        self.parts.fault.clone()
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.parts.executor
    }

    pub(crate) fn mcp(&self) -> &Connections {
        &self.parts.mcp
    }

    pub(crate) fn model(&self) -> &Arc<Providers> {
        &self.parts.model
    }

    pub(crate) fn ledger(&self) -> Option<&SharedLedger> {
        self.parts.ledger.as_ref()
    }

    pub(crate) fn syncs(&self) -> SyncPool {
        self.parts.syncs.clone()
    }

    pub(crate) fn probing(&self) -> Arc<AtomicBool> {
        self.parts.probing.clone()
    }

    /// Removes what killed processes left in these directories, once for each. It is in nobody's way, so nobody waits.
    pub(crate) fn remove_leftovers(&self, roots: &[PathBuf]) {
        let mut cleaned = self.parts.cleaned.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_CLEANED.saturating_sub(cleaned.len());
        let new = roots.iter().take(room).filter(|root| cleaned.insert((*root).clone()));
        let new: Vec<PathBuf> = new.cloned().collect();
        if !new.is_empty() {
            CHORES.run(move || {
                ostler_tools::workspace::remove_leftovers(&new);
            });
        }
    }

    pub(crate) fn network(&self) -> Network {
        network(&self.parts.options)
    }
}

fn network(options: &HostOptions) -> Network {
    Network { proxies: options.proxies.clone(), ca_file: options.ca_file.clone() }
}

/// Servers are reached as models are: the same proxies and certificates.
fn http_access(options: &HostOptions) -> HttpAccess {
    let network = network(options);
    let own = options.home.as_deref().map(|home| crate::mcp::logins(home, network.clone()));
    let own = own.map(|logins| Arc::new(logins) as Arc<dyn Authorizer>);
    let stack = Arc::new(move |url: &str| network.client_for(url));
    HttpAccess { stack, authorizer: options.authorizer.clone().or(own) }
}

fn providers(options: &HostOptions) -> Result<Providers, Error> {
    let default = match &options.base_url {
        Some(url) => Provider::default().at(url.as_str()),
        None => Provider::default(),
    };
    let default = http_model(options, default, &options.credentials).map_err(Error::Model)?;
    let mut all = Providers::new(default);
    for (provider, credentials) in &options.providers {
        let name = provider.prefix.clone();
        let model = http_model(options, provider.clone(), credentials)
            .map_err(|why| Error::Model(format!("provider {name}: {why}")))?;
        all = all.with(name, model);
    }
    Ok(all)
}

fn http_model(
    options: &HostOptions,
    provider: Provider,
    credentials: &Credentials,
) -> Result<HttpModel, String> {
    let mut settings = ostler_models::ModelSettings::new(provider, credentials.clone());
    settings.protocols.clone_from(&options.protocols);
    settings.proxies = options.proxies.clone();
    settings.ca_file = options.ca_file.clone();
    settings.deadlines = options.deadlines;
    if let Some(wait) = options.retry_wait {
        settings.retry.base = wait;
    }
    settings.effort = options.effort;
    settings.extras = options.extras.clone();
    settings.prices = options.prices.clone();
    settings.jitter = Arc::new(jitter);
    settings.clock = Some(Arc::new(SystemClock));
    HttpModel::new(settings).map_err(|error| error.to_string())
}
