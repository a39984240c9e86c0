//! The servers that a session uses, and the tools that it has from them.

use super::McpOptions;
use super::asking::Asking;
use super::choice::MCP_TOOL;
use super::counterpart::SessionCounterpart;
use super::launch::launch;
use super::logins::SessionLogins;
use super::resource_tools::ResourceTool;
use super::sampling::SamplingAllowance;
use super::schema_room::SchemaRoom;
use super::server_permission::permitted_servers;
use super::tool_search::ToolSearch;
use crate::host::Host;
use crate::session::{Session, SessionShared};
use crate::session_options::SessionOptions;
use ostler_config::ServerLimits;
use ostler_core::event::{Event, Notice};
use ostler_core::permission::{Live, Policy, Workspace};
use ostler_core::ports::{HttpServer, Tool};
use ostler_mcp::{
    Connections, LaunchServer, McpTool, Server, ServerConfig, ServerLease, ServerScope,
    ServerState, ServerStatus,
};
use ostler_tools::CommandVariables;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

pub(crate) struct SessionServers {
    connections: Connections,
    launch: LaunchServer,
    first_wait: Duration,
    pub(super) limits: ServerLimits,
    /// What the descriptions of tools may take of the context window.
    pub(super) room: Mutex<SchemaRoom>,
    /// A program drives the session and gave it servers.
    of_program: bool,
    pub(super) session: OnceLock<Weak<SessionShared>>,
    state: Mutex<ServersState>,
    /// Servers that are being asked what they offer.
    pub(super) asking: watch::Sender<usize>,
    /// Those among them whose tools are always to be listed.
    needed: watch::Sender<usize>,
    pub(super) logins: SessionLogins,
}

#[derive(Default)]
pub(super) struct ServersState {
    pub(super) entries: Vec<Entry>,
    /// What a person should know, until somebody reads.
    unsaid: Vec<Notice>,
    /// A prompt has waited for the servers that are asked now; the next one does not.
    pub(super) waited: bool,
    closed: bool,
}

pub(super) struct Entry {
    pub(super) config: Arc<ServerConfig>,
    pub(super) server: Arc<Server>,
    lease: ServerLease,
    pub(super) enabled: bool,
    /// Set by a surface, which may take it away again.
    pub(super) is_set: bool,
    /// Whether it is being asked what it offers.
    pub(super) asked: watch::Sender<usize>,
    sampling: Option<Arc<SamplingAllowance>>,
    /// Its tools in the session, with what was said about them.
    tools: BTreeMap<String, ToolWords>,
    /// What was last reported to the person.
    pub(super) told: Option<String>,
    pub(super) watching: Option<AbortOnDropHandle<()>>,
}

/// The description of a tool for the model.
type ToolWords = (String, serde_json::Value);

impl SessionServers {
    pub(crate) fn new(
        host: &Host,
        options: &SessionOptions,
        at: (&Live<Workspace>, &Live<CommandVariables>),
        policy: &Policy,
    ) -> Arc<Self> {
        let servers = SessionServers {
            connections: host.mcp().clone(),
            launch: launch(host, options, at, policy),
            first_wait: options.mcp.first_wait,
            limits: options.mcp.limits.clone(),
            room: Mutex::new(SchemaRoom::new(options.mcp.share)),
            of_program: options.mcp.of_program,
            session: OnceLock::new(),
            state: Mutex::default(),
            asking: watch::Sender::new(0),
            needed: watch::Sender::new(0),
            logins: SessionLogins::new(host),
        };
        let (permitted, unsaid) = permitted_servers(&options.mcp);
        let is_set = |config: &ServerConfig| servers.of_program && config.is_tunnel();
        let entries = permitted.into_iter().map(|it| servers.entry(it, is_set(it))).collect();
        *servers.state() = ServersState { entries, unsaid, ..ServersState::default() };
        Arc::new(servers)
    }

