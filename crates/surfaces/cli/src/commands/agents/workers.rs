//! Who has claimed tasks of this project's board: workers, scripts, and sessions of other machines.

use crate::commands::sessions::age;
use crate::output::visible_text::visible;
use ostler::BoardPlace;
use ostler::board::{Status, Task, TaskQuery};
use ostler_profile::{Environment, Flags, find_places};
use serde_json::{Value, json};

#[derive(PartialEq)]
pub struct Worker {
    name: String,
    task: String,
    title: String,
    lease_until: Option<u64>,
}

/// What cannot be read is not shown, and a board that does not exist is not made.
pub fn now(environment: &Environment) -> Vec<Worker> {
    claimed(environment).unwrap_or_default().into_iter().filter_map(worker).collect()
}

fn claimed(environment: &Environment) -> Option<Vec<Task>> {
    let place = environment.board(None).ok()?;
    let places = find_places(environment, &Flags::default()).ok()?;
    let (home, project) = (&places.ostler_home, &places.project);
    let exists = match &place {
        BoardPlace::Project => ostler::board_path(home, project).exists(),
        BoardPlace::File(path) => path.exists(),
        BoardPlace::Server { .. } => true,
    };
    let mut board = exists.then(|| ostler::open_board_at(&place, home, project))?.ok()?;
    let statuses = vec![Status::InProgress];
    Some(board.list(&TaskQuery { statuses, ..TaskQuery::default() }).ok()?.tasks)
}

fn worker(task: Task) -> Option<Worker> {
    let (name, task_id) = (task.claimed_by?, task.id.to_string());
    Some(Worker { name, task: task_id, title: task.title, lease_until: task.lease_until })
}

pub fn as_json(worker: &Worker) -> Value {
    let Worker { name, task, title, lease_until } = worker;
    json!({ "name": name, "task": task, "title": title, "lease_until": lease_until })
}

pub fn line(worker: &Worker) -> String {
    let left = worker.lease_until.map(|until| age(until.saturating_sub(ostler::now_ms())));
    let left = left.map(|left| format!("  lease {left}")).unwrap_or_default();
    let (name, title) = (visible(&worker.name), visible(&worker.title));
    format!("worker {name}  task {}: {title}{left}", worker.task)
}
