//! A Redis server of the run's own: on a free port, with its files in the run's directory, durable.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START: Duration = Duration::from_secs(60);
const TRIES: usize = 20;
const LOOK: Duration = Duration::from_millis(5);

pub struct RedisProcess {
    child: Child,
    folder: PathBuf,
    host: String,
    port: u16,
}

impl RedisProcess {
    /// `host` is the address to listen on.
    pub fn start(directory: &Path, host: &str) -> Result<Self, String> {
        let folder = directory.join("redis");
        fs::create_dir_all(&folder).map_err(|why| format!("cannot make {folder:?}: {why}"))?;
        for _ in 0..TRIES {
            let free = TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr());
            let port = free.map_err(|why| format!("no free port on {host}: {why}"))?.port();
            // Somebody else may take it before the server does.
            if let Some(child) = launch(&folder, host, port)? {
                return Ok(RedisProcess { child, folder, host: host.to_owned(), port });
            }
        }
        Err("redis-server does not start".to_owned())
    }

    pub fn url(&self) -> String {
        format!("redis://{}:{}", self.host, self.port)
    }

    /// As after a crash: killed, and started with what it had written.
    pub fn restart(&mut self) -> Result<(), String> {
        self.kill();
        let child = launch(&self.folder, &self.host, self.port)?;
        self.child = child.ok_or("redis-server does not start again")?;
        Ok(())
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RedisProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// None: it ended at once, because the port is taken.
fn launch(folder: &Path, host: &str, port: u16) -> Result<Option<Child>, String> {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", host, "--protected-mode", "no"]);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    command.arg("--dir").arg(folder).arg("--logfile").arg(folder.join("log"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|why| format!("cannot start redis-server: {why}"))?;
    let begin = Instant::now();
    while begin.elapsed() < START {
        if child.try_wait().map_err(|why| why.to_string())?.is_some() {
            return Ok(None);
        }
        if answers(host, port) {
            return Ok(Some(child));
        }
        std::thread::sleep(LOOK);
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("redis-server is not ready after {} s", START.as_secs()))
}

fn answers(host: &str, port: u16) -> bool {
    let answer = || {
        let mut stream = TcpStream::connect((host, port))?;
        stream.write_all(b"PING\r\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).map(|_| line)
    };
    answer().is_ok_and(|line: String| line.starts_with("+PONG"))
}
