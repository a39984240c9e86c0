//! A real server on a free port, with its files in a temporary directory. It is killed when it is dropped, also after a
//! panic.
//!
//! The tests of the program use it, too, but not all of it.
#![allow(dead_code, clippy::print_stderr)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

pub struct RedisServer {
    child: Mutex<Child>,
    folder: tempfile::TempDir,
    pub port: u16,
    options: Vec<String>,
}

/// Names the server's program. It may be one that speaks the same language, such as Valkey.
pub const PROGRAM: &str = "OSTLER_TEST_REDIS_SERVER";

fn program() -> std::ffi::OsString {
    std::env::var_os(PROGRAM).unwrap_or_else(|| "redis-server".into())
}

/// If not, a line says so, which `scripts/test` shows at the end.
pub fn is_installed() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| {
        let found = Command::new(program()).arg("--version").stdout(Stdio::null()).status();
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
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// None if the port was taken.
fn launch(folder: &tempfile::TempDir, port: u16, options: &[String]) -> Option<Child> {
    let mut command = Command::new(program());
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(["--dir", folder.path().to_str().unwrap(), "--daemonize", "no"]);
    command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    loop {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        if is_ready(port) {
            return Some(child);
        }
        std::thread::yield_now();
    }
}

/// A server with a password is ready, too, when it asks for it.
fn is_ready(port: u16) -> bool {
    let answer = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.write_all(b"PING\r\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).map(|_| line)
    };
    answer().is_ok_and(|line: String| line.starts_with("+PONG") || line.starts_with("-NOAUTH"))
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