    pub(super) fn entry(&self, config: &ServerConfig, is_set: bool) -> Entry {
        let server = self.connections.server(config, &self.launch);
        let lease = server.lease();
        Entry {
            config: Arc::new(config.clone()),
            server,
            lease,
            enabled: true,
            is_set,
            asked: watch::Sender::new(0),
            sampling: SamplingAllowance::of(config),
            tools: BTreeMap::new(),
            told: None,
            watching: None,
        }
    }

    /// The server of this name, if it is on the network.
    pub(super) fn http_server(&self, name: &str) -> Result<HttpServer, String> {
        let mut state = self.state();
        let server = state.find(name)?.config.http_server();
        server.ok_or_else(|| format!("the MCP server \"{name}\" is not on the network"))
    }

    /// Tells the session's readers about a server.
    pub(super) fn notify(&self, name: &str, text: String) {
        let Some(shared) = self.session.get().and_then(Weak::upgrade) else { return };
        let notice = Notice::Mcp { server: name.to_owned(), text };
        Session { shared }.events().emit(Event::notice(notice));
    }

    /// The configurations that agents of the session inherit.
    pub(crate) fn enabled(&self) -> Vec<ServerConfig> {
        let state = self.state();
        let enabled = state.entries.iter().filter(|entry| entry.enabled);
        enabled.map(|entry| (*entry.config).clone()).collect()
    }

    /// With their names as parts of other names.
    pub(super) fn enabled_servers(&self) -> Vec<(String, Arc<Server>)> {
        let state = self.state();
        let enabled = state.entries.iter().filter(|entry| entry.enabled);
        enabled.map(|entry| (entry.config.shown_name(), entry.server.clone())).collect()
    }

    /// The server that has a tool, by the name that the session gives it, and how the server calls it.
    pub(crate) fn server_of(&self, tool: &str) -> Option<(Arc<Server>, String)> {
        let state = self.state();
        state.entries.iter().filter(|entry| entry.enabled).find_map(|entry| {
            let rest = tool.strip_prefix(&format!("{MCP_TOOL}{}__", entry.config.shown_name()))?;
            let manifest = entry.server.manifest();
            let known = manifest.as_ref().and_then(|all| {
                all.tools.iter().find(|entry| entry.shown == rest).map(|entry| entry.name.clone())
            });
            Some((entry.server.clone(), known.unwrap_or_else(|| rest.to_owned())))
        })
    }

    /// Tools that are known without starting anything are added; where a runtime is there, servers that are not known yet
    /// are asked in the background.
    pub(crate) fn serve(self: &Arc<Self>, session: &Session) {
        let _ = self.session.set(Arc::downgrade(&session.shared));
        self.speak(session);
        let names: Vec<String> = {
            let state = self.state();
            if state.closed {
                return;
            }
            let new =
                state.entries.iter().filter(|entry| entry.enabled && entry.watching.is_none());
            new.map(|entry| entry.config.name.clone()).collect()
        };
        if !names.is_empty() {
            self.state().waited = false;
            self.measure(session, &names);
        }
        for name in names {
            self.update(&name);
            self.watch(&name);
        }
    }

    /// What is known already is divided as a whole: all of it is described, or none.
    fn measure(&self, session: &Session, names: &[String]) {
        let state = self.state();
        let mut tools = Vec::new();
        for entry in state.entries.iter().filter(|entry| names.contains(&entry.config.name)) {
            if let Some(manifest) = entry.server.manifest().filter(|_| entry.tools.is_empty()) {
                tools.extend(McpTool::all(&entry.server, &entry.config, &manifest, None));
            }
        }
        drop(state);
        self.room.lock().unwrap_or_else(PoisonError::into_inner).measure(session, &tools);
    }

