//! A real server on a free port, with its files in a temporary directory. It is killed when it is dropped, also by a
//! panic, and by the kernel when this process dies.

use redis::{Connection, Value, cmd};
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

pub struct RedisServer {
    child: Mutex<Child>,
    folder: tempfile::TempDir,
    pub port: u16,
    options: Vec<String>,
}

/// None, and a line that the test scripts show, if there is no server on this machine.
pub fn is_installed() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| {
        let found = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        let is_there = found.is_ok_and(|status| status.success());
        if !is_there {
            eprintln!("SKIPPED: boards in Redis (no redis-server)");
        }
        is_there
    })
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl RedisServer {
    pub fn start(options: &[&str]) -> Option<RedisServer> {
        if !is_installed() {
            return None;
        }
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let folder = tempfile::tempdir().unwrap();
        // Somebody else may take a free port before the server does.
        for _ in 0..20 {
            let port = free_port();
            if let Some(child) = launch(&folder, port, &options) {
                return Some(RedisServer { child: Mutex::new(child), folder, port, options });
            }
        }
        panic!("no server started");
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn connection(&self) -> Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }

    /// As if the machine had lost its power: nothing is saved at the end.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }

    /// The same server with what it has saved.
    pub fn start_again(&self) {
        let child = launch(&self.folder, self.port, &self.options).expect("the port is still ours");
        *self.child.lock().unwrap() = child;
    }

    /// Stops it without ending it, or lets it go on.
    pub fn signal(&self, signal: Signal) {
        let id = self.child.lock().unwrap().id();
        kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal).unwrap();
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts it through a shell that kills it as soon as its input ends: so it never outlives this process.
fn launch(folder: &tempfile::TempDir, port: u16, options: &[String]) -> Option<Child> {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(["--dir", folder.path().to_str().unwrap(), "--daemonize", "no"]);
    command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    loop {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
        if let Ok(mut connection) = client.get_connection() {
            // A server with a password answers, too, that it wants it.
            match cmd("PING").query::<Value>(&mut connection) {
                Ok(_) => return Some(child),
                Err(error) if error.code() == Some("NOAUTH") => return Some(child),
                Err(_) => {}
            }
        }
        std::thread::yield_now();
    }
}

/// One server for all tests that need nothing special; each has boards of its own. Lives as long as somebody uses it.
pub fn shared() -> Option<Arc<RedisServer>> {
    static SHARED: Mutex<Weak<RedisServer>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(RedisServer::start(&[])?);
    *shared = Arc::downgrade(&server);
    Some(server)
}
