//! How a surface changes the servers of a session while it runs.

use super::asking::Asking;
use super::server_permission::not_permitted;
use super::session_servers::{Entry, SessionServers};
use crate::session::Session;
use ostler_mcp::ServerConfig;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, Weak};

impl SessionServers {
    pub(super) fn toggle(self: &Arc<Self>, name: &str, enabled: bool) -> Result<(), String> {
        {
            let mut state = self.state();
            state.waited &= !enabled;
            let entry = state.find(name)?;
            entry.enabled = enabled;
            if !enabled {
                entry.watching = None;
            }
        }
        self.update(name);
        if enabled {
            self.watch(name);
        }
        Ok(())
    }

    pub(super) fn reconnect(self: &Arc<Self>, name: &str) -> Result<(), String> {
        let (server, asked) = {
            let mut state = self.state();
            state.waited = false;
            let entry = state.find(name)?;
            if !entry.enabled {
                return Err(format!("the MCP server \"{name}\" is disabled; enable it first"));
            }
            entry.told = None;
            (entry.server.clone(), entry.asked.clone())
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return Err("there is no runtime to connect in".into());
        };
        let asking = [Asking::begin(&self.asking), Asking::begin(&asked)];
        let (servers, name) = (Arc::downgrade(self), name.to_owned());
        runtime.spawn(async move {
            // How it ended is part of the server's state, which the session follows.
            let _ = server.reconnect().await;
            if let Some(servers) = servers.upgrade() {
                servers.update(&name);
            }
            drop(asking);
        });
        Ok(())
    }

    /// Replaces the servers that a surface set, and those that have the name of a new one.
    pub(super) fn set(self: &Arc<Self>, configs: Vec<ServerConfig>) -> Result<(), String> {
        if let Some(why) = configs.iter().find_map(|config| not_permitted(&self.limits, config)) {
            return Err(why);
        }
        let mut gone = Vec::new();
        {
            let mut state = self.state();
            let stays = |entry: &Entry| {
                let named = configs.iter().find(|config| config.name == entry.config.name);
                named.map_or(!entry.is_set, |config| is_same(config, &entry.config))
            };
            let (kept, removed) = std::mem::take(&mut state.entries).into_iter().partition(stays);
            state.entries = kept;
            gone.extend::<Vec<Entry>>(removed);
            for config in &configs {
                match state.find(&config.name) {
                    Ok(entry) => entry.is_set = true,
                    Err(_) => {
                        let entry = self.entry(config, true);
                        state.entries.push(entry);
                    }
                }
            }
        }
        let Some(session) = self.session.get().and_then(Weak::upgrade) else { return Ok(()) };
        let session = Session { shared: session };
        for entry in &mut gone {
            let room = &mut *self.room.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = entry.offer(&session, Vec::new(), BTreeSet::new(), room);
        }
        drop(gone);
        self.serve(&session);
        Ok(())
    }

    /// Comes back when none of these servers is being asked what it offers. It holds nothing.
    pub(super) fn settled(&self, names: &[String]) -> impl Future<Output = ()> + Send + use<> {
        let state = self.state();
        let meant = state.entries.iter().filter(|entry| names.contains(&entry.config.name));
        let mut asked: Vec<_> = meant.map(|entry| entry.asked.subscribe()).collect();
        drop(state);
        async move {
            for asked in &mut asked {
                // A server that is gone is not asked any more.
                let _ = asked.wait_for(|count| *count == 0).await;
            }
        }
    }
}

/// Nothing about it changed. The program at the other end of a tunnel knows its servers by their names.
fn is_same(one: &ServerConfig, other: &ServerConfig) -> bool {
    one == other || (one.is_tunnel() && other.is_tunnel())
}