    /// Follows what becomes of a server, and asks it what it offers if nobody knows.
    pub(super) fn watch(self: &Arc<Self>, name: &str) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut state = self.state();
        let Some(entry) = state.entries.iter_mut().find(|entry| entry.config.name == name) else {
            return;
        };
        let (server, mut news) = (entry.server.clone(), entry.server.news());
        let (servers, name) = (Arc::downgrade(self), name.to_owned());
        let is_given = self.of_program && entry.config.scope == ServerScope::Session;
        let must_ask = entry.config.always_load || is_given || server.manifest().is_none();
        let asking = must_ask.then(|| {
            let needed = entry.config.always_load.then(|| Asking::begin(&self.needed));
            // Nobody waits a second time for one that does not answer.
            let waits = (!server.is_slow()).then(|| Asking::begin(&self.asking));
            (waits, needed, Asking::begin(&entry.asked))
        });
        let following = async move {
            if must_ask {
                // How it ended is part of the server's state.
                let _ = server.look().await;
            }
            drop(server);
            if let Some(servers) = servers.upgrade() {
                servers.update(&name);
            }
            drop(asking);
            while news.next().await {
                let Some(servers) = servers.upgrade() else { return };
                servers.update(&name);
            }
        };
        entry.watching = Some(AbortOnDropHandle::new(runtime.spawn(following)));
    }

    /// Waits until servers that are not known yet have been asked, for a moment only and only once.
    pub(crate) async fn first_look(&self) {
        if std::mem::replace(&mut self.state().waited, true) {
            return;
        }
        let mut asking = self.asking.subscribe();
        let asked = tokio::time::timeout(self.first_wait, asking.wait_for(|count| *count == 0));
        if asked.await.is_err() {
            self.note_slow_ones();
        }
        let mut needed = self.needed.subscribe();
        let limit = McpOptions::ALWAYS_WAIT;
        let _ = tokio::time::timeout(limit, needed.wait_for(|count| *count == 0)).await;
    }

    fn note_slow_ones(&self) {
        for entry in self.state().entries.iter().filter(|entry| entry.enabled) {
            if entry.server.manifest().is_none() && entry.status().status == ServerState::Pending {
                entry.server.note_slow();
            }
        }
    }

    /// Makes the session's tools those that the server offers now.
    pub(super) fn update(&self, name: &str) {
        let Some(shared) = self.session.get().and_then(Weak::upgrade) else { return };
        let session = Session { shared };
        let mut notices = Vec::new();
        {
            let mut state = self.state();
            let closed = state.closed;
            let Some(entry) = state.entries.iter_mut().find(|entry| entry.config.name == name)
            else {
                return;
            };
            let offered = entry.server.manifest().filter(|_| entry.enabled && !closed);
            if offered.as_ref().is_some_and(|it| it.resources) {
                ResourceTool::add_to(&session);
            }
            let asked = SessionCounterpart::of(&session, entry.sampling.clone());
            let tools =
                offered.map(|it| McpTool::all(&entry.server, &entry.config, &it, Some(&asked)));
            let tools = tools.unwrap_or_default();
            let changed = entry.changed();
            let room = &mut *self.room.lock().unwrap_or_else(PoisonError::into_inner);
            notices.extend(entry.offer(&session, tools, changed, room));
            notices.extend(entry.complaint());
        }
        let notices = notices.into_iter().map(|text| Notice::Mcp { server: name.to_owned(), text });
        self.state().unsaid.extend(notices);
        self.speak(&session);
    }

    /// Says what there is to say, if somebody drives the session. What is said before is heard by nobody.
    fn speak(&self, session: &Session) {
        if !session.events().is_driven() {
            return;
        }
        let unsaid = std::mem::take(&mut self.state().unsaid);
        for notice in unsaid {
            session.events().emit(Event::notice(notice));
        }
    }

    pub(super) fn status(&self) -> Vec<ServerStatus> {
        self.state().entries.iter().map(Entry::status).collect()
    }

    /// Starts a server, asks what it offers, and ends it.
    pub(super) async fn probe(&self, name: &str) -> Result<ServerStatus, String> {
        let server = self.state().find(name)?.server.clone();
        // How it ended is part of its state.
        let _ = server.reconnect().await;
        let status = self.state().find(name)?.status();
        self.close().await;
        Ok(status)
    }

    /// The session is over.
    pub(crate) async fn close(&self) {
        let entries = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.entries)
        };
        let leaving = entries.into_iter().map(|entry| entry.lease.end());
        futures_util::future::join_all(leaving).await;
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ServersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServersState {
    pub(super) fn find(&mut self, name: &str) -> Result<&mut Entry, String> {
        let found = self.entries.iter_mut().find(|entry| entry.config.name == name);
        found.ok_or_else(|| format!("there is no MCP server \"{name}\" in this session"))
    }
}

