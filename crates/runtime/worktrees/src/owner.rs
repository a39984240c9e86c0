//! Who works in a tree, and whether that process still lives.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    Session,
    Worker,
    Person,
}

/// On whose behalf a tree was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub kind: OwnerKind,
    /// The id of the session or the name of the worker.
    pub id: String,
    /// The board task it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            OwnerKind::Session => "session",
            OwnerKind::Worker => "worker",
            OwnerKind::Person => "user",
        };
        write!(f, "{kind} {}", self.id)
    }
}

/// A process, so that another one that gets its number later is not taken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    pub pid: u32,
    /// Clock ticks between the machine's start and its own.
    pub start: u64,
    /// This start of this machine, and the namespace that the number belongs to.
    pub machine: String,
}

impl ProcessMark {
    pub fn own() -> ProcessMark {
        ProcessMark {
            pid: std::process::id(),
            start: start_time("self").unwrap_or(0),
            machine: machine(),
        }
    }

    /// False also for processes that cannot be seen from here.
    pub fn lives(&self) -> bool {
        self.start > 0
            && self.machine == machine()
            && start_time(&self.pid.to_string()) == Some(self.start)
    }
}

fn start_time(process: &str) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_given_to_another_process_is_not_the_owner() {
        let own = ProcessMark::own();
        assert!(own.lives());
        assert!(!ProcessMark { start: own.start + 1, ..own.clone() }.lives());
        assert!(!ProcessMark { pid: u32::MAX - 1, ..own.clone() }.lives());
        assert!(!ProcessMark { machine: "another".into(), ..own }.lives());
    }
}
