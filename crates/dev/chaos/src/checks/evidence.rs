//! Everything that is known of a run.

use crate::driver::DRIVER;
use crate::facts::{self, Fact};
use crate::plan::Plan;
use crate::{export, repository};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

pub struct Evidence {
    pub plan: Plan,
    /// By worker.
    pub facts: BTreeMap<String, Vec<Fact>>,
    pub driver: Vec<Fact>,
    pub tasks: Vec<ExportedTask>,
    pub mails: Vec<ExportedMail>,
    /// The attempts that the target contains, as task and fence, once for each commit.
    pub merged: Vec<(String, u64)>,
    /// Files of the target that tasks added.
    pub files: Vec<String>,
    /// Branches of attempts, merged or not.
    pub branches: Vec<String>,
}

#[derive(Deserialize)]
pub struct ExportedTask {
    pub id: String,
    pub status: String,
    pub depends_on: Vec<String>,
    pub touches: Vec<String>,
    pub result: Option<String>,
    pub history: Vec<ExportedEvent>,
}

#[derive(Deserialize)]
pub struct ExportedEvent {
    pub at_ms: u64,
    pub event: String,
    #[serde(default)]
    pub fence: u64,
    #[serde(default)]
    pub worker: String,
}

#[derive(Deserialize)]
pub struct ExportedMail {
    pub id: String,
    pub status: String,
}

#[derive(Deserialize)]
struct ExportedBoard {
    tasks: Vec<ExportedTask>,
    mails: Vec<ExportedMail>,
}

impl Evidence {
    pub fn read(directory: &Path) -> Result<Self, String> {
        let plan = Plan::load(directory)?;
        let path = directory.join(export::FILE);
        let text = std::fs::read(&path).map_err(|why| format!("cannot read {path:?}: {why}"))?;
        let board: ExportedBoard =
            serde_json::from_slice(&text).map_err(|why| format!("{path:?}: {why}"))?;
        let mut facts = BTreeMap::new();
        for name in plan.worker_names() {
            let own = facts::read(directory, &name)?;
            facts.insert(name, own);
        }
        let git = |words: &[&str]| repository::git(&repository::path(directory), words);
        let target = repository::TARGET;
        let log = git(&["log", "--format=%s", target])?;
        let files = git(&["ls-tree", "-r", "--name-only", target, "done/"])?;
        let branches =
            git(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/ostler/"])?;
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Ok(Evidence {
            driver: facts::read(directory, DRIVER)?,
            plan,
            facts,
            tasks: board.tasks,
            mails: board.mails,
            merged: log.lines().filter_map(attempt_of).collect(),
            files: lines(&files),
            branches: lines(&branches),
        })
    }

    pub fn all_facts(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.facts
            .iter()
            .flat_map(|(name, facts)| facts.iter().map(move |fact| (name.as_str(), fact)))
    }
}

fn attempt_of(subject: &str) -> Option<(String, u64)> {
    let mut words = subject.strip_prefix("chaos ")?.split(' ');
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}
