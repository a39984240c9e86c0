//! Logins to MCP servers: for commands, and from within a session.

use super::session_servers::SessionServers;
use crate::host::Host;
use crate::session::Session;
use crate::system::{SystemClock, secret};
use ostler_core::ports::HttpServer;
use ostler_mcp::{LaunchServer, Server, ServerConfig};
use ostler_models::Network;
use ostler_oauth::{ClientSettings, LoginStore, OAuth, PendingLogin, Url};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// The logins in this home directory, which all processes share.
pub fn logins(home: &Path, network: Network) -> OAuth {
    OAuth::new(network, LoginStore::new(home.join("oauth")), Arc::new(SystemClock), secret)
}

impl Host {
    /// A server on the network outside of any session. Programs are not started.
    pub fn network_server(&self, config: &ServerConfig) -> Arc<Server> {
        let refuse = |_: &ServerConfig, _: &mut ostler_exec::Command| {
            Err("programs are started by sessions only".to_owned())
        };
        let launch =
            LaunchServer { cwd: "/".into(), environment: Vec::new(), prepare: Arc::new(refuse) };
        self.mcp().server(config, &launch)
    }
}

/// The login that a session waits for; a new one replaces it, and it ends with the session.
pub(super) struct SessionLogins {
    oauth: Option<OAuth>,
    waiting: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl SessionLogins {
    pub(super) fn new(host: &Host) -> Self {
        let oauth = host.home().map(|home| logins(home, host.network()));
        SessionLogins { oauth, waiting: Mutex::default() }
    }
}

/// The address to open, or why there is none.
type LoginAddress = oneshot::Receiver<Result<String, String>>;

impl Session {
    /// Begins a login to an MCP server and gives the address for a browser. When the browser comes back, the server is
    /// connected again; how it ended is a notice.
    ///
    /// # Errors
    /// In words, if there is no such server or no way to log in to it.
    pub async fn begin_mcp_login(&self, name: &str) -> Result<String, String> {
        let address = self.shared().parts.servers.begin_login(name)?;
        address.await.unwrap_or_else(|_| Err("the login was replaced by another one".to_owned()))
    }
}

impl SessionServers {
    /// Everything else happens in the background.
    pub(super) fn begin_login(self: &Arc<Self>, name: &str) -> Result<LoginAddress, String> {
        let server = self.http_server(name)?;
        let oauth = self.logins.oauth.clone();
        let oauth = oauth.ok_or("this session has no home directory to keep a login in")?;
        let runtime = tokio::runtime::Handle::try_current();
        let runtime = runtime.map_err(|_| "there is no runtime to log in with")?;
        let (sender, address) = oneshot::channel();
        let servers = Arc::downgrade(self);
        let work = async move {
            let begun = begin(&oauth, &server).await;
            let shown = begun.as_ref().map(|login| login.url().to_string()).map_err(Clone::clone);
            if let Some(servers) = servers.upgrade() {
                servers.notify(&server.name, address_text(&shown));
            }
            let _ = sender.send(shown);
            let Ok(login) = begun else { return };
            let ended = login.finish(std::future::pending()).await;
            let Some(servers) = servers.upgrade() else { return };
            match ended {
                Ok(_) => {
                    servers.notify(&server.name, "you are logged in".to_owned());
                    // It was there a moment ago; if it is gone, nobody needs it.
                    let _ = servers.reconnect(&server.name);
                }
                Err(error) => servers.notify(&server.name, format!("the login failed: {error}")),
            }
        };
        let task = AbortOnDropHandle::new(runtime.spawn(work));
        *self.logins.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        Ok(address)
    }
}

async fn begin(oauth: &OAuth, server: &HttpServer) -> Result<PendingLogin, String> {
    let url = Url::parse(&server.url).map_err(|_| "its address is not a URL".to_owned())?;
    let settings = ClientSettings::from(&server.login);
    oauth.begin_login(&url, &settings, None).await.map_err(|error| error.to_string())
}

fn address_text(address: &Result<String, String>) -> String {
    match address {
        Ok(address) => format!("open this address to log in: {address}"),
        Err(why) => format!("the login failed: {why}"),
    }
}