impl Entry {
    fn status(&self) -> ServerStatus {
        let mut status = self.server.status(&self.config);
        if !self.enabled {
            status.status = ServerState::Disabled;
        }
        status
    }

    /// Tools that are not described as they were in earlier sessions.
    fn changed(&self) -> BTreeSet<String> {
        let Some(manifest) = self.server.manifest().filter(|_| self.enabled) else {
            return BTreeSet::new();
        };
        let changed = self.server.changed_since_seen(&self.config.name, &manifest);
        let name = |shown: &String| McpTool::name(&self.config, shown);
        changed.iter().map(name).collect()
    }

    /// Makes the tools of the session what is offered; gives what a person should know.
    pub(super) fn offer(
        &mut self,
        session: &Session,
        offered: Vec<Arc<dyn Tool>>,
        mut changed: BTreeSet<String>,
        room: &mut SchemaRoom,
    ) -> Vec<String> {
        let words = |tool: &Arc<dyn Tool>| {
            (tool.spec().description.clone(), tool.spec().input_schema.clone())
        };
        let is_same = |tool: &Arc<dyn Tool>| {
            self.tools.get(&tool.spec().name).is_some_and(|had| *had == words(tool))
        };
        let new: Vec<Arc<dyn Tool>> =
            offered.iter().filter(|tool| !is_same(tool)).cloned().collect();
        let stays =
            |name: &&String| offered.iter().any(|tool| tool.spec().name == **name && is_same(tool));
        let gone: Vec<String> = self.tools.keys().filter(|name| !stays(name)).cloned().collect();
        let mut notices = Vec::new();
        let is_new = |name: &String| !self.tools.contains_key(name);
        let names = new.iter().map(|tool| &tool.spec().name);
        changed.extend(names.filter(|name| !is_new(name)).cloned());
        let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
        if !changed.is_empty() {
            notices.push(format!("it describes these tools differently now: {}", some(&changed)));
        }
        session.remove_tools(&gone);
        self.tools.retain(|name, _| !gone.contains(name));
        let added: Vec<(String, ToolWords)> =
            new.iter().map(|tool| (tool.spec().name.clone(), words(tool))).collect();
        let always = self.config.always_load;
        let (described, deferred) = room.divided(session, new, always);
        if !deferred.is_empty() {
            ToolSearch::add_to(session);
        }
        let mut refused = session.add_tools(described);
        refused.extend(session.add_deferred_tools(deferred));
        let is_refused = |name: &String| refused.iter().any(|refused| refused.name == *name);
        self.tools.extend(added.into_iter().filter(|(name, _)| !is_refused(name)));
        let unwanted = ostler_core::late_tools::ToolRefusal::NotOffered;
        let failed = refused.iter().filter(|refused| refused.why != unwanted);
        notices.extend(failed.map(ToString::to_string));
        notices
    }

    /// What is wrong with the server, once.
    fn complaint(&mut self) -> Option<String> {
        let status = self.status();
        let faults = self.server.manifest().map(|it| it.faults.join("; ")).unwrap_or_default();
        let said = match status.status {
            ServerState::Failed | ServerState::NeedsAuth => status.error,
            ServerState::Connected if !faults.is_empty() => Some(faults),
            _ => None,
        };
        let is_news = said.is_some() && said != self.told;
        if status.status == ServerState::Connected || said.is_some() {
            self.told.clone_from(&said);
        }
        said.filter(|_| is_news)
    }
}

/// A few names.
fn some(names: &[&str]) -> String {
    const MOST: usize = 5;
    let more = names.len().saturating_sub(MOST);
    let shown = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
