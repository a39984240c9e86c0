//! Network namespaces as hosts: each has an address of its own on a bridge, and its link can be cut. Needs root.

use crate::repository;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a link is cut.
pub const CUT: Duration = Duration::from_secs(10);

/// Removed when it is dropped.
pub struct Hosts {
    bridge: String,
    /// Of the bridge: where the server and the git remote are.
    pub address: String,
    pub names: Vec<String>,
}

impl Hosts {
    /// # Errors
    /// In words, why this machine cannot have them.
    pub fn create(count: usize) -> Result<Hosts, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can make network namespaces".to_owned());
        }
        let id = std::process::id();
        let network = format!("10.213.{}", id % 250);
        let mut hosts =
            Hosts { bridge: format!("oc{id}"), address: format!("{network}.1"), names: Vec::new() };
        let bridge = hosts.bridge.clone();
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        ip(&["addr", "add", &format!("{network}.1/24"), "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for number in 0..count {
            let name = format!("oc{id}h{number}");
            ip(&["netns", "add", &name])?;
            hosts.names.push(name.clone());
            let link = link(&name);
            ip(&["link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &name])?;
            ip(&["link", "set", &link, "master", &bridge, "up"])?;
            let own = format!("{network}.{}/24", number + 10);
            ip(&["-n", &name, "addr", "add", &own, "dev", "eth0"])?;
            ip(&["-n", &name, "link", "set", "eth0", "up"])?;
            ip(&["-n", &name, "link", "set", "lo", "up"])?;
        }
        Ok(hosts)
    }

    /// Where the worker with this number runs.
    pub fn of(&self, worker: usize) -> Option<&str> {
        self.names.get(worker % self.names.len().max(1)).map(String::as_str)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&["link", "del", &link(name)]);
            let _ = ip(&["netns", "del", name]);
        }
        let _ = ip(&["link", "del", &self.bridge]);
    }
}

/// Nothing gets through until it is restored.
pub fn cut(host: &str) -> Result<(), String> {
    ip(&["link", "set", &link(host), "down"])
}

pub fn restore(host: &str) -> Result<(), String> {
    ip(&["link", "set", &link(host), "up"])
}

/// Its end on the bridge.
fn link(host: &str) -> String {
    format!("{host}l")
}

fn ip(words: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|why| format!("cannot start ip (package iproute2): {why}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The clone that the workers of a host share.
pub fn clone_path(directory: &Path, host: &str) -> PathBuf {
    directory.join("hosts").join(host)
}

/// Each host gets a clone of the remote.
pub fn make_clones(hosts: &Hosts, directory: &Path, remote: &str) -> Result<(), String> {
    for host in &hosts.names {
        let path = clone_path(directory, host);
        let text = path.to_string_lossy();
        repository::git(directory, &["clone", "-q", "--bare", remote, &text])?;
        repository::make_quick(&path)?;
    }
    Ok(())
}
