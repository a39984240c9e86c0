//! What happened, one line each, written by whoever knows it. A file is only appended to.

use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    Started {
        pid: u32,
    },
    Claimed {
        task: String,
        fence: u64,
    },
    /// The time is the board's.
    Renewed {
        task: String,
        fence: u64,
        at_ms: u64,
    },
    RenewRefused {
        task: String,
        fence: u64,
    },
    Committed {
        task: String,
        fence: u64,
        branch: String,
    },
    FinishAccepted {
        task: String,
        fence: u64,
    },
    FinishRefused {
        task: String,
        fence: u64,
        why: String,
    },
    /// Before it is sent: the sender may die before it hears of the success.
    Sending {
        mail: String,
        to: String,
    },
    Sent {
        mail: String,
        to: String,
    },
    /// Before it is acknowledged.
    Received {
        mail: String,
        from: String,
        seq: u64,
    },
    Trouble {
        why: String,
    },
    /// Sends nothing and claims nothing from now on.
    Drained,
    // By the run itself.
    Killed {
        worker: String,
    },
    Stopped {
        worker: String,
    },
    Continued {
        worker: String,
    },
    Retried {
        task: String,
    },
    ServerRestarted,
    LinkCut {
        host: String,
    },
    LinkRestored {
        host: String,
    },
}

pub struct FactFile(File);

impl FactFile {
    pub fn append_to(directory: &Path, name: &str) -> Result<Self, String> {
        let path = path(directory, name);
        let wrong = |why| format!("cannot write {}: {why}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(wrong)?;
        }
        OpenOptions::new().create(true).append(true).open(&path).map(FactFile).map_err(wrong)
    }

    pub fn record(&mut self, fact: &Fact) -> Result<(), String> {
        let mut line = serde_json::to_string(fact).map_err(|why| why.to_string())?;
        line.push('\n');
        // One call: a process that is killed leaves a whole line or none.
        self.0.write_all(line.as_bytes()).map_err(|why| format!("cannot record a fact: {why}"))
    }
}

fn path(directory: &Path, name: &str) -> PathBuf {
    directory.join("facts").join(format!("{name}.jsonl"))
}

/// Empty if there is no such file.
pub fn read(directory: &Path, name: &str) -> Result<Vec<Fact>, String> {
    let path = path(directory, name);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(why) => return Err(format!("cannot read {}: {why}", path.display())),
    };
    let fact =
        |line| serde_json::from_str(line).map_err(|why| format!("{}: {why}", path.display()));
    text.lines().map(fact).collect()
}
