//! The process in which a case happens, and what it is told.

use crate::{budget_herd, job_kills, kept_jobs, log_kills, many_sessions, ring_memory, team_kills};
use futures_util::StreamExt;
use ostler::{Driver, Event, Finished, Init, Mode, Options};
use ostler_model_server::ModelServer;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

const ROLE: &str = "__inside";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseProcess {
    pub part: Part,
    /// Of the model server.
    pub url: String,
    /// A folder of this case alone.
    pub root: PathBuf,
    pub sessions: usize,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Part {
    ManySessions,
    BudgetHerd(budget_herd::Herd),
    RingMemory {
        observers: usize,
    },
    /// Dies at this write of its log, of which so many bytes are written, or stops at its question.
    LogKills {
        write: Option<u64>,
        torn: Option<usize>,
    },
    /// Dies at this write of its logs while a job begins, ends and is reported.
    JobKills {
        work: job_kills::JobWork,
        write: Option<u64>,
        torn: Option<usize>,
    },
    /// Dies at this write of its logs or its board while a teammate works.
    TeamKills {
        work: team_kills::TeamWork,
        write: u64,
        torn: Option<usize>,
    },
    /// Starts jobs, and waits to be killed.
    KeptJobs {
        beside: bool,
    },
}

impl CaseProcess {
    pub fn of(words: &[String]) -> Option<Self> {
        let [role, told] = words else { return None };
        (role == ROLE).then(|| serde_json::from_str(told).unwrap())
    }

    pub fn run(&self, init: &Init) {
        match self.part {
            Part::ManySessions => many_sessions::inside(init, self),
            Part::BudgetHerd(herd) => budget_herd::inside(init, self, herd),
            Part::RingMemory { observers } => ring_memory::inside(init, self, observers),
            Part::JobKills { work, write, torn } => {
                job_kills::inside(init, self, work, (write, torn))
            }
            Part::TeamKills { work, write, torn } => {
                team_kills::inside(init, self, work, (write, torn));
            }
            Part::KeptJobs { beside } => kept_jobs::inside(init, self, beside),
            Part::LogKills { write, torn } => log_kills::inside(init, self, write, torn),
        }
    }

    /// This program in that role.
    pub fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([ROLE, &serde_json::to_string(self).unwrap()]);
        command
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// With everything allowed, and kept on disk.
    pub fn options(&self) -> Options {
        let mut options = Options::new(self.project(), ostler::api_key("a test", "test-key"));
        options.host.base_url = Some(self.url.clone());
        options.host.home = Some(self.root.join("home"));
        options.session.model = "scripted".into();
        options.session.mode = Mode::BypassPermissions;
        options.session.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        options.session.settings.retries = 0;
        options
    }
}

/// A folder for a case, and what its process is told.
pub fn case(server: &ModelServer, part: Part, sessions: usize) -> (tempfile::TempDir, CaseProcess) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    std::fs::create_dir(root.join("project")).unwrap();
    (folder, CaseProcess { part, url: server.url(), root, sessions })
}

/// Runs it to its end, which must be a good one.
pub fn succeeds(mut command: Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{status}");
}

/// Reads a turn to its end.
pub async fn finished(mut turn: Driver) -> Finished {
    let mut end = None;
    while let Some(envelope) = turn.next().await {
        if let Event::Finished(finished) = &envelope.event {
            end = Some((**finished).clone());
        }
    }
    end.expect("the turn ends")
}

/// The log of the only session that a person began.
pub fn log_file(root: &Path) -> Option<PathBuf> {
    let texts =
        log_files(root).into_iter().map(|log| (std::fs::read_to_string(&log).unwrap(), log));
    let own = texts.filter(|(text, _)| !text.contains("\"started_by\""));
    // The first line of another one may be torn.
    own.max_by_key(|(text, _)| text.len()).map(|(_, log)| log)
}

fn log_files(root: &Path) -> Vec<PathBuf> {
    let projects = std::fs::read_dir(root.join("home/sessions")).into_iter().flatten().flatten();
    let files = projects.flat_map(|project| std::fs::read_dir(project.path()).unwrap().flatten());
    files.map(|file| file.path()).filter(|path| path.extension() == Some("log".as_ref())).collect()
}

/// The whole entries of its log.
pub fn facts(inside: &CaseProcess) -> Vec<serde_json::Value> {
    log_file(&inside.root).as_deref().map(entries).unwrap_or_default()
}

/// The whole entries of the log of one session among several.
pub fn facts_of(inside: &CaseProcess, session: &str) -> Vec<serde_json::Value> {
    let mut logs = log_files(&inside.root).into_iter();
    let log = logs.find(|path| path.file_stem().is_some_and(|name| name == session));
    entries(&log.expect("the session has a log"))
}

fn entries(log: &Path) -> Vec<serde_json::Value> {
    let json = |line: &str| serde_json::from_str(line.splitn(3, ' ').nth(2)?).ok();
    std::fs::read_to_string(log).unwrap().lines().filter_map(json).collect()
}
