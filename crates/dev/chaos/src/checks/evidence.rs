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
        let log = git(&["log", "--no-merges", "--format=%s%x1f%b%x1e", target])?;
        let files = git(&["ls-tree", "-r", "--name-only", target, "done/"])?;
        let branches =
            git(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/ostler/"])?;
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Ok(Evidence {
            driver: facts::read(directory, DRIVER)?,
            plan,
            facts,
            merged: log
                .split('\x1e')
                .filter_map(|one| attempt_of(one.trim(), &board.tasks))
                .collect(),
            files: lines(&files),
            branches: lines(&branches),
            tasks: board.tasks,
            mails: board.mails,
        })
    }

    pub fn all_facts(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.facts
            .iter()
            .flat_map(|(name, facts)| facts.iter().map(move |fact| (name.as_str(), fact)))
    }
}

/// Task and fence of a commit. Workers of the product name the task and the number of the attempt.
fn attempt_of(message: &str, tasks: &[ExportedTask]) -> Option<(String, u64)> {
    let (subject, body) = message.split_once('\x1f').unwrap_or((message, ""));
    if let Some(words) = subject.strip_prefix("chaos ") {
        let (task, fence) = words.split_once(' ')?;
        return Some((task.to_owned(), fence.parse().ok()?));
    }
    let field = |name: &str| body.lines().find_map(|line| line.strip_prefix(name));
    let (id, attempt) = (field("Task: ")?, field("Attempt: ")?.parse::<usize>().ok()?);
    let history = &tasks.iter().find(|task| task.id == id)?.history;
    let mut claims = history.iter().filter(|event| event.event == "claimed");
    Some((id.to_owned(), claims.nth(attempt.checked_sub(1)?)?.fence))
}
