//! One server: what it offers, how it is, and its connection while it has one.

use crate::configuration::{ServerConfig, ServerScope};
use crate::connection::Connection;
use crate::connections::{LaunchServer, Ways};
use crate::error::ServerError;
use crate::greeting::Greeting;
use crate::list_watch;
use crate::manifest::Manifest;
use crate::manifest_store::ManifestStore;
use crate::restart_limit::RestartLimit;
use crate::status::{ServerState, ServerStatus, ToolStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

pub struct Server {
    key: String,
    /// Where its failures are remembered: by the project, too, since a program may exist in one only.
    failure_key: String,
    config: ServerConfig,
    launch: LaunchServer,
    ways: Ways,
    store: Option<Arc<ManifestStore>>,
    /// Held while it starts, so that it starts once.
    live: tokio::sync::Mutex<LiveServer>,
    facts: Mutex<ServerFacts>,
    news: watch::Sender<u64>,
    users: AtomicUsize,
}

#[derive(Default)]
struct LiveServer {
    connection: Option<Arc<Connection>>,
    watching: Option<AbortOnDropHandle<()>>,
    restarts: RestartLimit,
}

#[derive(Default)]
struct ServerFacts {
    state: ServerState,
    error: Option<String>,
    manifest: Option<Arc<Manifest>>,
    /// The manifest was looked for on disk.
    looked: bool,
}

/// Tells when something about a server changed.
pub struct ServerNews(watch::Receiver<u64>);

impl ServerNews {
    /// Waits for the next change; false: the server is gone.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

/// The use of a server by a session.
pub struct ServerLease(Option<Arc<Server>>);

impl ServerLease {
    /// Waits until the connection has ended, if nobody else uses it.
    pub async fn end(mut self) {
        if let Some(server) = self.0.take().filter(|server| server.is_left()) {
            server.stop().await;
        }
    }
}

impl Drop for ServerLease {
    fn drop(&mut self) {
        let Some(server) = self.0.take().filter(|server| server.is_left()) else { return };
        // Without a runtime nothing of it runs.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { server.stop().await });
        }
    }
}

impl Server {
    fn is_left(&self) -> bool {
        self.users.fetch_sub(1, Ordering::SeqCst) == 1
    }

    pub(crate) fn new(
        config: ServerConfig,
        launch: LaunchServer,
        ways: Ways,
        store: Option<Arc<ManifestStore>>,
    ) -> Arc<Self> {
        let own = config.key();
        let failure_key = launch.project_key(&own);
        // What the files of a project configure is another server in another project, even with the same words.
        let key = match config.scope {
            ServerScope::Project | ServerScope::Local => failure_key.clone(),
            _ => own,
        };
        Arc::new(Server {
            key,
            failure_key,
            config,
            launch,
            ways,
            store,
            live: tokio::sync::Mutex::default(),
            facts: Mutex::default(),
            news: watch::Sender::new(0),
            users: AtomicUsize::new(0),
        })
    }

    pub fn news(&self) -> ServerNews {
        ServerNews(self.news.subscribe())
    }

    /// What it offers, as far as that is known without starting it.
    pub fn manifest(&self) -> Option<Arc<Manifest>> {
        let mut facts = self.facts();
        if !std::mem::replace(&mut facts.looked, true) && facts.manifest.is_none() {
            let stored = self.store.as_ref().and_then(|store| store.load(&self.key));
            facts.manifest = stored.map(Arc::new);
        }
        facts.manifest.clone()
    }

    /// Tools that are described differently than when a session of this directory last used a server of this name; by the
    /// part of their name that comes after the server's. What is offered now counts as seen.
    pub fn changed_since_seen(&self, name: &str, manifest: &Manifest) -> Vec<String> {
        let Some(store) = &self.store else { return Vec::new() };
        let hashes = manifest.tools.iter().map(|tool| (tool.shown.clone(), tool.hash()));
        store.changed(&self.launch.project_key(name), hashes.collect())
    }

    /// As the session with this configuration sees it.
    pub fn status(&self, config: &ServerConfig) -> ServerStatus {
        let manifest = self.manifest();
        let facts = self.facts();
        let offered = manifest.as_deref();
        let tool = |tool: &crate::manifest::ToolEntry| ToolStatus {
            name: tool.name.clone(),
            description: tool.description.clone(),
            read_only: tool.read_only,
        };
        ServerStatus {
            name: config.name.clone(),
            status: facts.state,
            server_info: offered.map(|it| (it.server.clone(), it.version.clone())),
            tools: offered.map(|it| it.tools.iter().map(tool).collect()).unwrap_or_default(),
            error: facts.error.clone(),
            scope: config.scope.name(),
            config: config.public(),
        }
    }

    /// What it offers, asked of the running server, which is started for it.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub async fn fetch(self: &Arc<Self>) -> Result<Arc<Manifest>, ServerError> {
        self.connect().await?;
        self.manifest().ok_or_else(|| ServerError::Protocol("it offers nothing".into()))
    }

    /// The same, unless it failed a short time ago, in this process or another one.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub async fn look(self: &Arc<Self>) -> Result<Arc<Manifest>, ServerError> {
        let store = self.store.as_ref();
        if let Some(error) = store.and_then(|store| store.recent_failure(&self.failure_key)) {
            let error = ServerError::Resting(error);
            self.is_now(ServerState::Failed, Some(error.to_string()));
            return Err(error);
        }
        self.fetch().await
    }

    /// A first prompt waited for it in vain a short time ago, in this process or another one.
    pub fn is_slow(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.is_slow(&self.failure_key))
    }

    /// A first prompt waited for it in vain.
    pub fn note_slow(&self) {
        if let Some(store) = &self.store {
            store.note_slow(&self.failure_key);
        }
    }

    /// A running connection. A server that died is started again, a few times.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>, ServerError> {
        let mut live = self.live.lock().await;
        if let Some(connection) = live.connection.clone() {
            if !connection.is_closed() {
                return Ok(connection);
            }
            self.note_death(&mut live, &connection.last_words().await);
        }
        if live.restarts.is_reached(Instant::now()) {
            return Err(ServerError::GivenUp);
        }
        let limit = self.config.start_limit;
        let opened = tokio::time::timeout(limit, self.open()).await;
        match opened.unwrap_or_else(|_| Err(ServerError::Silent(limit.as_secs()))) {
            Ok((connection, manifest)) => {
                let connection = Arc::new(connection);
                live.watching = Some(list_watch::watch(self, &connection));
                live.connection = Some(connection.clone());
                self.learned(manifest);
                Ok(connection)
            }
            Err(error) => {
                let state = match error {
                    ServerError::NeedsAuth(_) => ServerState::NeedsAuth,
                    _ => {
                        live.restarts.note_end(Instant::now());
                        ServerState::Failed
                    }
                };
                if let (Some(store), true) = (&self.store, error.is_costly()) {
                    store.note_failure(&self.failure_key, &error.to_string());
                }
                self.is_now(state, Some(error.to_string()));
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<(Connection, Manifest), ServerError> {
        let greeting = Greeting::of(&self.config, self.manifest().as_deref());
        let opened = self.greet(&greeting).await;
        let again = match &opened {
            Err(ServerError::Ended(_)) => greeting.after_end(&self.config),
            Err(ServerError::Protocol(_) | ServerError::Unreachable(_)) => {
                greeting.after_refusal(&self.config)
            }
            _ => None,
        };
        match again {
            // What it said first is what is wrong with it, if it cannot be greeted otherwise.
            Some(greeting) => self.greet(&greeting).await.or(opened),
            None => opened,
        }
    }

    async fn greet(&self, greeting: &Greeting) -> Result<(Connection, Manifest), ServerError> {
        let (config, launch, ways) = (&self.config, &self.launch, &self.ways);
        let connection = Connection::open(config, launch, ways, greeting).await?;
        let manifest = match connection.manifest().await {
            Err(ServerError::Ended(_)) => {
                return Err(ServerError::Ended(connection.last_words().await));
            }
            other => other?,
        };
        Ok((connection, manifest))
    }

    fn note_death(&self, live: &mut LiveServer, words: &str) {
        live.restarts.note_end(Instant::now());
        live.connection = None;
        live.watching = None;
        self.is_now(ServerState::Failed, Some(ServerError::Ended(words.to_owned()).to_string()));
    }

    pub(crate) fn learned(&self, manifest: Manifest) {
        if let Some(store) = &self.store {
            store.save(&self.key, &manifest);
            store.forget_failure(&self.failure_key);
            store.forget_slow(&self.failure_key);
        }
        let mut facts = self.facts();
        facts.manifest = Some(Arc::new(manifest));
        facts.looked = true;
        (facts.state, facts.error) = (ServerState::Connected, None);
        drop(facts);
        self.news.send_modify(|version| *version += 1);
    }

    pub(crate) fn is_now(&self, state: ServerState, error: Option<String>) {
        let mut facts = self.facts();
        (facts.state, facts.error) = (state, error);
        drop(facts);
        self.news.send_modify(|version| *version += 1);
    }

    /// Ends the connection, forgets how often it died, and starts it again.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub async fn reconnect(self: &Arc<Self>) -> Result<Arc<Manifest>, ServerError> {
        self.stop().await;
        self.live.lock().await.restarts.forget();
        if let Some(store) = &self.store {
            store.forget_failure(&self.failure_key);
        }
        self.fetch().await
    }

    /// Ends the connection in order. The next call starts it again.
    pub async fn stop(&self) {
        let mut live = self.live.lock().await;
        live.watching = None;
        if let Some(connection) = live.connection.take() {
            connection.close().await;
            self.is_now(ServerState::Pending, None);
        }
    }

    /// Forgets what it offers, also on disk.
    pub fn forget(&self) {
        if let Some(store) = &self.store {
            store.forget(&self.key);
        }
        self.facts().manifest = None;
    }

    /// A session uses it. When the last one does not any more, the connection ends.
    pub fn lease(self: &Arc<Self>) -> ServerLease {
        self.users.fetch_add(1, Ordering::SeqCst);
        ServerLease(Some(self.clone()))
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.config
    }

    fn facts(&self) -> MutexGuard<'_, ServerFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
