//! The servers of a process: sessions with equal configurations share one.

use crate::configuration::{ServerConfig, hex};
use crate::http_client::HttpAccess;
use crate::manifest_store::ManifestStore;
use crate::server::Server;
use ostler_exec::{Command, Executor};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Prepares the command of a server: its sandbox and its limits. In words, why it must not run.
pub type PrepareServer =
    Arc<dyn Fn(&ServerConfig, &mut Command) -> Result<(), String> + Send + Sync>;

/// How the program of a server is started.
#[derive(Clone)]
pub struct LaunchServer {
    /// The project's directory.
    pub cwd: PathBuf,
    /// Variables besides those of the configuration, already cut down to what programs may see.
    pub environment: Vec<(OsString, OsString)>,
    pub prepare: PrepareServer,
}

impl LaunchServer {
    /// What belongs to this key in this directory.
    pub(crate) fn project_key(&self, key: &str) -> String {
        let mut digest = Sha256::new();
        digest.update(key.as_bytes());
        digest.update(self.cwd.as_os_str().as_bytes());
        hex(&digest.finalize())
    }

    /// Programs of sessions that would start differently are different servers.
    fn key(&self, config: &ServerConfig) -> String {
        let mut digest = Sha256::new();
        digest.update(self.cwd.as_os_str().as_bytes());
        for (name, value) in &self.environment {
            digest.update(name.as_bytes());
            digest.update([0]);
            digest.update(value.as_bytes());
            digest.update([0]);
        }
        format!("{}-{}", config.key(), hex(&digest.finalize()))
    }
}

/// How servers are reached.
pub(crate) struct Ways {
    pub(crate) executor: Executor,
    pub(crate) http: HttpAccess,
}

/// Cloning copies a pointer.
#[derive(Clone)]
pub struct Connections {
    shared: Arc<ConnectionsShared>,
}

struct ConnectionsShared {
    executor: Executor,
    http: HttpAccess,
    store: Option<Arc<ManifestStore>>,
    servers: Mutex<HashMap<String, Weak<Server>>>,
}

impl Connections {
    /// Starts nothing. `folder` is where manifests are kept; without it they are forgotten.
    pub fn new(executor: Executor, folder: Option<PathBuf>, http: HttpAccess) -> Self {
        let store = folder.map(|folder| Arc::new(ManifestStore::new(folder)));
        let shared = ConnectionsShared { executor, http, store, servers: Mutex::default() };
        Connections { shared: Arc::new(shared) }
    }

    /// The server of this configuration; it starts with its first use.
    pub fn server(&self, config: &ServerConfig, launch: &LaunchServer) -> Arc<Server> {
        let key = launch.key(config);
        let mut servers = self.shared.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = servers.get(&key).and_then(Weak::upgrade) {
            return server;
        }
        servers.retain(|_, server| server.strong_count() > 0);
        let ways = Ways { executor: self.shared.executor.clone(), http: self.shared.http.clone() };
        let store = self.shared.store.clone();
        let server = Server::new(config.clone(), launch.clone(), ways, store);
        servers.insert(key, Arc::downgrade(&server));
        server
    }
}
