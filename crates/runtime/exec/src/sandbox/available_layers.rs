//! Which layers this machine has, and in words why one is missing.

use std::path::PathBuf;
use std::sync::Arc;

use super::pack::Order;
use super::{Layers, Sandbox, landlock, seccomp};
use crate::command::Command;
use crate::executor::Executor;

/// Where bubblewrap is looked for: places that only the system's administrator can write.
pub(crate) const PLACES: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// The layers of this machine. An error says why one is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableLayers {
    /// The version of the kernel's Landlock. Writes and reads are held from 1 on, moves between
    /// directories from 2, truncation from 3, TCP from 4, device requests from 5, signals and abstract
    /// sockets from 6.
    pub landlock: Result<u32, String>,
    pub seccomp: Result<(), String>,
    /// The error is a clause that names it: "bubblewrap is missing (…)", "bubblewrap does not work (…)".
    pub bubblewrap: Result<PathBuf, String>,
}

impl AvailableLayers {
    /// All layers that are there.
    pub fn layers(&self) -> Layers {
        Layers {
            landlock: self.landlock.is_ok(),
            seccomp: self.seccomp.is_ok(),
            bubblewrap: self.bubblewrap.is_ok(),
        }
    }
}

/// A bubblewrap that works here, and what it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bubblewrap {
    pub program: PathBuf,
    pub disable_userns: bool,
    pub bind_fd: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Probed {
    pub found: AvailableLayers,
    pub bubblewrap: Option<Bubblewrap>,
}

pub(crate) async fn probe(executor: &Executor, places: &[PathBuf]) -> Probed {
    let bubblewrap = try_bubblewrap(executor, places).await;
    let found = AvailableLayers {
        landlock: landlock::version().map(|version| version.unsigned_abs()),
        seccomp: seccomp::check(),
        bubblewrap: bubblewrap.as_ref().map(|found| found.program.clone()).map_err(Clone::clone),
    };
    Probed { found, bubblewrap: bubblewrap.ok() }
}

async fn try_bubblewrap(executor: &Executor, places: &[PathBuf]) -> Result<Bubblewrap, String> {
    let program = places.iter().map(|place| place.join("bwrap")).find(|path| path.is_file());
    let program = program.ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        let places = places.join(" or ");
        format!("bubblewrap is missing (no bwrap in {places}; install the package bubblewrap)")
    })?;
    let mut help = Command::new(&program, "/");
    help.args.push("--help".into());
    let help = executor.run(help, |_| {}).await;
    let help = help.map_err(|error| format!("bubblewrap cannot be started ({error})"))?;
    let help = help.output.to_text();
    let has = |option: &str| help.split_ascii_whitespace().any(|word| word == option);
    if !has("--bind-fd") || !has("--as-pid-1") {
        let program = program.display();
        return Err(format!("bubblewrap is too old ({program}; install version 0.8 or newer)"));
    }
    let mut found = Bubblewrap { program, disable_userns: has("--disable-userns"), bind_fd: true };
    let first = try_once(executor, &found).await;
    if first.is_ok() || !found.disable_userns {
        return first.map(|()| found);
    }
    // Some containers do not let the number of namespaces be set.
    found.disable_userns = false;
    match try_once(executor, &found).await {
        Ok(()) => Ok(found),
        Err(_) => first.map(|()| found),
    }
}

/// Really runs something: that it is installed says nothing about whether namespaces are allowed.
async fn try_once(executor: &Executor, found: &Bubblewrap) -> Result<(), String> {
    let temp = std::fs::canonicalize("/tmp").map_err(|error| format!("/tmp: {error}"))?;
    let sandbox = Sandbox {
        writable: Vec::new(),
        readable: Vec::new(),
        homes: Vec::new(),
        hidden: Vec::new(),
        frozen: Vec::new(),
        temp,
        network: false,
        layers: Layers { bubblewrap: true, ..Layers::default() },
        bounds: None,
    };
    let mut command = Command::new("/bin/sh", "/");
    command.args = ["-c", ":"].map(Into::into).to_vec();
    command.sandbox = Some(Arc::new(sandbox.clone()));
    let order = Order { sandbox, bubblewrap: Some(found.clone()) };
    let words = |reason: String| {
        let program = found.program.display();
        let advice = "check that unprivileged user namespaces are allowed";
        format!("bubblewrap does not work ({program}: {reason}; {advice})")
    };
    let running = executor.spawn_held(&command, &order).await;
    let finished = match running {
        Ok(running) => running.wait().await.map_err(|error| words(error.to_string()))?,
        // It is gone, and the reason says so.
        Err(crate::ExecError::Sandbox { reason }) if reason.starts_with("bubblewrap") => {
            return Err(reason);
        }
        Err(crate::ExecError::Sandbox { reason }) => return Err(words(reason)),
        Err(error) => return Err(words(error.to_string())),
    };
    match finished.status.success() {
        true => Ok(()),
        false => Err(words(finished.status.to_string())),
    }
}
