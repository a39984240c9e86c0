//! The sandbox: what a command may touch, and which layers of the kernel hold it to that.
//!
//! This is plain data; the supervisor turns it into Landlock rules, a seccomp filter and the
//! arguments of bubblewrap. A layer that is asked for and cannot be had is an error, never a
//! weaker sandbox.

pub(crate) mod available_layers;
pub(crate) mod bounds;
pub(crate) mod bubblewrap;
pub(crate) mod denial;
pub(crate) mod follow;
pub(crate) mod landlock;
pub(crate) mod pack;
pub(crate) mod programs;
pub(crate) mod rule_inputs;
pub(crate) mod seccomp;
mod seccomp_reading;
mod seccomp_tree;
pub(crate) mod self_test;
pub(crate) mod stubs;
pub(crate) mod view;

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

pub use bounds::Bounds;

/// What a command may touch. The most specific path decides; if one is named twice, `hidden`
/// wins over `writable`, that over `readable`, and that over `homes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// The roots, absolute and free of links. Nothing else can be written but `temp` and harmless
    /// devices.
    pub writable: Vec<PathBuf>,
    /// What can be read below the homes, besides the roots.
    pub readable: Vec<PathBuf>,
    /// Directories of which nothing is seen but what is named above.
    pub homes: Vec<PathBuf>,
    /// Neither readable nor writable, also below a root.
    pub hidden: Vec<PathBuf>,
    /// Read-only below a root, also if missing. Only bubblewrap can hold this. A missing name is
    /// held by an empty file, or by an empty directory if it ends with `/` or is called `hooks` or
    /// `modules`.
    pub frozen: Vec<PathBuf>,
    /// A private directory for temporary files; see [`Sandbox::temp_inside`].
    pub temp: PathBuf,
    /// Whether the network is granted.
    pub network: bool,
    pub layers: Layers,
    /// What was proved of the command. Landlock and seccomp enforce it.
    pub bounds: Option<Bounds>,
}

/// Which layers hold a command. Each one that is asked for must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layers {
    pub landlock: bool,
    pub seccomp: bool,
    pub bubblewrap: bool,
}

impl Sandbox {
    /// The name of the temporary directory as the command sees it, for `TMPDIR`.
    pub fn temp_inside(&self) -> &Path {
        if self.layers.bubblewrap { Path::new("/tmp") } else { &self.temp }
    }

    /// What is wrong with it, in words.
    pub(crate) fn fault(&self) -> Option<String> {
        let lists = [&self.writable, &self.readable, &self.homes, &self.hidden, &self.frozen];
        let bounds = self.bounds.iter().flat_map(Bounds::paths);
        for path in lists.into_iter().flatten().chain(bounds).chain([&self.temp]) {
            let plain = |part: Component<'_>| !matches!(part, Component::ParentDir);
            if !path.is_absolute() || !path.components().all(plain) {
                return Some(format!("{} is not an absolute path without ..", path.display()));
            }
            if path.as_os_str().as_bytes().contains(&0) {
                return Some("a path of its sandbox contains a NUL byte".into());
            }
        }
        let whole = self.writable.iter().chain([&self.temp]).any(|path| path == Path::new("/"));
        whole.then(|| "a sandbox in which all of / is writable protects nothing".into())
    }
}

/// The directories that belong to nobody in particular and are hidden as the homes are.
pub(crate) const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/var/run"];

/// The file that says where names are resolved, if it lies where nothing is seen.
pub(crate) fn resolver_file() -> Option<PathBuf> {
    std::fs::canonicalize("/etc/resolv.conf").ok().filter(|path| !path.starts_with("/etc"))
}
