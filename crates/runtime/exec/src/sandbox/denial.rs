//! Reads from a failed command's output whether the sandbox was the reason. Pure, and careful: it
//! says nothing where the same text also comes from an ordinary failure.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Sandbox;
use super::view::{TreeView, ViewMark};
use crate::status::ExitStatus;

/// How many lines at the end are looked at.
const MAX_LINES: usize = 400;

/// How far above a bare error the call that raised it may stand.
const TRACE_LINES: usize = 8;

/// What the sandbox has refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxDenial {
    pub act: DeniedAct,
    pub layer: Layer,
    /// The line that tells it.
    pub line: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeniedAct {
    /// The path as the output names it.
    Write(PathBuf),
    Read(PathBuf),
    /// The internet.
    Network,
    /// A socket of another program on this machine.
    Socket,
    /// A system call that no command may make.
    Call,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Landlock,
    Seccomp,
    Bubblewrap,
}

impl fmt::Display for SandboxDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = match self.layer {
            Layer::Landlock => "Landlock",
            Layer::Seccomp => "seccomp",
            Layer::Bubblewrap => "bubblewrap",
        };
        write!(f, "the sandbox ({layer}) blocked ")?;
        match &self.act {
            DeniedAct::Write(path) => write!(f, "writing to {}", path.display()),
            DeniedAct::Read(path) => write!(f, "reading {}", path.display()),
            DeniedAct::Network => write!(f, "network access"),
            DeniedAct::Socket => write!(f, "access to another program's socket"),
            DeniedAct::Call => write!(f, "a system call"),
        }
    }
}

/// What the sandbox has refused, if the output of the failed command tells so.
pub fn denial_hint(output: &str, status: ExitStatus, sandbox: &Sandbox) -> Option<SandboxDenial> {
    if status.success() {
        return None;
    }
    // From the end: an output of short lines has millions of them.
    let mut lines: Vec<&str> = output.lines().rev().take(MAX_LINES).collect();
    lines.reverse();
    let judge = DenialJudge { sandbox, view: TreeView::of_names(sandbox) };
    // The last one is the likeliest to have made it fail.
    (0..lines.len()).rev().find_map(|index| {
        let line = lines.get(index)?;
        let above = lines.get(index.saturating_sub(TRACE_LINES)..index).unwrap_or_default();
        let (act, layer) = judge.line(line, above)?;
        Some(SandboxDenial { act, layer, line: line.trim().to_owned() })
    })
}

struct DenialJudge<'a> {
    sandbox: &'a Sandbox,
    view: TreeView,
}

const READ_ONLY: [&str; 3] = ["Read-only file system", "read-only file system", "EROFS"];
const BUSY: [&str; 2] = ["Device or resource busy", "EBUSY"];
const DENIED: [&str; 3] = ["Permission denied", "permission denied", "EACCES"];
const NOT_PERMITTED: [&str; 3] = ["Operation not permitted", "operation not permitted", "EPERM"];
const UNREACHABLE: [&str; 11] = [
    "Could not resolve host",
    "Couldn't resolve host",
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "failed to lookup address information",
    "Network is unreachable",
    "network is unreachable",
    "getaddrinfo EAI_AGAIN",
    "getaddrinfo ENOTFOUND",
    "connect ENETUNREACH",
];
const SOCKET_WORDS: [&str; 6] = ["socket", "connect", "/dev/tcp/", "/dev/udp/", "bind(", "listen"];
const LOCAL_WORDS: [&str; 7] = ["unix", "docker", "dbus", "D-Bus", "agent", "tmux", "AF_UNIX"];
const CALLS: [&str; 10] = [
    "ptrace",
    "PTRACE",
    "unshare",
    "setns",
    "mount",
    "io_uring",
    "keyctl",
    "bpf",
    "perf_event",
    "userfaultfd",
];
const WRITING: [&str; 9] = [
    "cannot create",
    "cannot touch",
    "cannot remove",
    "cannot move",
    "cannot make",
    "could not create",
    "failed to create",
    "failed to write",
    "for writing",
];
/// Where an ordinary user may not write anyway.
const SYSTEM: [&str; 12] = [
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/sys", "/proc", "/var", "/opt",
    "/dev",
];

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

