//! How a connection begins: servers of the 2025 revisions are greeted with `initialize`, later ones are discovered.

use crate::configuration::{ServerConfig, ServerTransport};
use crate::manifest::Manifest;
use rmcp::model::ProtocolVersion;
use rmcp::service::ClientLifecycleMode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The first revision without `initialize`.
const DISCOVERED: &str = "2026-07-28";
/// How long a program may take to answer `server/discover` before it is taken for an older one.
const PROBE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub(crate) enum Greeting {
    /// The server is known to be of an older revision, or its transport is.
    Initialize,
    Probe(Probe),
}

/// An attempt to discover a server.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// None: as long as the protocol's code waits.
    pub(crate) limit: Option<Duration>,
    silent: Arc<AtomicBool>,
}

impl Probe {
    fn new(limit: Option<Duration>) -> Self {
        Probe { limit, silent: Arc::default() }
    }

    /// The server did not answer in time.
    pub(crate) fn was_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }
}

impl Greeting {
    /// What is remembered about a server spares it the probe.
    pub(crate) fn of(config: &ServerConfig, known: Option<&Manifest>) -> Self {
        let is_legacy = |it: &Manifest| !it.protocol.is_empty() && *it.protocol < *DISCOVERED;
        match &config.transport {
            ServerTransport::Sse { .. } => Greeting::Initialize,
            _ if known.is_some_and(is_legacy) => Greeting::Initialize,
            ServerTransport::Http { .. } => Greeting::Probe(Probe::new(None)),
            _ => Greeting::Probe(Probe::new(Some(PROBE))),
        }
    }

    /// After the server ended in answer to the greeting. Some older programs end when they are not greeted with
    /// `initialize`.
    pub(crate) fn after_end(&self, config: &ServerConfig) -> Option<Self> {
        let is_program = matches!(config.transport, ServerTransport::Stdio { .. });
        (is_program && matches!(self, Greeting::Probe(_))).then_some(Greeting::Initialize)
    }

    /// After the server refused the greeting: it is newer than it was, or took its time.
    pub(crate) fn after_refusal(&self, config: &ServerConfig) -> Option<Self> {
        let is_old = matches!(config.transport, ServerTransport::Sse { .. });
        let again = match self {
            Greeting::Initialize => !is_old,
            Greeting::Probe(probe) => probe.silent.load(Ordering::SeqCst),
        };
        again.then(|| Greeting::Probe(Probe::new(None)))
    }

    pub(crate) fn probe(&self) -> Option<&Probe> {
        match self {
            Greeting::Probe(probe) => Some(probe),
            Greeting::Initialize => None,
        }
    }

    pub(crate) fn lifecycle(&self) -> ClientLifecycleMode {
        match self {
            Greeting::Initialize => ClientLifecycleMode::Initialize,
            Greeting::Probe(_) => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        }
    }
}
