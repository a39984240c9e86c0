//! The repository as a remote: hosts fetch from it and push to it over the network.

use crate::repository;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(5);

pub struct GitRemote {
    child: Child,
    pub url: String,
}

impl GitRemote {
    pub fn start(directory: &Path, host: &str) -> Result<Self, String> {
        let free = TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|why| format!("no free port on {host}: {why}"))?.port();
        // Not through `git`, which would leave it behind.
        let programs = repository::git(directory, &["--exec-path"])?;
        let mut command = Command::new(Path::new(programs.trim()).join("git-daemon"));
        command.args(["--export-all", "--enable=receive-pack", "--reuseaddr"]);
        command.args(["--max-connections=200", &format!("--listen={host}")]);
        command.args([format!("--port={port}"), format!("--base-path={}", directory.display())]);
        command.arg(directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|why| format!("cannot start git daemon: {why}"))?;
        let begin = Instant::now();
        while TcpStream::connect((host, port)).is_err() {
            let is_over = child.try_wait().map_err(|why| why.to_string())?.is_some();
            if is_over || begin.elapsed() > START {
                let _ = (child.kill(), child.wait());
                let mut why = String::new();
                if let Some(mut errors) = child.stderr.take() {
                    let _ = errors.read_to_string(&mut why);
                }
                return Err(format!("git daemon does not start: {}", why.trim()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(GitRemote { child, url: format!("git://{host}:{port}/repository") })
    }
}

impl Drop for GitRemote {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}