impl DenialJudge<'_> {
    fn line(&self, line: &str, above: &[&str]) -> Option<(DeniedAct, Layer)> {
        if has(line, &READ_ONLY) {
            self.read_only(line)
        } else if has(line, &BUSY) {
            self.busy(line)
        } else if has(line, &DENIED) {
            self.denied(line)
        } else if has(line, &NOT_PERMITTED) {
            self.not_permitted(line, above)
        } else if is_complaint(line, &UNREACHABLE) {
            self.network()
        } else {
            None
        }
    }

    /// Only bubblewrap makes anything read-only; a root that is writable is so by itself.
    fn read_only(&self, line: &str) -> Option<(DeniedAct, Layer)> {
        if !self.sandbox.layers.bubblewrap {
            return None;
        }
        let path = paths_in(line).next_back()?;
        let frozen = self.frozen(path);
        let writable = path.is_absolute() && self.is_writable(path);
        let path = match frozen {
            Some(frozen) => frozen.to_path_buf(),
            None if writable => return None,
            None => path.to_path_buf(),
        };
        Some((DeniedAct::Write(path), Layer::Bubblewrap))
    }

    /// A frozen name, or a directory above one, cannot be replaced.
    fn busy(&self, line: &str) -> Option<(DeniedAct, Layer)> {
        if !self.sandbox.layers.bubblewrap {
            return None;
        }
        let frozen = paths_in(line).find_map(|path| self.frozen(path).map(Path::to_path_buf))?;
        Some((DeniedAct::Write(frozen), Layer::Bubblewrap))
    }

    fn denied(&self, line: &str) -> Option<(DeniedAct, Layer)> {
        let layers = self.sandbox.layers;
        let layer = match (layers.landlock, layers.bubblewrap) {
            (true, _) => Layer::Landlock,
            (false, true) => Layer::Bubblewrap,
            (false, false) => return None,
        };
        let path = paths_in(line).rfind(|path| path.is_absolute())?;
        if self.is_writable(path) {
            return None;
        }
        let writes = has(line, &WRITING) || is_redirection(line, path);
        let closed = self.view.of(path) == ViewMark::Closed;
        let system = SYSTEM.iter().any(|above| path.starts_with(above));
        match (closed, writes) {
            (true, true) => Some((DeniedAct::Write(path.into()), layer)),
            (true, false) if path.starts_with("/dev") => None,
            (true, false) => Some((DeniedAct::Read(path.into()), layer)),
            (false, true) if !system => Some((DeniedAct::Write(path.into()), layer)),
            _ => None,
        }
    }

    fn not_permitted(&self, line: &str, above: &[&str]) -> Option<(DeniedAct, Layer)> {
        if !self.sandbox.layers.seccomp {
            return None;
        }
        let trace = line.trim_start().starts_with("PermissionError:");
        let context = |words: &[&str]| {
            has(line, words) || (trace && above.iter().any(|line| has(line, words)))
        };
        let floor = !self.sandbox.layers.bubblewrap;
        if context(&SOCKET_WORDS) {
            let local = context(&LOCAL_WORDS) || names_socket(line);
            let (local, internet) = (local && floor, !local && floor && !self.sandbox.network);
            let act = if local { DeniedAct::Socket } else { DeniedAct::Network };
            return (local || internet).then_some((act, Layer::Seccomp));
        }
        context(&CALLS).then_some((DeniedAct::Call, Layer::Seccomp))
    }

    fn network(&self) -> Option<(DeniedAct, Layer)> {
        let layers = self.sandbox.layers;
        let layer = match (layers.bubblewrap, layers.seccomp) {
            (true, _) => Layer::Bubblewrap,
            (false, true) => Layer::Seccomp,
            (false, false) => return None,
        };
        (!self.sandbox.network).then_some((DeniedAct::Network, layer))
    }

    fn is_writable(&self, path: &Path) -> bool {
        let private = self.sandbox.layers.bubblewrap && path.starts_with("/tmp");
        (self.view.of(path) == ViewMark::Writable || private) && self.frozen(path).is_none()
    }

    /// The frozen name that a path means, lies below, or lies above; relative paths are taken
    /// from the root.
    fn frozen(&self, path: &Path) -> Option<&Path> {
        let plain = path.strip_prefix(".").unwrap_or(path);
        let means = |frozen: &Path| {
            if plain.is_absolute() {
                return plain.starts_with(frozen);
            }
            let part = |whole: &Path| whole.ancestors().any(|above| above.ends_with(plain));
            let root = self.sandbox.writable.iter().find(|root| frozen.starts_with(root));
            let below = root.and_then(|root| frozen.strip_prefix(root).ok());
            below.is_some_and(|below| part(below) || plain.starts_with(below))
        };
        self.sandbox.frozen.iter().map(PathBuf::as_path).find(|frozen| means(frozen))
    }
}

/// Whether a line complains in these words, rather than quoting them: they begin it, or follow
/// what programs put before an error.
fn is_complaint(line: &str, words: &[&str]) -> bool {
    words.iter().filter_map(|word| line.find(word)).any(|at| {
        let before = line.get(..at).unwrap_or_default().trim_end();
        before.is_empty() || before.ends_with([':', ')', ']', '!'])
    })
}

/// `bash: line 1: PATH: Permission denied`, as shells complain about `> PATH`.
fn is_redirection(line: &str, path: &Path) -> bool {
    let shell = ["bash: ", "sh: ", "/bin/bash: ", "/bin/sh: "];
    shell.iter().any(|start| line.starts_with(start))
        && path.to_str().is_some_and(|path| line.contains(&format!(": {path}: ")))
}

/// A file called `something.sock`, not the word `socket`.
fn names_socket(line: &str) -> bool {
    line.split(".sock").skip(1).any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// What looks like a path in a line.
fn paths_in(line: &str) -> impl DoubleEndedIterator<Item = &Path> {
    let ends = |c: char| c.is_whitespace() || "'\"`‘’“”:,;()[]<>=".contains(c);
    let words = line.split(ends).filter(|word| word.len() > 1);
    words.filter(|word| word.contains('/') && !word.contains("//")).map(Path::new)
}

#[cfg(test)]
#[path = "denial_tests.rs"]
mod tests;
