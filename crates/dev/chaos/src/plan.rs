//! What happens in a run, and the tasks it is about. Everything follows from the seed.

use crate::random::Random;
use ostler_board::{NewTask, Priority, TaskId};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

pub const MODULES: usize = 40;
pub const FILES: usize = 5;
/// Tasks depend on tasks that are at most this much older.
const WINDOW: usize = 60;
const BATCH: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Store {
    Sqlite,
    Redis,
}

/// A fault that the check has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Planted {
    /// The server does not compare fences.
    NoFencing,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub workers: usize,
    pub tasks: usize,
    pub seed: u64,
    pub store: Store,
    pub planted: Option<Planted>,
    /// Network namespaces that the workers are spread over; 0: all are on this machine.
    pub hosts: usize,
    pub lease_ms: u64,
    /// After this the run gives up, with a message.
    pub limit_seconds: u64,
    /// Of the server, if there is one. It is chosen when the run begins.
    pub address: String,
    /// Where branches are pushed to, if workers are on hosts of their own.
    pub remote: String,
    /// The program `ostler`, if its own workers do the tasks, and the address of their model.
    pub real: String,
    pub model: String,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            workers: 50,
            tasks: 2_000,
            seed: 1,
            store: Store::Sqlite,
            planted: None,
            hosts: 0,
            lease_ms: 2_000,
            limit_seconds: 900,
            address: String::new(),
            remote: String::new(),
            real: String::new(),
            model: String::new(),
        }
    }
}

impl Plan {
    pub fn load(directory: &Path) -> Result<Plan, String> {
        let path = path(directory);
        let text = fs::read(&path).map_err(|why| format!("cannot read {}: {why}", path.display()));
        serde_json::from_slice(&text?).map_err(|why| format!("{}: {why}", path.display()))
    }

    pub fn save(&self, directory: &Path) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|why| why.to_string())?;
        fs::write(path(directory), text).map_err(|why| format!("cannot write the plan: {why}"))
    }

    pub fn worker_names(&self) -> Vec<String> {
        (0..self.workers).map(worker_name).collect()
    }

    /// In batches that are added one after the other.
    pub fn batches(&self) -> Vec<Vec<NewTask>> {
        let mut random = Random::new(self.seed);
        let tasks: Vec<NewTask> = (0..self.tasks).map(|n| task(n, &mut random)).collect();
        tasks.chunks(BATCH).map(<[NewTask]>::to_vec).collect()
    }
}

pub fn worker_name(number: usize) -> String {
    format!("w{number:02}")
}

fn path(directory: &Path) -> PathBuf {
    directory.join("plan.json")
}

fn task_id(number: usize) -> TaskId {
    TaskId(format!("t{number:05}"))
}

fn task(number: usize, random: &mut Random) -> NewTask {
    let mut task = NewTask::new(task_id(number), format!("Task {number}"));
    task.priority = match random.below(10) {
        0..2 => Priority::High,
        2..8 => Priority::Medium,
        _ => Priority::Low,
    };
    if number > 0 && random.percent(40) {
        let mut needs: Vec<usize> =
            (0..=random.below(2)).map(|_| number - 1 - random.below(WINDOW.min(number))).collect();
        needs.sort_unstable();
        needs.dedup();
        task.depends_on = needs.into_iter().map(|need| task_id(need).0).collect();
    }
    if random.percent(60) {
        task.touches = globs(random);
    }
    task
}

/// Files of the made-up project: `src/m0/f0.rs` to `src/m39/f4.rs`.
fn globs(random: &mut Random) -> Vec<String> {
    let (module, other) = (random.below(MODULES), random.below(MODULES));
    let (file, second) = (random.below(FILES), random.below(FILES));
    match random.below(10) {
        0 => vec![format!("src/m{module}/**")],
        1 => vec![format!("src/m{module}/f?.rs"), format!("src/m{other}/f{file}.rs")],
        2 => vec![format!("src/{{m{module},m{other}}}/f{file}.rs")],
        3 => vec![format!("src/m{module}/*{file}.rs")],
        4..7 => vec![format!("src/m{module}/f{file}.rs"), format!("src/m{other}/f{second}.rs")],
        _ => vec![format!("src/m{module}/f{file}.rs")],
    }
}
